"""Pace of a search through programs: counts, remaining time, and progress lines for output without a terminal."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Final

import click

from kcache_conformance.results.exploration_outcomes import Tally

FIRST_LINE_SECONDS = 4.0
"""The time until the first progress line: a user should not wait longer for a sign of progress."""
_LINE_SECONDS: Final = 30.0
_RECENT_SECONDS: Final = 300.0
"""The pace is measured over this time only, because later programs are larger."""
_LEAST_SECONDS: Final = 5.0


class Pace:
    """The progress and the speed of a search.

    Args:
        clock: returns seconds.
        budget_seconds: the time limit of the search.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, budget_seconds: float = inf) -> None:
        self._clock, self._began, self._budget_seconds = clock, clock(), budget_seconds
        self._counts: deque[tuple[float, int]] = deque()
        self._total: int | None = None
        self._executions = 0

    def note(self, total: int | None, tally: Tally) -> None:
        """Record the counts of the search so far, and the total number of programs if it is known."""
        now = self._clock()
        self._total, self._executions = total, tally.executions
        self._counts.append((now, tally.programs))
        while len(self._counts) > 2 and now - self._counts[1][0] > _RECENT_SECONDS:
            self._counts.popleft()

    @property
    def progress(self) -> str:
        """``312 of 24003 programs, 8000 executions``."""
        if not self._counts:
            return "nothing explored yet"
        total = "" if self._total is None else f" of {self._total}"
        return f"{self._counts[-1][1]}{total} programs, {self._executions} executions"

    @property
    def remaining(self) -> str:
        """``, about 9 min left``; empty if the total or the pace is unknown."""
        if self._total is None or not self._counts:
            return ""
        (began, before), (now, after) = self._counts[0], self._counts[-1]
        if after == before or now - began < _LEAST_SECONDS:
            return ""
        return f", about {duration_text((self._total - after) * (now - began) / (after - before))} left"

    @property
    def line(self) -> str:
        """The counts, the elapsed time and the remaining time."""
        return (
            f"{self.progress} after {elapsed_text(self._clock() - self._began, self._budget_seconds)}{self.remaining}"
        )


def duration_text(seconds: float) -> str:
    """Format seconds in seconds, minutes or hours: ``40 s``, ``9 min``, ``31 h``."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def elapsed_text(seconds: float, budget_seconds: float) -> str:
    """Format the elapsed time: ``4 s of 30 s``; without the budget if it is infinite."""
    return duration_text(seconds) + ("" if budget_seconds == inf else f" of {duration_text(budget_seconds)}")


@contextmanager
def lines(line: Callable[[], str], *, is_wanted: bool) -> Iterator[None]:
    """Print a line to standard error after 4 s, then every 30 s, while the context is entered."""
    if not is_wanted:
        yield
        return
    is_over = threading.Event()

    def tell() -> None:
        seconds = FIRST_LINE_SECONDS
        while not is_over.wait(seconds):
            click.echo(f"kcache: {line()}", err=True)
            seconds = _LINE_SECONDS

    teller = threading.Thread(target=tell, name="kcache progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()
