"""The first step of a call in a paused run: its first opcode that may access shared objects.

If a thread is paused between two calls, the second call has not begun: earlier steps of a call could run later with the
same result. Nor has it begun when ``__exit__`` calls ``self.release()``, because looking up a method that a class
defines, and calling it, are no accesses to anything that changes; the explorer sees no events there either. If they
were, a call that is paused before it takes a lock would seem to overlap all that the holder of the lock does.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable
from threading import get_ident
from types import CodeType, FrameType, FunctionType
from typing import Final

from kcache_model.foreign import all_attributes, class_attribute

_FIRST_STEPS: Final[dict[int, Callable[[], None]]] = {}
"""Ident of a thread -> the callback for its next opcode that may access shared objects."""
ARRIVALS: Final[dict[int, Callable[[], None]]] = {}
"""Ident of a thread -> the function to call before a call in which no line is executed."""
_LOCALS: Final = frozenset({"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK"})
_LOOKUPS: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_CALLS: Final = frozenset({"CALL", "CALL_KW"})


def at_first_step(callback: Callable[[], None], *, is_in_c: bool) -> None:
    """Register a callback for the beginning of the next call of this thread; it is called once, in the thread's turn.

    Args:
        callback: function to call.
        is_in_c: whether the next call executes no line of the code under test.
    """
    _FIRST_STEPS[get_ident()] = callback
    if is_in_c and (arrive := ARRIVALS.get(get_ident())) is not None:
        arrive()


def begin_call() -> None:
    """Call the callback of :func:`at_first_step` for this thread, once."""
    if _FIRST_STEPS and (callback := _FIRST_STEPS.pop(get_ident(), None)) is not None:
        callback()


class Steps:
    """The steps of one frame until the call has begun.

    Args:
        is_traced: whether the code of a function is traced, too, so that its own steps are seen.
    """

    __slots__ = ("_is_looked_up", "_is_traced")

    def __init__(self, is_traced: Callable[[CodeType], bool]) -> None:
        self._is_traced = is_traced
        self._is_looked_up = False

    def take(self, frame: FrameType) -> None:
        """Take the step that ``frame`` is about to execute: the call begins, unless the step calls a method."""
        if get_ident() not in _FIRST_STEPS:
            return
        name, looked_up = _steps(frame.f_code).get(frame.f_lasti, ("", None))
        if self._is_looked_up and name in _CALLS:
            self._is_looked_up = False
            return
        self._is_looked_up = looked_up is not None and self._is_method(frame, *looked_up)
        if not self._is_looked_up:
            begin_call()

    def _is_method(self, frame: FrameType, variable: str, name: str) -> bool:
        """Whether an attribute of the object in a local variable is a traced method that its class defines."""
        owner = frame.f_locals.get(variable)
        declared = class_attribute(type(owner), name)
        is_function = type(declared) is FunctionType and self._is_traced(declared.__code__)
        return is_function and name not in all_attributes(owner)


@functools.lru_cache(maxsize=4096)
def _steps(code: CodeType) -> dict[int, tuple[str, tuple[str, str] | None]]:
    """Map the offset of each opcode to its name and, if it looks an attribute of a local variable up, both names."""
    steps: dict[int, tuple[str, tuple[str, str] | None]] = {}
    before = None
    for instruction in dis.get_instructions(code):
        is_lookup = before is not None and instruction.opname in _LOOKUPS and before.opname in _LOCALS
        looked_up = (str(before.argval), str(instruction.argval)) if is_lookup and before is not None else None
        steps[instruction.offset] = instruction.opname, looked_up
        before = instruction
    return steps
