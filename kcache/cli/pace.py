"""Pace of a search through programs: what was done, how much time is left, and lines that say so without a terminal."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import click

from kcache_conformance.runs.outcomes import Tally

_LINE_SECONDS: Final = 30.0
_RECENT_SECONDS: Final = 300.0
"""Later programs are larger: the pace is that of the last ones."""
_LEAST_SECONDS: Final = 5.0


class Pace:
    """How far a search is, and how fast.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began = clock, clock()
        self._seen: deque[tuple[float, int]] = deque()
        self._total: int | None = None
        self._executions = 0

    def note(self, total: int | None, tally: Tally) -> None:
        """Take down what was done."""
        now = self._clock()
        self._total, self._executions = total, tally.executions
        self._seen.append((now, tally.programs))
        while len(self._seen) > 2 and now - self._seen[1][0] > _RECENT_SECONDS:
            self._seen.popleft()

    @property
    def done(self) -> str:
        """``312 of 24003 programs, 8000 executions``."""
        if not self._seen:
            return "nothing explored yet"
        total = "" if self._total is None else f" of {self._total}"
        return f"{self._seen[-1][1]}{total} programs, {self._executions} executions"

    @property
    def left(self) -> str:
        """``, about 9 min left``; empty if nobody knows."""
        if self._total is None or not self._seen:
            return ""
        (began, before), (now, after) = self._seen[0], self._seen[-1]
        if after == before or now - began < _LEAST_SECONDS:
            return ""
        return f", about {duration_text((self._total - after) * (now - began) / (after - before))} left"

    @property
    def line(self) -> str:
        """Both, and how long it took so far."""
        return f"{self.done} after {duration_text(self._clock() - self._began)}{self.left}"


def duration_text(seconds: float) -> str:
    """Seconds in the unit that suits them: ``40 s``, ``9 min``, ``31 h``."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


@contextmanager
def lines(pace: Pace, *, is_wanted: bool) -> Iterator[None]:
    """Within it, a line goes to standard error every now and then."""
    if not is_wanted:
        yield
        return
    is_over = threading.Event()

    def tell() -> None:
        while not is_over.wait(_LINE_SECONDS):
            click.echo(f"kcache: {pace.line}", err=True)

    teller = threading.Thread(target=tell, name="kcache progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()
