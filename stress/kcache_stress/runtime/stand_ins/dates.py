"""Time that ``datetime`` tells: the virtual one, where instrumented code asks a class of that module itself.

The classes of ``datetime`` are kept as they are, for their objects go into code that is not instrumented, and come out
of it. Where instrumented code looks up ``now``, ``utcnow`` or ``today``, it gets a function of ours in place of the one
in C, and calls that. What asks for the time in another way reads the real clock, which is no part of a proof.
"""

from __future__ import annotations

import datetime
import types
from collections.abc import Callable
from typing import Any, Final

from ...instrument.tables import reads_the_clock


def _now(kind: Any, seconds: float, tz: datetime.tzinfo | None = None) -> Any:
    return kind.fromtimestamp(seconds, tz)


def _utcnow(kind: Any, seconds: float) -> Any:
    return kind.fromtimestamp(seconds, datetime.UTC).replace(tzinfo=None)


def _today(kind: Any, seconds: float) -> Any:
    return kind.fromtimestamp(seconds)


_ASKING: Final[dict[str, Callable[..., Any]]] = {"now": _now, "utcnow": _utcnow, "today": _today}


def dates(wall: Callable[[], float]) -> Callable[[object], object]:
    """A function that gives back what it is given, or what asks the virtual clock in its place.

    Args:
        wall: returns the seconds since the epoch, by the virtual clock.
    """

    def asked(callee: object) -> object:
        if type(callee) is not types.BuiltinFunctionType:
            return callee
        kind, name = callee.__self__, callee.__name__
        if not reads_the_clock(kind, name):
            return callee
        ask = _ASKING[name]
        return lambda *args, **named: ask(kind, wall(), *args, **named)

    return asked
