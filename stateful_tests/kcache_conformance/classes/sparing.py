"""Trials of calls that give up if they cost too much: calls that wait for the outside world, or are slow."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Final, Protocol

from kcache_model.object_types.method_call import MethodCall
from kcache_model.outcomes import WAITS, Outcome
from kcache_model.thread_time import own_seconds

_MOST_WAITS: Final = 4
"""Waits on real threads of one method, each half a second long: the method waits for a host, or for a keyboard."""
_MOST_BUSY: Final = 4.0
"""The multiple of the allowed time that may pass while other processes run, or while a call really waits."""
_MOST_SECONDS: Final = 2.0
"""Seconds for one part of the trials. After that, trials are fewer, so that the run reaches its programs in time."""
_QUICK_SECONDS: Final = 0.005
"""Seconds of a quick trial. Most trials take a tenth of it. All quick trials are made, even on a slow machine."""
_MOST_QUICK: Final = 4
"""Quick trials may take this many times the time of slow ones."""


class Allowance:
    """The time limit of one part of the trials, on a clock that stops while other processes run; not much more."""

    def __init__(self) -> None:
        self._began = own_seconds()
        self._wall = time.monotonic()

    @property
    def is_spent(self) -> bool:
        """Whether the time is spent."""
        return self._is_over(_MOST_SECONDS)

    @property
    def is_spent_twice(self) -> bool:
        """Whether twice the time is spent."""
        return self._is_over(2 * _MOST_SECONDS)

    def is_spent_by(self, tries: int) -> bool:
        """Whether the time is spent after a number of trials; quick trials have more time."""
        spent = own_seconds() - self._began
        return self.is_spent and (spent > tries * _QUICK_SECONDS or self._is_over(_MOST_QUICK * _MOST_SECONDS))

    def _is_over(self, seconds: float) -> bool:
        return own_seconds() - self._began > seconds or time.monotonic() - self._wall > _MOST_BUSY * seconds


class CountingTries(Protocol):
    """An object that makes calls one after another on a new object."""

    @property
    def real_waits(self) -> int:
        """The number of waits on real threads."""
        ...

    def __call__(self, calls: tuple[Any, ...], /) -> Outcome:
        """Return the outcome of the last call."""
        ...

    def result(self, calls: tuple[Any, ...], /) -> object:
        """Return the result of the last call as an object; ``None`` if it did not return."""
        ...


class Sparing:
    """Trials of calls that end: a call that has really waited several times is assumed to wait always.

    Args:
        tries: makes the calls.
    """

    def __init__(self, tries: CountingTries) -> None:
        self._tries = tries
        self._waits: Counter[str] = Counter()
        self._count = 0
        self._allowance = Allowance()

    def __call__(self, calls: tuple[MethodCall, ...]) -> Outcome:
        """Return the outcome of the last call, or that it waits, if trying it would cost too much."""
        name = calls[-1].name
        if self._waits[name] >= _MOST_WAITS or self._allowance.is_spent_by(self._count):
            return WAITS
        self._count += 1
        before = self._tries.real_waits
        outcome = self._tries(calls)
        if outcome.waits:
            self._waits[name] += self._tries.real_waits - before
        return outcome

    def result(self, calls: tuple[MethodCall, ...]) -> object:
        """Return the result of the last call as an object; ``None`` if it did not return, or if the time is spent."""
        return None if self._allowance.is_spent_by(self._count) else self._tries.result(calls)
