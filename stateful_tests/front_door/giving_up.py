"""Classes with calls that look whether a lock is free, and give up at once if it is not: each faulty, and right."""

from __future__ import annotations

import threading


class GoodTry:
    """Adds an item, or says that it has not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: list[int] = []

    def _add(self, item: int) -> None:
        self._items = [*self._items, item]

    def add(self, item: int) -> None:
        with self._lock:
            self._add(item)

    def try_to_add(self, item: int) -> bool:
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._add(item)
            return True
        finally:
            self._lock.release()

    def count(self) -> int:
        with self._lock:
            return len(self._items)


class GoodRaise(GoodTry):
    """Raises an error where it has not added an item."""

    def try_to_add(self, item: int) -> bool:
        if not super().try_to_add(item):
            raise RuntimeError("busy")
        return True


class BadSilence(GoodTry):
    """Says nothing: who calls it takes it for done."""

    def try_to_add(self, item: int) -> None:  # type: ignore[override]
        super().try_to_add(item)


class BadBoast(GoodTry):
    """Says that it has added an item."""

    def try_to_add(self, item: int) -> bool:
        super().try_to_add(item)
        return True


class BadIgnorance(GoodTry):
    """Adds an item all the same."""

    def try_to_add(self, item: int) -> bool:
        is_taken = self._lock.acquire(blocking=False)
        self._add(item)
        if is_taken:
            self._lock.release()
        return is_taken


class BadRelease(GoodTry):
    """Gives back what somebody else has taken."""

    def try_to_add(self, item: int) -> bool:
        try:
            if not self._lock.acquire(blocking=False):
                return False
            self._add(item)
            return True
        finally:
            self._lock.release()


class GoodJob:
    """Runs once at a time, in a thread of its own."""

    def __init__(self) -> None:
        self._is_busy = threading.Lock()
        self._runs = 0

    def start(self) -> str:
        if not self._is_busy.acquire(blocking=False):
            return "busy"
        threading.Thread(target=self._run, daemon=True).start()
        return "started"

    def _run(self) -> None:
        self._runs += 1
        self._is_busy.release()

    def runs(self) -> int:
        with self._is_busy:
            return self._runs


class BadJob(GoodJob):
    """Counts when it is over."""

    def _run(self) -> None:
        self._is_busy.release()
        self._runs += 1
