"""Doubts about an execution: whether real threads may do the same although each of its steps is possible."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType

from kcache_model.places import file_name

from .events import UNKNOWN, Imprecise, Trace, parts_of


def unseen_code(trace: Trace) -> str:
    """The first code that ran unseen, if several threads ran such: it may exclude some by its locks; else empty."""
    ran = [(thread, slot) for thread, _, obj, slot in trace if obj is UNKNOWN and isinstance(slot, Imprecise)]
    unseen = [(thread, slot) for thread, slot in ran if not slot.is_contained]
    return str(unseen[0][1]) if len({thread for thread, _ in unseen}) > 1 else ""


def unseen_opcodes(trace: Trace, is_opaque: Callable[[CodeType], bool]) -> str:
    """As :func:`unseen_code`, of an execution that was switched at opcodes."""
    codes = {(thread, id(code)): code for thread, _, code, _ in trace if isinstance(code, CodeType)}
    opaque = [(thread, code) for (thread, _), code in codes.items() if is_opaque(code)]
    if len({thread for thread, _ in opaque}) < 2:
        return ""
    code = opaque[0][1]
    return f"{file_name(code.co_filename)}:{code.co_firstlineno}: runs {code.co_qualname}, which is not instrumented"


def late_finalizer(trace: Trace) -> str:
    """The first object with a finalizer, for it may run later than it would: the trace holds the object; else empty."""
    for obj in {id(obj): obj for event in trace for _, obj, _ in parts_of(*event[1:])}.values():
        for what in _finalizers(obj):
            return f"{what} may run later than with real threads, for the explorer keeps what a thread has used"
    return ""


def _finalizers(obj: object) -> Iterator[str]:
    kind = type(obj)
    if isinstance(getattr(kind, "__del__", None), FunctionType):
        yield f"{kind.__qualname__}.__del__"
    if inspect.isgenerator(obj) and inspect.getgeneratorstate(obj) == inspect.GEN_SUSPENDED:
        yield f"the rest of the generator {obj.__qualname__}"
    for reference in weakref.getweakrefs(obj):
        callback = reference.__callback__
        if callback is not None and getattr(callback, "__module__", "") != "_weakrefset":  # threads are in such sets
            yield f"the callback of a weak reference to a {kind.__qualname__}"
