"""Settings of the process that tests change for a while: an execution that is given up does not put them back.

The next execution would begin with them. So each finds those that were there when the modules had been loaded. The
*switch interval* has no meaning for virtual threads: they have one of their own, and that of the process stays.

What the process writes to, and its filters of warnings, are left alone: the harness itself replaces them for a while.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

_set_real_interval: Final = sys.setswitchinterval
_get_real_interval: Final = sys.getswitchinterval
"""An execution finds others in their place."""


class ProcessSettings:
    """What the environment variables and the switch interval are to be as an execution begins."""

    def __init__(self) -> None:
        self._environment: dict[str, str] | None = None
        self._encoded: object = None  # compared before each execution, which takes a tenth of the time
        self._switch_interval = self._first_interval = _get_real_interval()

    def keep(self) -> None:
        """Let each execution begin with what is set now, if this is the first time that it is asked for."""
        if self._environment is None:
            self._environment = dict(os.environ)
            self._encoded = dict(_encoded())

    def restore(self) -> None:
        """Put back what an execution has changed."""
        self._switch_interval = self._first_interval
        if _get_real_interval() != self._first_interval > 0:  # by what runs before the first thread is known of
            _set_real_interval(self._first_interval)
        if self._environment is not None and _encoded() != self._encoded:
            for name in os.environ.keys() - self._environment.keys():
                del os.environ[name]
            os.environ.update(self._environment)

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


def _encoded() -> dict[Any, Any]:
    """The environment variables as ``os.environ`` holds them."""
    held: dict[Any, Any] = vars(os.environ)["_data"]
    return held
