"""Preemption noise: makes threads give way in the middle of the implementation's code.

Left alone, threads rarely meet: the interpreter switches after some tens of microseconds, a call takes a few. So in
noisy rounds a thread sleeps for a moment before a bytecode of the implementation, at random. Nothing of the
implementation is changed, and what it does under noise it may do without.

Edelstein et al.: Framework for testing multi-threaded Java programs (ConTest, 2003).
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from .source import Source

_NEVER = sys.maxsize


@dataclass(frozen=True)
class Level:
    """How much noise.

    Attributes:
        rate: probability of a nap before one bytecode that others can notice; a call has some 30 to 100 of these.
        naps: how long naps last, in seconds; each is as likely. The shortest gives up the processor, which the
            operating system makes some 50 to 100 microseconds of: others get through a few calls.
    """

    rate: float
    naps: tuple[float, ...] = (1e-6,)


class Noise:
    """Decides when threads nap.

    Args:
        seed: of the random decisions. Threads draw from one generator, so a seed does not fix a schedule.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._level: Level | None = None
        self._left = _NEVER
        self._source: Source = _source(self)

    @contextmanager
    def at(self, level: Level | None) -> Iterator[None]:
        """Threads nap meanwhile, those that the implementation starts included; not at all if there is no level."""
        self._level = level
        if level is None:
            self._source.nowhere()
            yield
            return
        self._left = self._gap(level)
        try:
            with self._source.everywhere():
                yield
        finally:
            self._level, self._left = None, _NEVER

    def reach_new_threads(self) -> AbstractContextManager[None]:
        """Threads that start meanwhile nap later on whenever others do."""
        return self._source.reach_new_threads()

    def here(self) -> AbstractContextManager[None]:
        """The calling thread takes part meanwhile."""
        return nullcontext() if self._level is None else self._source.here()

    def bytecode(self) -> None:
        """A bytecode of the implementation is about to be run by the calling thread."""
        self._left -= 1
        if self._left < 0:
            self._nap()

    def close(self) -> None:
        """There will be no more noise."""
        self._source.close()

    def _nap(self) -> None:
        level = self._level
        if level is None:
            self._left = _NEVER
            return
        self._left = self._gap(level)
        time.sleep(self._random.choice(level.naps))

    def _gap(self, level: Level) -> int:
        return int(self._random.expovariate(level.rate))


def _source(noise: Noise) -> Source:
    if sys.version_info >= (3, 12):
        from .monitoring import MonitoringSource, free_tool

        tool = free_tool()
        if tool is not None:
            return MonitoringSource(tool, noise.bytecode)
    from .tracing import TracingSource

    return TracingSource(noise.bytecode)
