"""Virtual time for ``datetime``: instrumented code that calls a class of ``datetime`` reads the virtual clock.

The classes of ``datetime`` are not replaced, because their objects are passed to and from code that is not
instrumented. When instrumented code looks up ``now``, ``utcnow`` or ``today``, it gets a function of kcache in place of
the method in C. Code that gets the time in another way reads the real clock; such an execution is no part of a proof.
"""

from __future__ import annotations

import datetime
import types
from collections.abc import Callable
from typing import Any, Final

from ...knowledge.tables import reads_the_clock


def _now(kind: Any, seconds: float, tz: datetime.tzinfo | None = None) -> Any:
    return kind.fromtimestamp(seconds, tz)


def _utcnow(kind: Any, seconds: float) -> Any:
    return kind.fromtimestamp(seconds, datetime.UTC).replace(tzinfo=None)


def _today(kind: Any, seconds: float) -> Any:
    return kind.fromtimestamp(seconds)


_CLOCK_READERS: Final[dict[str, Callable[..., Any]]] = {"now": _now, "utcnow": _utcnow, "today": _today}


def dates(wall: Callable[[], float]) -> Callable[[object], object]:
    """Return a function that maps a callee that reads the real clock to one that reads the virtual clock.

    It returns every other callee unchanged.

    Args:
        wall: returns the seconds since the epoch, by the virtual clock.
    """

    def replacement(callee: object) -> object:
        if type(callee) is not types.BuiltinFunctionType:
            return callee
        kind, name = callee.__self__, callee.__name__
        if not reads_the_clock(kind, name):
            return callee
        ask = _CLOCK_READERS[name]
        return lambda *args, **named: ask(kind, wall(), *args, **named)

    return replacement
