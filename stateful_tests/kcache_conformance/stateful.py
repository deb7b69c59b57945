"""Hypothesis state machines, run for the first thing that they find.

Hypothesis generates and does not shrink: a failing program is made smaller by the minimiser of its target type, which
also serves programs that nobody generated, and which can try candidates in processes of their own.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

STEPS = 30
"""The most operations in one program."""


class FoundError(AssertionError):
    """A state machine has found something.

    Attributes:
        found: what.
        is_steady: whether it came again when Hypothesis ran the same program once more.
    """

    def __init__(self, found: Any, summary: str) -> None:
        super().__init__(summary)
        self.found = found
        self.is_steady = True


def run_examples(
    machine: type[RuleBasedStateMachine], examples: int, random_seed: int, steps: int = STEPS
) -> FoundError | None:
    """Run so many random programs; what the first failing one shows, not made smaller; ``None`` if none fails.

    Args:
        machine: appends each error that it raises to its class attribute ``raised``: Hypothesis keeps to itself what
            does not happen again.
        examples: how many programs.
        random_seed: decides everything random.
        steps: the most operations in one program.
    """
    try:
        run_state_machine_as_test(seed(random_seed)(machine), settings=quiet_settings(examples, steps))
    except FoundError as error:
        return error
    except Flaky:
        raised: list[Exception] = getattr(machine, "raised", [])
        if not raised:
            raise
        first = raised[0]
        if not isinstance(first, FoundError):
            raise first from None
        first.is_steady = False
        return first
    return None


def quiet_settings(examples: int, steps: int = STEPS) -> settings:
    """So many random programs, and nothing else: nothing is remembered, made smaller, or printed."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        verbosity=Verbosity.quiet,
    )
