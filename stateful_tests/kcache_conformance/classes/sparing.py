"""Tries of calls that give up where they would cost too much: on what waits for the world outside, or is slow."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Final, Protocol

from kcache_model.object_types.method_call import MethodCall
from kcache_model.outcomes import WAITS, Outcome

_MOST_WAITS: Final = 4
"""Waits on real threads of one method, each of which takes half a second: it waits for a host, or for a keyboard."""
_MOST_SECONDS: Final = 5.0
"""Of the process itself, for the choice of values. A method without values by then gets the first ones.
"""


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
        self._ends = time.process_time() + _MOST_SECONDS

    def __call__(self, calls: tuple[MethodCall, ...]) -> Outcome:
        """What the last call gave; that it waits, if to try it would cost too much."""
        name = calls[-1].name
        if self._waits[name] >= _MOST_WAITS or time.process_time() > self._ends:
            return WAITS
        before = self._tries.real_waits
        outcome = self._tries(calls)
        if outcome.waits:
            self._waits[name] += self._tries.real_waits - before
        return outcome

    def result(self, calls: tuple[MethodCall, ...]) -> object:
        """What the last call returned, as it is; ``None`` if it did not return."""
        return None if time.process_time() > self._ends else self._tries.result(calls)
