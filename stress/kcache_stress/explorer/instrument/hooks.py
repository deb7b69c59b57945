"""The functions that instrumented code calls, ready to be put into the globals of a module."""

from collections.abc import Callable
from typing import Any, Final

from .access import access_hooks
from .beneath import atoms, forget_types
from .calls import call_hooks
from .names import (
    AFTER,
    ATOMS,
    CELL,
    EMPTY_SET,
    HOOK_MARK,
    LOCALS,
    NEVER,
    PAUSE,
    PREFIX,
    QUIET,
    REPORT,
    SLICE,
    START,
    TYPE,
)
from .reporting import Accesses, Report, ReportTogether, Watcher

__all__ = ["HOOK_MARK", "Report", "make_hooks"]

_NEVER: Final = object()


class Cell:
    """Stands for one closure variable of one activation of a function."""

    __slots__ = ()


def make_hooks(
    report: Report, gate: Watcher, pause: Callable[[], None] | None = None, together: ReportTogether | None = None
) -> dict[str, object]:
    """Return the names that a rewritten module needs in its globals before its code is executed.

    Args:
        report: called as `report(obj, slot, is_write)` immediately before each access; it must return None.
        gate: what is told of all that is unknown.
        together: called instead of `report` before two or more accesses that are one step, if threads can be switched
            before every access.
        pause: called where CPython can switch threads, if the module was rewritten with `pauses`; returns None too.
    """
    forget_types()
    accesses = Accesses(report, gate, together)

    def own_locals(namespace: Any) -> Any:
        if type(namespace) is list:
            return [name for name in namespace if not name.startswith(PREFIX)]
        for name in [name for name in namespace if name.startswith(PREFIX)]:
            del namespace[name]
        return namespace

    hooks: dict[str, object] = {
        HOOK_MARK: True,
        REPORT: report,
        QUIET: accesses.quiet,
        ATOMS: atoms,
        TYPE: type,
        NEVER: _NEVER,
        SLICE: slice,
        START: iter,
        EMPTY_SET: set,
        CELL: Cell,
        LOCALS: own_locals,
    }
    hooks |= access_hooks(accesses, pause or _nothing)
    hooks |= call_hooks(accesses)
    if pause is not None:
        pause_now = pause

        def after(value: object) -> object:
            pause_now()
            return value

        hooks |= {PAUSE: pause, AFTER: after}
    else:
        hooks |= {PAUSE: _nothing, AFTER: lambda value: value}
    return hooks


def _nothing() -> None:
    return None
