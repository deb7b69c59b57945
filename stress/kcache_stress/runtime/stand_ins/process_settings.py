"""Process settings that tests change temporarily: an execution that is given up does not restore them.

So each execution begins with the settings from the end of the import of the modules. The *switch interval* has no
meaning for virtual threads: they read and write a value of their own, and the real switch interval does not change.

The standard streams and the filters of warnings are not restored: the harness itself replaces them temporarily.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Final

_set_real_interval: Final = sys.setswitchinterval
_get_real_interval: Final = sys.getswitchinterval
"""The real functions: during an execution, ``sys`` has replacements."""


class ProcessSettings:
    """Environment variables and switch interval with which each execution begins."""

    def __init__(self) -> None:
        self._environment: dict[str, str] | None = None
        self._encoded: object = None  # compared before each execution: ten times as fast as comparing `os.environ`
        self._switch_interval = self._first_interval = _get_real_interval()

    def keep(self) -> None:
        """Record the present settings as the settings for each execution; only the first call has an effect."""
        if self._environment is None:
            self._environment = dict(os.environ)
            self._encoded = dict(_encoded())

    def restore(self) -> None:
        """Restore the settings that an execution has changed."""
        self._switch_interval = self._first_interval
        if _get_real_interval() != self._first_interval > 0:  # changed by code that ran before `sys` was replaced
            _set_real_interval(self._first_interval)
        if self._environment is not None and _encoded() != self._encoded:
            for name in os.environ.keys() - self._environment.keys():
                del os.environ[name]
            os.environ.update(self._environment)

    def getswitchinterval(self) -> float:
        """Return the virtual interval in seconds, like ``sys.getswitchinterval``."""
        return self._switch_interval

    def setswitchinterval(self, interval: float) -> None:
        """Set the virtual interval in seconds, like ``sys.setswitchinterval``.

        Raises:
            ValueError: the interval is not positive.
        """
        if interval <= 0:
            raise ValueError("switch interval must be strictly positive")
        self._switch_interval = float(interval)


def _encoded() -> dict[Any, Any]:
    """Return the dict in which ``os.environ`` holds the encoded variables."""
    held: dict[Any, Any] = vars(os.environ)["_data"]
    return held
