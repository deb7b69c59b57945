"""Classes that count the calls under way, and classes whose objects share a counter, with faulty twins."""

from __future__ import annotations

import threading
from collections.abc import Callable


class GoodGate:
    """Runs at most two jobs at a time, and refuses others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0

    def run(self, job: Callable[[], object]) -> object:
        with self._lock:
            if self._running >= 2:
                raise RuntimeError("busy")
            self._running += 1
        try:
            return job()
        finally:
            with self._lock:
                self._running -= 1


class BadGate(GoodGate):
    """Looks and counts in two steps; ``most`` tells of it."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0

    def run(self, job: Callable[[], object]) -> object:
        with self._lock:
            is_full = self._running >= 1
        if is_full:
            raise RuntimeError("busy")
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        try:
            return job()
        finally:
            with self._lock:
                self._running -= 1


class GoodGauge:
    """Tells how many jobs run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.in_flight = 0

    def run(self, job: Callable[[], object]) -> object:
        self._add(1)
        try:
            return job()
        finally:
            self._add(-1)

    def _add(self, number: int) -> None:
        with self._lock:
            self.in_flight += number


class BadGauge(GoodGauge):
    """Loses a count."""

    def _add(self, number: int) -> None:
        self.in_flight += number


class GoodNumbers:
    """Numbers that are unique among all objects of the class."""

    _last = 0
    _lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            return self._following()

    def _following(self) -> int:
        kind = type(self)
        kind._last += 1
        return kind._last

    def fork(self) -> GoodNumbers:
        return type(self)()


class BadNumbers(GoodNumbers):
    """Each object has a lock of its own."""

    _last = 0
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._own = threading.Lock()

    def next(self) -> int:
        with self._own:
            return self._following()


_OF_TICKETS = threading.Lock()


class GoodTickets:
    """Numbers that are unique among all objects of the class, which a lock of the module guards."""

    _last = 0

    def next(self) -> int:
        with _OF_TICKETS:
            GoodTickets._last += 1
            return GoodTickets._last

    def fork(self) -> GoodTickets:
        return GoodTickets()


class BadTickets:
    """Each object has a lock of its own."""

    _last = 0

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            BadTickets._last += 1
            return BadTickets._last

    def fork(self) -> BadTickets:
        self.next()
        return BadTickets()


class GoodLookups:
    """Its length is counted, too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked = 0

    def ask(self) -> None:
        with self._lock:
            self.asked += 1

    def __len__(self) -> int:
        with self._lock:
            self.asked += 1
            return 3


class BadLookups(GoodLookups):
    def ask(self) -> None:
        asked = self.asked
        self.asked = asked + 1


class GoodRecent:
    """Two keys. A key that was put or looked up is the latest one; a third key replaces the earlier one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: list[str] = []

    def put(self, key: str) -> list[str]:
        with self._lock:
            self._keys = [*(one for one in self._keys if one != key), key][-2:]
            return self._keys

    def __contains__(self, key: str) -> bool:
        with self._lock:
            if key in self._keys:
                self._keys = [*(one for one in self._keys if one != key), key]
                return True
            return False
