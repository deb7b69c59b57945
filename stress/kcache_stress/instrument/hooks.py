"""Hooks that instrumented code calls, for the globals of a module."""

from collections.abc import Callable
from types import CellType
from typing import Any, Final

from .access import access_hooks
from .calls import call_hooks
from .containment import atoms, forget_types
from .foreign_code import ForeignCode
from .names import HOOK_MARK, PREFIX
from .reporting import Accesses, Report, ReportTogether

__all__ = ["HOOK_MARK", "Report", "make_hooks"]


class Cell:
    """Token that represents one closure variable of one activation of a function."""

    __slots__ = ()


def _is_added(item: object) -> bool:
    """Whether a name, or the cell of a closure variable, was added by the rewriting."""
    if type(item) is CellType:
        try:
            return type(item.cell_contents) is Cell
        except ValueError:  # it is empty
            return False
    return type(item) is str and item.startswith(PREFIX)


def _nothing() -> None:
    return None


def make_hooks(
    report: Report,
    foreign_code: ForeignCode,
    pause: Callable[[], None] | None = None,
    together: ReportTogether | None = None,
) -> dict[str, object]:
    """Return the names that a rewritten module needs in its globals before its code is executed.

    Args:
        report: called as `report(obj, slot, is_write)` immediately before each access; it must return None.
        foreign_code: the monitor to which unknown code is reported.
        together: called instead of `report` before two or more accesses that are one step, if threads can be switched
            before every access.
        pause: called where CPython can switch threads, if the module was rewritten with `pauses`; returns None too.
    """
    forget_types()
    accesses = Accesses(report, foreign_code, together)

    def own_locals(namespace: Any) -> Any:
        """Return a namespace, or a list of names or of cells, without the variables that the rewriting has added."""
        if type(namespace) is list:
            return [name for name in namespace if not name.startswith(PREFIX)]
        if type(namespace) is tuple:
            own = tuple(each for each in namespace if not _is_added(each))
            return own or (None if namespace and type(namespace[0]) is CellType else own)
        if type(namespace) is not dict:
            return namespace
        for name in [name for name in namespace if name.startswith(PREFIX)]:
            del namespace[name]
        return namespace

    pause_now = pause or _nothing

    def after(value: object) -> object:
        pause_now()
        return value

    hooks: dict[str, object] = {
        "mark": True,
        "report": report,
        "quiet": accesses.quiet,
        "atoms": atoms,
        "pause": pause_now,
        "clock": _itself,
    }
    hooks |= {"type": type, "never": object(), "slice": slice, "start": iter, "set": set, "cell": Cell}
    hooks |= {"locals": own_locals, "after": after, **access_hooks(accesses, pause_now), **call_hooks(accesses)}
    return {f"{PREFIX}{name}": hook for name, hook in hooks.items()}


_PASSED_ON: Final = frozenset({"after", "iterate", "turns", "lazy", "delegate", "resumed", "star", "double_star"})
"""Hooks that return their first argument, or a replacement for it."""
_KEPT: Final = frozenset(
    {"mark", "quiet", "atoms", "type", "never", "slice", "start", "set", "cell", "locals", "clock"}
)
"""Hooks that report nothing."""


def silent(hooks: dict[str, object]) -> dict[str, object]:
    """Return replacements for the hooks that report; the replacements report nothing."""
    kept = {f"{PREFIX}{name}" for name in _KEPT}
    passed_on = {f"{PREFIX}{name}" for name in _PASSED_ON}
    return {name: _itself if name in passed_on else _report_nothing for name in hooks if name not in kept}


def _itself(value: object = None, *_: object) -> object:
    return value


def _report_nothing(*_: object) -> None:
    return None
