"""Foundation of the standard specifications: what a judge is told beside what the calls give."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..history import Call
from ..object_types.plain import MethodCall
from ..object_types.vocabulary import Vocabulary
from ..outcomes import UNTOLD, Outcome, returned

Core = Sequence[Call[MethodCall]]
"""Calls that no order explains, whatever the others gave; none if some order explains all."""


@dataclass(frozen=True)
class Specifies:
    """A specification with what makes it quick to judge by. States are hashable.

    Attributes:
        start: what the object holds at first; what that means is said by the type.
        has_start: whether it says anything what that is.
        vocabulary: what can be called.
        never_null: operations that always return a value: where a recording has none, it was not recorded.
        may_be_null: operations that return a value or null; the others return nothing.
        on_error: operation -> the value that an error stands for, where others raise.
        unordered: operations that return several values in no order.
        also_called: how other tools call operations.
    """

    start: Any = None

    has_start: ClassVar[bool] = False
    vocabulary: ClassVar[Vocabulary] = ()
    never_null: ClassVar[frozenset[str]] = frozenset()
    may_be_null: ClassVar[frozenset[str]] = frozenset()
    on_error: ClassVar[Mapping[str, Any]] = {}
    unordered: ClassVar[frozenset[str]] = frozenset()
    also_called: ClassVar[Mapping[str, str]] = {}

    def initial(self) -> Any:
        """The state of a new object."""
        return self.start

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any] | None:
        """The next state and what the call returns; ``None`` if it waits."""
        raise NotImplementedError

    def partition(self, operation: MethodCall) -> Hashable:  # noqa: ARG002
        """The part of the object that an operation is about; ``None`` if it is about all of it.

        What happens in one part tells nothing of another: each can be judged alone.
        """
        return None

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:  # noqa: ARG002
        """Whether the operation changes nothing in any state in which it gives that."""
        return not operation.is_write

    def refusal(self, operation: MethodCall) -> str:  # noqa: ARG002
        """What is wrong with the arguments of an operation; empty if nothing is."""
        return ""

    def quick_core(self, calls: Sequence[Call[MethodCall]]) -> Core | None:  # noqa: ARG002
        """The verdict of a quick algorithm on calls of one part: a core; ``None`` if it does not suit them."""
        return None

    def simplify(self, calls: Sequence[Call[MethodCall]]) -> Callable[[Any], Any] | None:  # noqa: ARG002
        """For a state the simplest one from which the same calls can be explained; ``None`` if it is itself."""
        return None

    def told(self, call: Call[MethodCall]) -> Call[MethodCall]:
        """The call with its outcome in the words of the specification, however others say it."""
        outcome, name = call.outcome, call.operation.name
        if outcome is None:
            return call
        if outcome.error is not None and name in self.on_error:
            stands_for = self.on_error[name]
            outcome = returned(self.start if stands_for is None else stands_for)
        elif outcome == returned() and name in self.never_null:
            outcome = UNTOLD
        elif name in self.unordered and isinstance(outcome.value, tuple):
            outcome = returned(tuple(sorted(outcome.value, key=repr)))
        if outcome.is_told and self.is_read(call.operation, outcome):
            return replace(call, outcome=outcome, operation=replace(call.operation, is_write=False))
        return replace(call, outcome=outcome)
