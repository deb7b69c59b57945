"""Unwinding: silent cleanup after an execution that is given up."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator

from ...engine.events import ACQUIRE, QUERY, TRY, Trace
from .virtual_thread import Aborted


@contextlib.contextmanager
def unnoticed() -> Iterator[None]:
    """Context in which the exceptions that unwind threads are neither logged, nor reported, nor traced."""
    # Code that logs every exception that it catches, as thread pools do, must not log these.
    logged, logging.root.manager.disable = logging.root.manager.disable, logging.CRITICAL
    hook, sys.unraisablehook = sys.unraisablehook, _ignore_aborted(sys.unraisablehook)
    traced = sys.gettrace()
    sys.settrace(None)  # an exception in a trace function uninstalls the tracer, even the tracer of a debugger
    try:
        yield
    finally:
        sys.settrace(traced)
        sys.unraisablehook = hook
        logging.root.manager.disable = logged


def _ignore_aborted(hook: Callable[[sys.UnraisableHookArgs], object]) -> Callable[[sys.UnraisableHookArgs], None]:
    """Wrap an unraisable hook: ignore Aborted, which finalizers raise that wait for a lock during unwinding."""

    def ignore(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, Aborted):
            hook(unraisable)

    return ignore


def restore_locks(trace: Trace) -> None:
    """Free the locks that were free before an execution and are held after it: locks of modules outlive it."""
    held = {
        id(obj)
        for _, kind, obj, slot in trace
        if (kind == ACQUIRE or (kind == TRY and slot)) and not obj.free  # type: ignore[attr-defined]
    }
    for _, kind, obj, slot in trace if held else ():
        if id(obj) in held and kind != QUERY:
            held.discard(id(obj))
            if kind == ACQUIRE or (slot if kind == TRY else not slot):  # it was free when this happened
                obj._at_fork_reinit()  # type: ignore[attr-defined]
