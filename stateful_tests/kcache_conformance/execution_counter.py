"""Progress within one program: its executions are counted while it is explored, which may take all of a budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kcache_model.progress import ProgressListener

_REPORT_SECONDS: Final = 0.3


class ExecutionCounter:
    """Passes everything on to another :class:`~kcache_model.progress.ProgressListener`, and counts executions.

    Args:
        watch: the other one.
        on_executions: told now and then how many executions there were since :meth:`reset`.
        report_seconds: how long at least between two such reports.
    """

    def __init__(
        self, watch: ProgressListener, on_executions: Callable[[int], None], report_seconds: float = _REPORT_SECONDS
    ) -> None:
        self._watch = watch
        self._on_executions = on_executions
        self._report_seconds = report_seconds
        self._count = 0
        self._reported = time.monotonic()
        self.note, self.append, self.rest = watch.note, watch.append, watch.rest

    def reset(self) -> None:
        """Count from 0: another program is explored."""
        self._count = 0

    def alive(self) -> None:
        """One more execution begins."""
        self._watch.alive()
        self._count += 1
        now = time.monotonic()
        if now - self._reported > self._report_seconds:
            self._reported = now
            self._on_executions(self._count)
