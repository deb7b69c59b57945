"""A correct test, for ``--reference``: a counter with a lock loses nothing."""

from __future__ import annotations

import threading

from kcache_stress.interleaved.running import run


class Counter:
    """A counter with a lock."""

    def __init__(self) -> None:
        self.value = 0
        self._lock = threading.Lock()

    def add(self, amount: int) -> None:
        """Add ``amount`` to the value."""
        with self._lock:
            self.value += amount


def nothing_is_lost() -> None:
    """Check that both additions count."""
    counter = Counter()
    run(lambda: counter.add(1), lambda: counter.add(2))
    assert counter.value == 3
