"""Process state during an execution: the code under test finds copies of modules, and virtual locks."""

from __future__ import annotations

import sys
from typing import Any

from ..runtime.stand_ins.environment import Environment
from ..runtime.threads.shared_locks import SharedLocks
from .private_modules import PrivateModules


class Present:
    """Context of an execution, in which ``sys.modules``, shared locks and functions of ``os`` are replaced.

    ``TestCase.assertLogs`` uses the copy of ``logging``, because the loggers of the code under test are copies, too.

    It is a class because it is entered in each execution: a generator would take several times as long.
    """

    __slots__ = ("_environment", "_locks", "_modules", "_of_unittest", "_real_logging")

    def __init__(self, modules: PrivateModules, environment: Environment, locks: SharedLocks) -> None:
        self._modules, self._environment, self._locks = modules, environment, locks
        self._of_unittest: Any = sys.modules.get("unittest._log")
        self._real_logging: Any = None

    def __enter__(self) -> None:
        self._environment.__enter__()  # before the copies are shown: it looks for the real asyncio
        self._modules.show()
        self._locks.__enter__()
        copy = self._modules.private.get("logging")
        if self._of_unittest is not None and copy is not None:
            self._real_logging, self._of_unittest.logging = self._of_unittest.logging, copy

    def __exit__(self, *_: object) -> None:
        if self._real_logging is not None:
            self._of_unittest.logging = self._real_logging
        self._environment.__exit__()
        self._locks.__exit__()
        self._modules.hide()
