"""Detector of objects of a cache that somebody changed in place (client-go ``mutation_detector.go``)."""

from __future__ import annotations

import contextlib
import copy
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ..errors import ObjectMutatedError
from ..interfaces import KeyFunc
from ..queues.keys import key_of
from .clock import Clock, RealClock
from .object_diff import differences
from .stopping import StopSignal

ENVIRONMENT_VARIABLE: Final = "KCACHE_MUTATION_DETECTOR"
"""Set to ``true``, it gives every informer a detector."""

_PERIOD_SECONDS: Final = 1.0
_KEPT_SECONDS: Final = 120.0


@dataclass(frozen=True)
class _Kept:
    """An object, as it was when it came."""

    obj: Any
    copied: Any
    since: float


class MutationDetector:
    """Keeps a copy of each object that comes, and compares it with the object for a while.

    Costs a deep copy per object and memory for two minutes of objects: meant for tests.

    Args:
        description: what errors call the cache.
        key_func: object -> key, for errors.
        clock: tells the time and waits.
        period_seconds: between comparisons.
        kept_seconds: for how long an object is compared.
        copy_func: makes a copy that shares nothing.
    """

    def __init__(
        self,
        description: str,
        key_func: KeyFunc[Any],
        *,
        clock: Clock | None = None,
        period_seconds: float = _PERIOD_SECONDS,
        kept_seconds: float = _KEPT_SECONDS,
        copy_func: Callable[[Any], Any] = copy.deepcopy,
    ) -> None:
        self._description = description
        self._key_func = key_func
        self._clock = clock or RealClock()
        self._period_seconds = period_seconds
        self._kept_seconds = kept_seconds
        self._copy_func = copy_func
        self._lock = threading.Lock()
        self._kept: deque[_Kept] = deque()

    def add_object(self, obj: Any) -> None:
        """Compare this object from now on."""
        kept = _Kept(obj, self._copy_func(obj), self._clock.now())
        with self._lock:
            self._kept.append(kept)

    def compare_objects(self) -> None:
        """Compare all objects with their copies, and let go of the oldest.

        Raises:
            ObjectMutatedError: one of them was changed in place.
        """
        with self._lock:
            kept = tuple(self._kept)
        for entry in kept:
            changes = differences(entry.copied, entry.obj)
            if changes:
                raise ObjectMutatedError(self._description, key_of(self._key_func, entry.copied), changes)
        oldest = self._clock.now() - self._kept_seconds
        with self._lock:
            while self._kept and self._kept[0].since < oldest:
                self._kept.popleft()

    def run(self, stop: StopSignal) -> None:
        """Compare again and again until ``stop`` is set, and once more then; then let go of all objects.

        Raises:
            ObjectMutatedError: an object was changed in place.
        """
        try:
            while not self._clock.wait(stop, self._period_seconds):
                self.compare_objects()
            self.compare_objects()
        finally:
            with self._lock:
                self._kept.clear()


@contextlib.contextmanager
def detecting(detector: MutationDetector | None, on_error: Callable[[Exception], object]) -> Iterator[None]:
    """Within the ``with`` block, and once more after it, compare objects, in a thread of their own.

    Args:
        detector: compares; ``None`` for no detection.
        on_error: is told what it raised.
    """
    if detector is None:
        yield
        return
    done = StopSignal()

    def detect() -> None:
        try:
            detector.run(done)
        except Exception as error:
            on_error(error)

    thread = threading.Thread(target=detect, name="mutation detector", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def is_detection_wanted() -> bool:
    """Whether the environment asks for detectors."""
    return os.environ.get(ENVIRONMENT_VARIABLE, "").lower() == "true"
