"""Detector of cached objects that are changed in place (client-go ``mutation_detector.go``)."""

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
"""If this environment variable is ``true``, every informer has a detector."""

_PERIOD_SECONDS: Final = 1.0
_KEPT_SECONDS: Final = 120.0


@dataclass(frozen=True)
class _Kept:
    """An object, a copy of it, and the time when it was added."""

    obj: Any
    copied: Any
    since: float


class MutationDetector:
    """Copies each added object, and compares the copy with the object for a while.

    It costs a deep copy per object, and memory for two minutes of objects: use it in tests.

    Args:
        description: the name of the cache in errors.
        key_func: object -> key, for errors.
        clock: the source of the time, and of waits.
        period_seconds: the time between comparisons.
        kept_seconds: the time for which an object is compared.
        copy_func: returns a copy that shares nothing with the object.
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
        """Compare all objects with their copies, and drop those added more than ``kept_seconds`` ago.

        Raises:
            ObjectMutatedError: an object was changed in place.
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
        """Compare periodically until ``stop`` is set, then once more; finally drop all objects.

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
    """Compare objects in a separate thread during the ``with`` block, and once at its end.

    Args:
        detector: the detector; ``None`` for no detection.
        on_error: is called with the error that the detector raised.
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
