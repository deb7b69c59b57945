"""Specifications of counters and locks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..object_types.plain import MethodCall, method
from ..object_types.vocabulary import Vocabulary
from ..outcomes import Outcome
from .standard import Specifies


class Counter(Specifies):
    """A number; it begins with ``start``, or with 0 if there is no ``start``."""

    has_start: ClassVar[bool] = True

    vocabulary: ClassVar[Vocabulary] = (
        method("add", (1, 2)),
        method("increment"),
        method("decrement"),
        method("value", is_write=False),
        method("add_and_get", (1, 2)),
        method("get_and_add", (1, 2)),
    )
    never_null: ClassVar[frozenset[str]] = frozenset({"value", "add_and_get", "get_and_add"})
    also_called: ClassVar[Mapping[str, str]] = {"read": "value"}

    def initial(self) -> Any:
        """The first value: ``start`` or 0."""
        return 0 if self.start is None else self.start

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any]:
        """Return the next state and the result of the call."""
        match operation.name, operation.arguments:
            case "add", (amount,):
                return state + amount, None
            case "increment", ():
                return state + 1, None
            case "decrement", ():
                return state - 1, None
            case "value", ():
                return state, state
            case "add_and_get", (amount,):
                return state + amount, state + amount
            case "get_and_add", (amount,):
                return state + amount, state
        raise TypeError(f"a counter has no operation {operation}")

    def refusal(self, operation: MethodCall) -> str:
        """A fault if an argument is not a number."""
        is_right = all(isinstance(amount, (int, float)) for amount in operation.arguments)
        return "" if is_right else "a counter adds numbers"


class Mutex(Specifies):
    """A lock that any thread may release. ``acquire`` waits, ``try_acquire`` returns whether it got the lock."""

    vocabulary: ClassVar[Vocabulary] = (
        method("acquire"),
        method("try_acquire"),
        method("release"),
        method("locked", is_write=False),
    )
    never_null: ClassVar[frozenset[str]] = frozenset({"acquire", "try_acquire", "locked"})

    def initial(self) -> Any:
        """The state of a free lock: not held."""
        return False

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any] | None:
        """Return the next state and the result of the call; ``None`` if the call waits."""
        match operation.name, operation.arguments:
            case "acquire", ():
                return None if state else (True, True)
            case "try_acquire", ():
                return True, not state
            case "release", ():
                return False, None if state else RuntimeError()
            case "locked", ():
                return state, state
        raise TypeError(f"a mutex has no operation {operation}")

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:
        """Whether the operation changes nothing: also a failed ``try_acquire``, and a ``release`` that raised."""
        return not operation.is_write or outcome.error is not None or outcome.value is False
