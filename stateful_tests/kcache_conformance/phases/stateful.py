"""Hypothesis state machines, run until the first failure.

Hypothesis generates programs and does not shrink them: a failing program is made smaller by the minimiser of its target
type. The minimiser also serves programs that Hypothesis did not generate, and can try candidates in child processes.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

STEPS = 30
"""The most operations in one program."""


class FoundError(AssertionError):
    """A state machine has detected a failure.

    Attributes:
        found: the failure.
        is_steady: whether it came again when Hypothesis ran the same program once more.
    """

    def __init__(self, found: Any, summary: str) -> None:
        super().__init__(summary)
        self.found = found
        self.is_steady = True


def run_examples(
    machine: type[RuleBasedStateMachine], examples: int, random_seed: int, steps: int = STEPS
) -> FoundError | None:
    """Run random programs; return the failure of the first failing program, not made smaller; ``None`` if none fails.

    Args:
        machine: appends each error that it raises to its class attribute ``raised``, because Hypothesis hides errors
            that do not happen again.
        examples: the number of programs.
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
    """Return settings that run ``examples`` random programs and neither store, shrink nor print anything."""
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
