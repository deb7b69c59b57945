"""Specifications of registers and maps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

from ..history import Call
from ..linearizability.distinct_registers import core_of_register
from ..object_types.plain import MethodCall, method
from ..object_types.vocabulary import Vocabulary
from ..outcomes import Outcome
from .standard import Core, Specifies

_VALUES = (1, 2)
_KEYS = ("a", "b")
_UNREAD = "\0 a text that nobody read"


class Register(Specifies):
    """One value, which begins with ``start``."""

    has_start: ClassVar[bool] = True

    vocabulary: ClassVar[Vocabulary] = (method("read", is_write=False), method("write", _VALUES))
    may_be_null: ClassVar[frozenset[str]] = frozenset({"read"})

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any]:
        """Return the next state and the result of the call."""
        match operation.name, operation.arguments:
            case "read", ():
                return state, state
            case "write", (value,):
                return value, None
            case "cas", (old, new):
                return (new, True) if state == old else (state, False)
        raise TypeError(f"a register has no operation {operation}")

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:
        """Whether the operation changes nothing: also a failed ``cas``."""
        return not operation.is_write or (operation.name == "cas" and outcome.value is False)

    def quick_core(self, calls: Sequence[Call[MethodCall]]) -> Core | None:
        """The core by the zones of the values; not applicable unless all are distinct and none was compared."""
        return core_of_register(calls, reads="read", writes="write", start=self.start)


class CasRegister(Register):
    """One value that can be compared and set: ``cas`` returns whether it set the value."""

    vocabulary: ClassVar[Vocabulary] = (*Register.vocabulary, method("cas", _VALUES, _VALUES))
    never_null: ClassVar[frozenset[str]] = frozenset({"cas"})


class _Keyed(Specifies):
    """Base of objects with values under keys."""

    has_start: ClassVar[bool] = True

    def initial(self) -> Any:
        """The empty state: no key has a value."""
        return frozenset()


class MultiRegister(_Keyed):
    """Registers with names, which all begin with ``start``; a ``txn`` reads and writes several registers atomically.

    ``txn([["read", "x"], ["write", "y", 1]])`` returns the values of its reads, in order.
    """

    vocabulary: ClassVar[Vocabulary] = (
        method("read", _KEYS, is_write=False),
        method("write", _KEYS, _VALUES),
        method("txn", ((("read", "a"), ("write", "b", 1)), (("read", "b"),))),
    )
    never_null: ClassVar[frozenset[str]] = frozenset({"txn"})
    may_be_null: ClassVar[frozenset[str]] = frozenset({"read"})

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any]:
        """Return the next state and the result of the call."""
        held = dict(state)
        match operation.name, operation.arguments:
            case "read", (key,):
                return state, held.get(key, self.start)
            case "write", (key, value):
                return frozenset({**held, key: value}.items()), None
            case "txn", (steps,):
                values = []
                for kind, key, *value in steps:
                    if kind == "read":
                        values.append(held.get(key, self.start))
                    else:
                        (held[key],) = value
                return frozenset(held.items()), tuple(values)
        raise TypeError(f"a multi-register has no operation {operation}")

    def refusal(self, operation: MethodCall) -> str:
        """A fault if the argument of a ``txn`` is not a list of steps."""
        if operation.name != "txn" or _is_made_of_steps(operation.arguments[0]):
            return ""
        return 'a txn takes a list of ["read", KEY] and ["write", KEY, VALUE]'

    def partition(self, operation: MethodCall) -> Hashable:
        """The name of the register; ``None`` for a ``txn`` on several registers."""
        keys = {step[1] for step in operation.arguments[0]} if operation.name == "txn" else {operation.arguments[0]}
        return keys.pop() if len(keys) == 1 else None

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:  # noqa: ARG002
        """Whether the operation changes nothing: also a ``txn`` that only reads."""
        is_reading = operation.name == "txn" and all(step[0] == "read" for step in operation.arguments[0])
        return not operation.is_write or is_reading

    def quick_core(self, calls: Sequence[Call[MethodCall]]) -> Core | None:
        """The core of the calls on one register."""
        return core_of_register(calls, reads="read", writes="write", start=self.start)


def _is_made_of_steps(steps: Any) -> bool:
    if not isinstance(steps, tuple) or not all(isinstance(step, tuple) and step for step in steps):
        return False
    return all((step[0], len(step)) in {("read", 2), ("write", 3)} for step in steps)


class Map(_Keyed):
    """Values under keys. If a key is absent, ``get`` returns ``start``."""

    vocabulary: ClassVar[Vocabulary] = (
        method("get", _KEYS, is_write=False),
        method("put", _KEYS, _VALUES),
        method("delete", _KEYS),
        method("pop", _KEYS),
        method("contains", _KEYS, is_write=False),
        method("cas", _KEYS, _VALUES, _VALUES),
        method("append", _KEYS, ("x", "y")),
        method("size", is_write=False),
        method("keys", is_write=False),
    )
    never_null: ClassVar[frozenset[str]] = frozenset({"contains", "cas", "size", "keys"})
    may_be_null: ClassVar[frozenset[str]] = frozenset({"get", "pop"})
    on_error: ClassVar[Mapping[str, Any]] = {"get": None, "pop": None}
    unordered: ClassVar[frozenset[str]] = frozenset({"keys"})
    also_called: ClassVar[Mapping[str, str]] = {"read": "get", "write": "put"}

    def apply(self, state: Any, operation: MethodCall, /) -> tuple[Any, Any]:
        """Return the next state and the result of the call."""
        held = dict(state)
        match operation.name, operation.arguments:
            case "get", (key,):
                return state, held.get(key, self.start)
            case "put", (key, value):
                return frozenset({**held, key: value}.items()), None
            case (("delete" | "pop"), (key,)):
                popped = held.pop(key, self.start)
                return frozenset(held.items()), popped if operation.name == "pop" else None
            case "contains", (key,):
                return state, key in held
            case "cas", (key, old, new):
                if held.get(key, self.start) != old:
                    return state, False
                return frozenset({**held, key: new}.items()), True
            case "append", (key, text):
                before = held.get(key, self.start)
                if before is None or isinstance(before, str):
                    return frozenset({**held, key: (before or "") + text}.items()), None
                return state, TypeError()
            case "size", ():
                return state, len(held)
            case "keys", ():
                return state, tuple(sorted(held, key=repr))
        raise TypeError(f"a map has no operation {operation}")

    def refusal(self, operation: MethodCall) -> str:
        """A fault if ``append`` gets a value that is not a text."""
        is_right = operation.name != "append" or isinstance(operation.arguments[1], str)
        return "" if is_right else "append takes a key and a text"

    def partition(self, operation: MethodCall) -> Hashable:
        """The key of the operation; ``None`` for operations on all keys."""
        return operation.arguments[0] if operation.arguments else None

    def is_read(self, operation: MethodCall, outcome: Outcome) -> bool:
        """Whether the operation changes nothing: also a failed ``cas``."""
        return not operation.is_write or (operation.name == "cas" and outcome.value is False)

    def quick_core(self, calls: Sequence[Call[MethodCall]]) -> Core | None:
        """The core of the calls on one key as a register; not applicable unless they are only ``get`` and ``put``."""
        return core_of_register(calls, reads="get", writes="put", start=self.start)

    def simplify(self, calls: Sequence[Call[MethodCall]]) -> Callable[[Any], Any] | None:
        """A function that replaces all texts that are not the beginning of a text that was read by one text.

        No later ``get`` can distinguish such texts. Only for calls of ``get``, ``put`` and ``append``.
        """
        names = {call.operation.name for call in calls}
        if "append" not in names or not names <= {"get", "put", "append"}:
            return None
        gets = [call.outcome.value for call in calls if call.operation.name == "get" and call.outcome is not None]
        read = sorted(text for text in gets if isinstance(text, str))

        def is_unread(value: Any) -> bool:
            if not isinstance(value, str):
                return False
            at = bisect_left(read, value)
            return at == len(read) or not read[at].startswith(value)

        def simplify(state: Any) -> Any:
            return frozenset((key, _UNREAD if is_unread(value) else value) for key, value in state)

        return simplify
