"""Recordings of calls on objects, made elsewhere, and what the specification says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kcache_model.codec import read_history
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import Call
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.checking import CallsVerdict, check_calls
from kcache_model.verdict import Status

from ..target_type import TargetType


@dataclass(frozen=True)
class JudgedCalls:
    """A recording and its verdict.

    Attributes:
        calls: what was recorded, in the order of the invocations.
        verdict: whether some order of the calls explains it.
    """

    calls: tuple[Call[Any], ...]
    verdict: CallsVerdict

    @property
    def finding(self) -> Finding | None:
        """What is wrong, with the calls."""
        verdict = self.verdict
        if verdict.status is not Status.VIOLATION:
            return None
        kind = FindingKind.EXCEPTION if verdict.is_error else FindingKind.NONLINEARIZABLE
        core = tuple(at for at, call in enumerate(self.calls) if call is verdict.wrong)
        return Finding(
            kind,
            "judge",
            verdict.reason,
            expected=verdict.expected,
            observed=None if verdict.wrong is None else verdict.wrong.outcome,
            calls=self.calls,
            core=core,
            order=verdict.order,
        )


def judge_calls(
    target_type: TargetType, lines: Iterable[str], *, strict_errors: bool = False, seconds: float = 60.0
) -> JudgedCalls:
    """Judge a history of calls on one object.

    Args:
        target_type: says what the object is; it has a specification.
        lines: a header ``{"schema": "kcache/history/1", "program": {...}}``, then one call on each line. The program
            says how the object was made; types whose objects are all made alike need none.
        strict_errors: ask for the very errors of the specification.
        seconds: the most time; the search is exponential in the number of calls that overlap.

    Raises:
        FormatError: the lines are no history; the message names the line.
    """
    assert target_type.specification is not None
    header, calls = read_history(lines, set(), {"program"}, target_type.codec)
    program = target_type.codec.decode_program(header.get("program", {"prefix": [], "threads": []}))
    specification = target_type.specification(program)
    budget = SearchBudget(seconds=seconds)
    initial = specification.initial(program)
    return JudgedCalls(
        calls,
        check_calls(
            specification, initial, calls, strict_errors=strict_errors or target_type.exact_errors, budget=budget
        ),
    )
