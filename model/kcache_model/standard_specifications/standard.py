"""Base of the standard specifications: the sequential semantics, and hints for a judge and for foreign recordings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..history import Call
from ..object_types.plain import MethodCall
from ..object_types.vocabulary import Vocabulary
from ..outcomes import UNTOLD, Outcome, returned

Core = Sequence[Call[MethodCall]]
"""Calls that no order explains, whatever the outcomes of other calls; empty if some order explains all calls."""


@dataclass(frozen=True)
class Specifies:
    """A specification with hints that make judging quick. States are hashable.

    Attributes:
        start: the initial content of the object; each type defines its meaning.
        has_start: whether ``start`` has a meaning for the type.
        vocabulary: the operations.
        never_null: operations that always return a value; if a recording has no value, the value was not recorded.
        may_be_null: operations that return a value or null; operations in neither set return nothing.
        on_error: operation -> the value that an error means, for implementations that raise instead of returning it.
        unordered: operations that return several values in no particular order.
        also_called: name of an operation in other tools -> name of the operation.
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
        """Return the next state and the result of the call; ``None`` if the call waits."""
        raise NotImplementedError

    def partition(self, operation: MethodCall) -> Hashable:  # noqa: ARG002
        """The part of the object that an operation concerns; ``None`` if it concerns the whole object.

        Parts are independent of each other, so each part can be judged alone.
        """
        return None

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:  # noqa: ARG002
        """Whether the operation changes nothing in any state in which it has this outcome."""
        return not operation.is_write

    def refusal(self, operation: MethodCall) -> str:  # noqa: ARG002
        """The fault in the arguments of an operation, as a text; empty if there is none."""
        return ""

    def quick_core(self, calls: Sequence[Call[MethodCall]]) -> Core | None:  # noqa: ARG002
        """The verdict of a quick algorithm on the calls of one part: a core; ``None`` if it is not applicable."""
        return None

    def simplify(self, calls: Sequence[Call[MethodCall]]) -> Callable[[Any], Any] | None:  # noqa: ARG002
        """A function from a state to the simplest state that explains the same calls; ``None`` if none is simpler."""
        return None

    def told(self, call: Call[MethodCall]) -> Call[MethodCall]:
        """The call with its outcome translated to the form that the specification uses.

        Errors become the value that they mean, missing values become unknown, unordered values are sorted. A write that
        changed nothing according to its outcome becomes a read.
        """
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
