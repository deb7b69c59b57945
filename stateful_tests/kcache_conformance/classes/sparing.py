"""Trials of calls that give up if they cost too much: calls that wait for the outside world, or are slow."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Final, Protocol

from kcache_model.object_types.method_call import MethodCall
from kcache_model.outcomes import WAITS, Outcome
from kcache_model.thread_time import own_seconds

from ..phases.budget_slices import RUN_SECONDS

_MOST_WAITS: Final = 4
"""Waits on real threads of one method, each half a second long: the method waits for a host, or for a keyboard."""
_MOST_BUSY: Final = 4.0
"""The multiple of the allowed time that may pass while other processes run, or while a call really waits."""
_SHARE: Final = 0.25
"""The share of the run's budget for the trials of a class. After it, there are fewer: programs need their time."""
_LEAST_SECONDS, _MOST_SECONDS = 3.0, 12.0
"""The limits of that time. A class with dozens of methods needs some seconds for them."""
_QUICK_SECONDS: Final = 0.005
"""Seconds of a quick trial. Most trials take a tenth of it. All quick trials are made, even on a slow machine."""
_MOST_QUICK: Final = 1.5
"""Quick trials may take this many times the time of slow ones."""


class Allowance:
    """The time limit of the trials of a class, on a clock that stops while other processes run; not much more.

    Attributes:
        count: the number of trials so far.
    """

    def __init__(self) -> None:
        self.count = 0
        self._seconds = min(max(_LEAST_SECONDS, _SHARE * RUN_SECONDS.get()), _MOST_SECONDS)
        self._began = own_seconds()
        self._wall = time.monotonic()

    @property
    def is_spent(self) -> bool:
        """Whether the time is spent."""
        return self._is_over(self._seconds)

    @property
    def is_spent_twice(self) -> bool:
        """Whether twice the time is spent."""
        return self._is_over(2 * self._seconds)

    @property
    def is_spent_by_slow_trials(self) -> bool:
        """Whether the time is spent; quick trials have more time."""
        is_slow = own_seconds() - self._began > self.count * _QUICK_SECONDS
        return self.is_spent and (is_slow or self._is_over(_MOST_QUICK * self._seconds))

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

    def object_and_result(self, calls: tuple[Any, ...], /) -> tuple[object, object]:
        """Return the object of the class and the result of the last call; ``None`` for both if it did not return."""
        ...


class Sparing:
    """Trials of calls that end: a call that has really waited several times is assumed to wait always.

    Args:
        tries: makes the calls.
        allowance: the time limit, shared with other trials of the class.
    """

    def __init__(self, tries: CountingTries, allowance: Allowance) -> None:
        self._tries = tries
        self._waits: Counter[str] = Counter()
        self._allowance = allowance

    def __call__(self, calls: tuple[MethodCall, ...]) -> Outcome:
        """Return the outcome of the last call, or that it waits, if trying it would cost too much."""
        name = calls[-1].name
        if self._waits[name] >= _MOST_WAITS or self._allowance.is_spent_by_slow_trials:
            return WAITS
        self._allowance.count += 1
        before = self._tries.real_waits
        outcome = self._tries(calls)
        if outcome.waits:
            self._waits[name] += self._tries.real_waits - before
        return outcome

    def result(self, calls: tuple[MethodCall, ...]) -> object:
        """Return the result of the last call as an object; ``None`` if it did not return, or if the time is spent."""
        return None if self._allowance.is_spent_by_slow_trials else self._tries.result(calls)

    def object_and_result(self, calls: tuple[MethodCall, ...]) -> tuple[object, object]:
        """Return the object of the class, too; ``None`` for both if the call did not return, or the time is spent."""
        return (None, None) if self._allowance.is_spent_by_slow_trials else self._tries.object_and_result(calls)
