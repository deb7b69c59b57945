"""Progress within one program: counts its executions while it is explored, which may take all of a budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kcache_model.progress import ProgressListener

_REPORT_SECONDS: Final = 0.3


class ExecutionCounter:
    """Forwards all calls to another :class:`~kcache_model.progress.ProgressListener`, and counts executions.

    Args:
        watch: the other listener.
        on_executions: called from time to time with the number of executions since :meth:`reset`.
        report_seconds: the shortest time between two such calls.
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
        """Restart the count at 0, for another program."""
        self._count = 0

    def alive(self) -> None:
        """Count an execution that begins now."""
        self._watch.alive()
        self._count += 1
        now = time.monotonic()
        if now - self._reported > self._report_seconds:
            self._reported = now
            self._on_executions(self._count)
