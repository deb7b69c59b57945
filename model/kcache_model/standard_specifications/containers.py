"""Specifications of sets, queues and stacks."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

from ..history import Call
from ..linearizability.distinct_queues import core_of_queue
from ..linearizability.distinct_stacks import core_of_stack
from ..object_types.plain import MethodCall, method
from ..object_types.vocabulary import Vocabulary
from ..outcomes import Outcome
from .standard import Core, Specifies

_VALUES = (1, 2)


class SetOfValues(Specifies):
    """A set of values; ``add`` and ``remove`` return whether they changed it."""

    vocabulary: ClassVar[Vocabulary] = (
        method("add", _VALUES),
        method("remove", _VALUES),
        method("contains", _VALUES, is_write=False),
        method("size", is_write=False),
        method("items", is_write=False),
    )
    never_null: ClassVar[frozenset[str]] = frozenset({"add", "remove", "contains", "size", "items"})
    on_error: ClassVar[Mapping[str, Any]] = {"remove": False}
    unordered: ClassVar[frozenset[str]] = frozenset({"items"})
    also_called: ClassVar[Mapping[str, str]] = {"read": "items"}

    def initial(self) -> Any:
        """The empty container."""
        return frozenset()

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any]:
        """Return the next state and the result of the call."""
        match operation.name, operation.arguments:
            case "add", (value,):
                return state | {value}, value not in state
            case "remove", (value,):
                return state - {value}, value in state
            case "contains", (value,):
                return state, value in state
            case "size", ():
                return state, len(state)
            case "items", ():
                return state, tuple(sorted(state, key=repr))
        raise TypeError(f"a set has no operation {operation}")

    def partition(self, operation: MethodCall) -> Hashable:
        """The value of the operation; ``None`` for operations on all values."""
        return operation.arguments[0] if operation.arguments else None

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:
        """Whether the operation changes nothing: also one that returned false."""
        return not operation.is_write or outcome.value is False


class Multiset(Specifies):
    """A multiset of values; ``remove`` removes one of several equal values, and returns whether there was one."""

    vocabulary: ClassVar[Vocabulary] = (
        method("add", _VALUES),
        method("remove", _VALUES),
        method("count", _VALUES, is_write=False),
        method("size", is_write=False),
        method("items", is_write=False),
    )
    never_null: ClassVar[frozenset[str]] = frozenset({"remove", "count", "size", "items"})
    on_error: ClassVar[Mapping[str, Any]] = {"remove": False}
    unordered: ClassVar[frozenset[str]] = frozenset({"items"})
    also_called: ClassVar[Mapping[str, str]] = {"read": "items"}

    def initial(self) -> Any:
        """The empty container."""
        return ()

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any]:
        """Return the next state and the result of the call."""
        match operation.name, operation.arguments:
            case "add", (value,):
                return tuple(sorted((*state, value), key=repr)), None
            case "remove", (value,):
                remaining = list(state)
                if value in remaining:
                    remaining.remove(value)
                return tuple(remaining), value in state
            case "count", (value,):
                return state, Counter(state)[value]
            case "size", ():
                return state, len(state)
            case "items", ():
                return state, state
        raise TypeError(f"a multiset has no operation {operation}")

    def partition(self, operation: MethodCall) -> Hashable:
        """The value of the operation; ``None`` for operations on all values."""
        return operation.arguments[0] if operation.arguments else None

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:
        """Whether the operation changes nothing: also one that returned false."""
        return not operation.is_write or (operation.name == "remove" and outcome.value is False)


class _Emptied(Specifies):
    """A container from which one value at a time is removed: a tuple whose first item is the next value.

    Attributes:
        puts: the name of the operation that adds a value.
        takes: the name of the operation that removes the next value: it returns null, or raises, if there is none.
    """

    puts: ClassVar[str] = "push"
    takes: ClassVar[str] = "pop"
    never_null: ClassVar[frozenset[str]] = frozenset({"size"})
    may_be_null: ClassVar[frozenset[str]] = frozenset({"dequeue", "pop", "peek"})
    on_error: ClassVar[Mapping[str, Any]] = {"dequeue": None, "pop": None, "peek": None}

    def initial(self) -> Any:
        """The empty container."""
        return ()

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any]:
        """Return the next state and the result of the call."""
        match operation.name, operation.arguments:
            case self.puts, (value,):
                return self.with_value(state, value), None
            case self.takes, ():
                return state[1:], state[0] if state else None
            case "peek", ():
                return state, state[0] if state else None
            case "size", ():
                return state, len(state)
        raise TypeError(f"a {type(self).__name__} has no operation {operation}")

    def with_value(self, state: Any, value: Any) -> Any:
        """The state with one more value."""
        raise NotImplementedError

    def refusal(self, operation: MethodCall) -> str:
        """A fault if a value is null, because null as a result means that the container is empty."""
        return (
            "null cannot be put in: if null is taken out, it means that the container was empty"
            if None in operation.arguments
            else ""
        )

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:
        """Whether the operation changes nothing: also a removal from an empty container."""
        return not operation.is_write or (operation.name == self.takes and outcome.value is None)


def _vocabulary(puts: str, takes: str) -> Vocabulary:
    return (
        method(puts, _VALUES, weight=2),
        method(takes),
        method("peek", is_write=False),
        method("size", is_write=False),
    )


class Queue(_Emptied):
    """First in, first out."""

    puts, takes = "enqueue", "dequeue"
    vocabulary: ClassVar[Vocabulary] = _vocabulary("enqueue", "dequeue")

    def with_value(self, state: Any, value: Any) -> Any:
        """The state with one more value at the end."""
        return (*state, value)

    def quick_core(self, calls: Sequence[Call[MethodCall]]) -> Core | None:
        """The core by pairs of values; not applicable unless all values are distinct."""
        return core_of_queue(calls, puts=self.puts, takes=self.takes)


class Stack(_Emptied):
    """Last in, first out."""

    vocabulary: ClassVar[Vocabulary] = _vocabulary("push", "pop")

    def with_value(self, state: Any, value: Any) -> Any:
        """The state with one more value at the front."""
        return (value, *state)

    def quick_core(self, calls: Sequence[Call[MethodCall]]) -> Core | None:
        """The core by peeling off the values at the bottom; not applicable unless all values are distinct."""
        return core_of_stack(calls, puts=self.puts, takes=self.takes)


class PriorityQueue(_Emptied):
    """The smallest value first. Values are all numbers, all texts, or all tuples that begin with numbers or texts."""

    vocabulary: ClassVar[Vocabulary] = _vocabulary("push", "pop")

    def with_value(self, state: Any, value: Any) -> Any:
        """The state with one more value at its place in the order."""
        held = list(state)
        insort(held, value)
        return tuple(held)
