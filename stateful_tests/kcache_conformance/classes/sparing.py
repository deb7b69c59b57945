"""Tries of calls that give up where they would cost too much: on what waits for the world outside, or is slow."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Final, Protocol

from kcache_model.object_types.method_call import MethodCall
from kcache_model.outcomes import WAITS, Outcome
from kcache_model.thread_time import own_seconds

_MOST_WAITS: Final = 4
"""Waits on real threads of one method, each of which takes half a second: it waits for a host, or for a keyboard."""
_MOST_BUSY: Final = 4.0
"""Of the time that is allowed, how much may pass while others use the processor, or while a call really waits."""
_MOST_SECONDS: Final = 2.0
"""For one part of the tries. After it they are fewer: the run is to come to its programs although objects are slow."""
_QUICK_SECONDS: Final = 0.005
"""Of one try that counts as quick. Most tries take a tenth of it. All quick tries are made, also on a slow machine."""
_MOST_QUICK: Final = 4
"""Quick tries may take so many times as long as slow ones."""


class Allowance:
    """The time that one part of the tries may take, on a clock that stands still while others run; not much more."""

    def __init__(self) -> None:
        self._began = own_seconds()
        self._wall = time.monotonic()

    @property
    def is_spent(self) -> bool:
        """Whether there is none left."""
        return self._is_over(_MOST_SECONDS)

    @property
    def is_spent_twice(self) -> bool:
        """Whether twice as much is spent."""
        return self._is_over(2 * _MOST_SECONDS)

    def is_spent_by(self, tries: int) -> bool:
        """Whether there is none left after that many tries, which has more for quick ones."""
        spent = own_seconds() - self._began
        return self.is_spent and (spent > tries * _QUICK_SECONDS or self._is_over(_MOST_QUICK * _MOST_SECONDS))

    def _is_over(self, seconds: float) -> bool:
        return own_seconds() - self._began > seconds or time.monotonic() - self._wall > _MOST_BUSY * seconds


class CountingTries(Protocol):
    """Makes calls one after another on a new object."""

    @property
    def real_waits(self) -> int:
        """How often a call has waited on real threads."""
        ...

    def __call__(self, calls: tuple[Any, ...], /) -> Outcome:
        """What the last call gave."""
        ...

    def result(self, calls: tuple[Any, ...], /) -> object:
        """What the last call returned, as it is; ``None`` if it did not return."""
        ...


class Sparing:
    """Tries of calls that end: what waits for something real again and again is taken to wait always.

    Args:
        tries: makes the calls.
    """

    def __init__(self, tries: CountingTries) -> None:
        self._tries = tries
        self._waits: Counter[str] = Counter()
        self._made = 0
        self._allowance = Allowance()

    def __call__(self, calls: tuple[MethodCall, ...]) -> Outcome:
        """What the last call gave; that it waits, if to try it would cost too much."""
        name = calls[-1].name
        if self._waits[name] >= _MOST_WAITS or self._allowance.is_spent_by(self._made):
            return WAITS
        self._made += 1
        before = self._tries.real_waits
        outcome = self._tries(calls)
        if outcome.waits:
            self._waits[name] += self._tries.real_waits - before
        return outcome

    def result(self, calls: tuple[MethodCall, ...]) -> object:
        """What the last call returned, as it is; ``None`` if it did not return."""
        return None if self._allowance.is_spent_by(self._made) else self._tries.result(calls)
