"""Process settings that tests change temporarily: an execution that is given up does not restore them.

So each execution begins with the settings from the end of the import of the modules. The *switch interval* has no
meaning for virtual threads, and the garbage collector is off while they run: they read and write values of their own,
and the real settings do not change.

The standard streams and the filters of warnings are not restored: the harness itself replaces them temporarily.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any, Final

_set_real_interval: Final = sys.setswitchinterval
_get_real_interval: Final = sys.getswitchinterval
"""The real functions: during an execution, ``sys`` has replacements."""


class ProcessSettings:
    """Environment variables, switch interval and state of the collector with which each execution begins.

    Attributes:
        switch_interval: the virtual switch interval, in seconds.
        collects: whether the collector is on for the virtual threads.
    """

    def __init__(self) -> None:
        self._environment: dict[str, str] | None = None
        self._encoded: object = None  # compared before each execution: ten times as fast as comparing `os.environ`
        self.switch_interval = self._first_interval = _get_real_interval()
        self.collects = self._collects_first = gc.isenabled()

    def keep(self) -> None:
        """Record the present settings as the settings for each execution; only the first call has an effect."""
        if self._environment is None:
            self._environment = dict(os.environ)
            self._encoded = dict(_encoded())

    def restore(self) -> None:
        """Restore the settings that an execution has changed."""
        self.switch_interval, self.collects = self._first_interval, self._collects_first
        if _get_real_interval() != self._first_interval > 0:  # changed by code that ran before `sys` was replaced
            _set_real_interval(self._first_interval)
        if self._environment is not None and _encoded() != self._encoded:
            for name in os.environ.keys() - self._environment.keys():
                del os.environ[name]
            os.environ.update(self._environment)

    def setswitchinterval(self, interval: float) -> None:
        """Set the virtual interval in seconds, like ``sys.setswitchinterval``.

        Raises:
            ValueError: the interval is not positive.
        """
        if interval <= 0:
            raise ValueError("switch interval must be strictly positive")
        self.switch_interval = float(interval)


def _encoded() -> dict[Any, Any]:
    """Return the dict in which ``os.environ`` holds the encoded variables."""
    held: dict[Any, Any] = vars(os.environ)["_data"]
    return held
