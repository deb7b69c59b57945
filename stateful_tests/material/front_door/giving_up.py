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


class GoodStubborn(GoodTry):
    """Does not like to be asked for what it does not have."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(f"nobody may ask for {name}")


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


class GoodBusy:
    """A flag says that a call is under way; others are refused meanwhile, or may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_running = False
        self._runs = 0

    def _begin(self) -> None:
        with self._lock:
            if self._is_running:
                raise RuntimeError("it runs already")
            self._is_running = True

    def run(self) -> int:
        self._begin()
        try:
            self._runs += 1
            return self._runs
        finally:
            with self._lock:
                self._is_running = False

    def is_running(self) -> bool:
        return self._is_running

    def runs(self) -> int:
        return self._runs


class BadBusy(GoodBusy):
    """Two calls may find that none is under way."""

    def _begin(self) -> None:
        if self._is_running:
            raise RuntimeError("it runs already")
        self._is_running = True


class Slot:
    """Gives a slot back at the end of a block."""

    def __init__(self, slots: threading.Semaphore) -> None:
        self._slots = slots

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._slots.release()


class GoodSlots:
    """A semaphore lets one call in."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(1)
        self._lock = threading.Lock()
        self._served = 0

    def handle(self) -> None:
        if not self._slots.acquire(blocking=False):
            raise BlockingIOError
        with self._slots_given_back():
            self._served += 1

    def _slots_given_back(self) -> Slot:
        return Slot(self._slots)

    def served(self) -> int:
        return self._served


class BadSum:
    """Takes away first, and gives back if that was too much: meanwhile others see a wrong sum."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sum = 1

    def take(self, amount: int) -> bool:
        with self._lock:
            self._sum -= amount
            is_left = self._sum >= 0
        if not is_left:
            with self._lock:
                self._sum += amount
        return is_left

    def left(self) -> int:
        with self._lock:
            return self._sum


class BadTouch:
    """Takes an item out and puts it back at the end: meanwhile it is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items = {"a": 1, "b": 2}

    def touch(self, key: str) -> None:
        with self._lock:
            value = self._items.pop(key)
        with self._lock:
            self._items[key] = value

    def get(self, key: str) -> int:
        with self._lock:
            return self._items[key]
