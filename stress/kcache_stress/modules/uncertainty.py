"""Doubts about an execution: reasons why real threads may be unable to do the same."""

from __future__ import annotations

import dis
import gc
import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, GeneratorType
from typing import Any, Final

from kcache_model.foreign import class_attribute, is_a
from kcache_model.places import file_name

from ..engine.events import UNKNOWN, Trace, UnknownAccess, parts_of
from ..runtime.threads.clock import TIME_WAS_ADVANCED, TimeToPass

__all__ = ["LATE", "TIME_WAS_ADVANCED", "late_finalizer", "made_time", "unseen_code", "unseen_opcodes"]

LATE: Final = "may run later than with real threads"
_OF_EACH_GENERATOR: Final = "CALL_INTRINSIC_1"
"""First opcode of the exception handler that each generator has since Python 3.12; it runs no code of the generator."""
_IDLE_FINALIZERS: Final = frozenset({"unittest.async_case", "kcache_stress.runtime.tasks.event_loop"})
"""Modules whose finalizers do nothing after a test: its event loops are closed before it ends."""
_callback_of: Final = vars(weakref.ref)["__callback__"].__get__


def unseen_code(trace: Trace) -> str:
    """Return the first code that is not visible, if several threads ran such code; else empty.

    Real threads may be unable to do the same, because the code may exclude other threads by a lock.
    """
    ran = [(thread, slot) for thread, _, obj, slot in trace if obj is UNKNOWN and type(slot) is UnknownAccess]
    unseen = [(thread, slot) for thread, slot in ran if not slot.is_contained]
    return str(unseen[0][1]) if len({thread for thread, _ in unseen}) > 1 else ""


def unseen_opcodes(trace: Trace, is_opaque: Callable[[CodeType], bool]) -> str:
    """Return the same as :func:`unseen_code`, for an execution with switches at opcodes."""
    codes = {(thread, id(code)): code for thread, _, code, _ in trace if isinstance(code, CodeType)}
    opaque = [(thread, code) for (thread, _), code in codes.items() if is_opaque(code)]
    if len({thread for thread, _ in opaque}) < 2:
        return ""
    code = opaque[0][1]
    return f"{file_name(code.co_filename)}:{code.co_firstlineno}: runs {code.co_qualname}, which is not instrumented"


def made_time(trace: Trace) -> str:
    """Return the first place where time was moved for a thread that read the clock in a loop; else empty."""
    return next((str(obj) for _, _, obj, _ in trace if type(obj) is TimeToPass and obj.is_made), "")


def late_finalizer(trace: Trace, classes: Iterable[type] = ()) -> str:
    """Return the finalizer that may run later than with real threads, because the trace keeps its object alive.

    Args:
        trace: the trace of the execution.
        classes: classes whose objects may take part although no event of the trace names them.

    Returns:
        A sentence about the first finalizer; empty if there is none.
    """
    objects = {id(obj): obj for event in trace for _, obj, _ in parts_of(*event[1:])}.values()
    of_classes = (f"{kind.__qualname__}.__del__" for kind in classes if _has_finalizer(kind))
    what = next((what for obj in objects for what in _finalizers(obj)), "") or next(of_classes, "")
    return what and f"{what} {LATE}, because the explorer keeps the objects that a thread has used"


def _has_finalizer(kind: type) -> bool:
    finalizer = class_attribute(kind, "__del__")
    return is_a(finalizer, FunctionType) and finalizer.__module__ not in _IDLE_FINALIZERS


def _runs_when_closed(generator: GeneratorType[Any, Any, Any]) -> bool:
    """Whether code of a generator runs when it is closed: the rest of a ``with``, ``try`` or inner generator."""
    frame = generator.gi_frame
    if frame is None or inspect.getgeneratorstate(generator) != inspect.GEN_SUSPENDED:
        return False
    code = dis.Bytecode(generator.gi_code)
    names = {instruction.offset: instruction.opname for instruction in code}
    entries = code.exception_entries  # type: ignore[attr-defined]
    handlers = [entry.target for entry in entries if entry.start <= frame.f_lasti < entry.end]
    return generator.gi_yieldfrom is not None or any(names[handler] != _OF_EACH_GENERATOR for handler in handlers)


def _finalizers(obj: object) -> Iterator[str]:
    kind = type(obj)
    if _has_finalizer(kind):
        yield f"{kind.__qualname__}.__del__"
    if is_a(obj, GeneratorType) and _runs_when_closed(obj):
        yield f"the rest of the generator {obj.__qualname__}"
    for reference in weakref.getweakrefs(obj):
        # A proxy forwards each attribute access to the object, even the access to its callback.
        is_proxy = not is_a(reference, weakref.ref)
        callback = next(iter(gc.get_referents(reference)), None) if is_proxy else _callback_of(reference)
        is_of_set = is_a(callback, FunctionType) and callback.__module__ == "_weakrefset"  # `threading` has WeakSets
        if callback is not None and not is_of_set:
            yield f"the callback of a weak reference to a {kind.__qualname__}"
