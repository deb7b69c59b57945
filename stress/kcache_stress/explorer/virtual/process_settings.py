"""Settings of the process that tests change for a while: an execution that is given up does not put them back.

The next execution would begin with them. So each finds those that were there when the modules had been loaded. The
*switch interval* has no meaning for virtual threads: they have one of their own, and that of the process stays.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any, Final

_ATTRIBUTES: Final = ("stdin", "stdout", "stderr", "argv", "excepthook", "unraisablehook", "displayhook")
"""Of :mod:`sys`."""

_Setting = tuple[Callable[[], Any], Callable[[Any], None]]


def _set_environment(values: dict[str, str]) -> None:
    for name in os.environ.keys() - values.keys():
        del os.environ[name]
    os.environ.update(values)


def _set_filters(values: list[Any]) -> None:
    warnings.filters[:] = values  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _attribute(name: str) -> _Setting:
    return lambda: getattr(sys, name), lambda value: setattr(sys, name, value)


_SETTINGS: Final[tuple[_Setting, ...]] = (
    (lambda: dict(os.environ), _set_environment),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    (sys.getswitchinterval, sys.setswitchinterval),
    (lambda: list(warnings.filters), _set_filters),
    *map(_attribute, _ATTRIBUTES),
)
"""How each setting is read, and set."""


class ProcessSettings:
    """What the settings of the process are to be as an execution begins."""

    def __init__(self) -> None:
        self._kept: list[Any] | None = None
        self._switch_interval = self._first_interval = sys.getswitchinterval()

    def keep(self) -> None:
        """Let each execution begin with what is set now, if this is the first time that it is asked for."""
        if self._kept is None:
            self._kept = [read() for read, _ in _SETTINGS]

    def restore(self) -> None:
        """Put back what an execution has changed."""
        self._switch_interval = self._first_interval
        for (read, write), kept in zip(_SETTINGS, self._kept or (), strict=False):
            if read() != kept:
                write(kept)

    def getswitchinterval(self) -> float:
        """``sys.getswitchinterval``."""
        return self._switch_interval

    def setswitchinterval(self, interval: float) -> None:
        """``sys.setswitchinterval``.

        Raises:
            ValueError: it is not positive.
        """
        if interval <= 0:
            raise ValueError("switch interval must be strictly positive")
        self._switch_interval = float(interval)
