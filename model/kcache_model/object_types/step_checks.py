"""Checks around each call of a sequential run, for types whose objects promise more than right outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..finding import FindingKind
from ..outcomes import Outcome
from .specification import States


@dataclass(frozen=True)
class StepProblem:
    """A problem that shows after a call although the outcome of the call is right.

    Attributes:
        kind: the kind of the violation.
        summary: one sentence that describes it.
        rule: the id of the broken rule; empty for the rule of the kind.
        location: the place in the target that raised an error, if there is one.
        detail: further lines.
        is_of_state: whether the content of the object is wrong, so that later outcomes prove nothing.
    """

    kind: FindingKind
    summary: str
    rule: str = ""
    location: str = ""
    detail: str = ""
    is_of_state: bool = True


class StepChecks(Protocol):
    """The checks of one object.

    Attributes:
        under_way: the operation that reads the content back now; ``None`` if there is none.
        reads: the number of operations that have read the content back.
    """

    under_way: Any
    reads: int

    def prepared(self, operation: Any, states: States) -> Any:
        """Return the operation as the target offers it; ``None`` if its declarations exclude the call."""
        ...

    def problems(
        self, operation: Any, observed: Outcome, states: States, learn: Callable[[Any, Outcome], States]
    ) -> Iterable[StepProblem]:
        """Yield the problems of the object after a call.

        Args:
            operation: the call.
            observed: its outcome.
            states: the states in which the object may be.
            learn: takes an operation that showed more of the state, and its outcome; it returns the possible states.
        """
        ...
