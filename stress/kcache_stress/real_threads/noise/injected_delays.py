"""Delays at bytecodes: the decision where threads nap.

Places of the implementation's code are passed very unevenly often: a loop over values thousands of times, the making of
something that is made once a few times. So each place has its own share: the more often it was passed, the rarer naps
become there.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import CodeType

from .bytecodes import noticed_offsets
from .source import Places, Source

_DENSITY = 1.0
"""A place that was passed n times has seen some 2 x density x sqrt(n) naps at the highest level."""

_LEAST_GAP = 3.0
"""Between two naps at the same place, on average: a place that is always slow hides what comes next."""


@dataclass(frozen=True)
class Level:
    """Amount of noise.

    Attributes:
        share: of the naps that are possible, which are taken; at most 1.
        naps: how long naps last, in seconds; each is as likely. The shortest gives up the processor, which the
            operating system makes some 50 to 100 microseconds of: others get through a few calls.
    """

    share: float
    naps: tuple[float, ...] = (1e-6,)


class Noise:
    """Makes threads nap now and then before a bytecode that other threads can notice.

    Args:
        seed: of the random decisions. Threads draw from one generator, so a seed does not fix a schedule.
        with_library: threads nap in code of the standard library, too.
    """

    def __init__(self, seed: int, *, with_library: bool = False) -> None:
        self.with_library = with_library
        self._random = random.Random(seed)
        self._level: Level | None = None
        self._passed: dict[tuple[int, int], int] = {}
        self._source: Source = _source(self)

    @contextmanager
    def at(self, level: Level | None) -> Iterator[None]:
        """Context in which threads nap, including those that the implementation starts; without a level, none does."""
        self._level = level
        if level is None:
            self._source.nowhere()
            yield
            return
        try:
            with self._source.everywhere():
                yield
        finally:
            self._level = None

    def reach_new_threads(self) -> AbstractContextManager[None]:
        """Context in which new threads become threads that nap later."""
        return self._source.reach_new_threads()

    def here(self) -> AbstractContextManager[None]:
        """Context in which the calling thread naps, too."""
        return nullcontext() if self._level is None else self._source.here()

    def places(self, code: CodeType) -> Places:
        """Return the places of a function: 1 at the bytecodes that other threads can notice, and 0 at others."""
        noticed = noticed_offsets(code)
        return [1 if offset in noticed else 0 for offset in range(len(code.co_code))]

    def due(self, places: Places, offset: int) -> None:
        """Let the calling thread nap, perhaps, and set the number of passes until the next nap at this place."""
        entry = id(places), offset
        passed = self._passed.get(entry, 1)
        gap = 1 + int(self._random.expovariate(1.0 / max(_LEAST_GAP, passed**0.5 / _DENSITY)))
        self._passed[entry] = passed + gap
        places[offset] = gap
        level = self._level
        if level is not None and self._random.random() < level.share:
            time.sleep(self._random.choice(level.naps))

    def close(self) -> None:
        """End the noise for good."""
        self._source.close()


def _source(noise: Noise) -> Source:
    if sys.version_info >= (3, 12):
        from .monitoring import MonitoringSource, free_tool

        tool = free_tool()
        if tool is not None:
            return MonitoringSource(tool, noise)
    from .tracing import TracingSource

    return TracingSource(noise)
