"""Classes whose faults show in what is read after the threads, in a wait that is overtaken, or in what has expired."""

from __future__ import annotations

import functools
import threading
import time
from collections import deque


class GoodFair:
    """A semaphore that gives a permit to the caller who waits longest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._permits = 1
        self._waiters: deque[threading.Event] = deque()

    def release(self) -> None:
        with self._lock:
            if self._waiters:
                self._waiters.popleft().set()
            else:
                self._permits += 1

    @property
    def free(self) -> int:
        with self._lock:
            return self._permits

    def acquire(self, timeout: float | None = None) -> bool:
        with self._lock:
            if self._permits and not self._waiters:
                self._permits -= 1
                return True
            event = threading.Event()
            self._waiters.append(event)
        return event.wait(timeout) or self._given_up(event)

    def _given_up(self, event: threading.Event) -> bool:
        with self._lock:
            if event not in self._waiters:
                return True
            self._waiters.remove(event)
            return False


class BadFair(GoodFair):
    """A permit that comes in the moment of the timeout is lost."""

    def _given_up(self, event: threading.Event) -> bool:
        super()._given_up(event)
        return False


class GoodCatalog:
    """Each page is loaded once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loads = 0
        self._page = functools.lru_cache(maxsize=None)(self._load)

    def _load(self, name: str) -> str:
        self._loads += 1
        return f"page {name}"

    def get(self, name: str) -> str:
        with self._lock:
            return self._page(name)

    @property
    def loads(self) -> int:
        with self._lock:
            return self._loads


class BadCatalog(GoodCatalog):
    """Two threads that miss a page both load it."""

    def get(self, name: str) -> str:
        return self._page(name)


class GoodTally:
    """A sum with an operator."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sum = 0

    def __iadd__(self, number: int) -> GoodTally:
        with self._lock:
            self._sum += number
        return self

    def __bool__(self) -> bool:
        with self._lock:
            return self._sum != 0

    def sum(self) -> int:
        with self._lock:
            return self._sum


class BadTally(GoodTally):
    def __iadd__(self, number: int) -> GoodTally:
        self._sum += number
        return self


class GoodRegister:
    """Bits, used with operators alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bits = 1

    def __lshift__(self, places: int) -> int:
        with self._lock:
            self._bits <<= places
            return self._bits

    def __or__(self, bits: object) -> int:
        if not isinstance(bits, int):
            return NotImplemented
        with self._lock:
            self._bits |= bits
            return self._bits

    def __int__(self) -> int:
        with self._lock:
            return self._bits


class BadRegister(GoodRegister):
    def __lshift__(self, places: int) -> int:
        shifted = self._bits << places
        self._bits = shifted
        return self._bits


class GoodTurns:
    """take() returns when it is the caller's turn; it asks again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0
        self._now = 0

    def take(self) -> None:
        with self._lock:
            turn = self._taken
            self._taken += 1
        while self._now < turn:
            time.sleep(0.01)

    def give(self) -> None:
        with self._lock:
            self._now += 1


class BadTurns(GoodTurns):
    """Two callers may get the same turn."""

    def take(self) -> None:
        turn = self._taken
        self._taken = turn + 1
        while self._now < turn:
            time.sleep(0.01)


class GoodTray:
    """There is one cup at first: of two who take one, the second one waits for ever."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._cups = [1]

    def put(self, cup: int) -> None:
        with self._changed:
            self._cups.append(cup)
            self._changed.notify()

    def take(self) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._cups)
            return self._cups.pop()


class BadTray(GoodTray):
    """Both find the cup."""

    def take(self) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._cups)
        return self._cups.pop()


class GoodMailbox:
    """take() waits for a letter, and raises TimeoutError if none comes in time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._letters: deque[str] = deque()

    def put(self, letter: str) -> None:
        with self._changed:
            self._letters.append(letter)
            self._changed.notify()

    def take(self, timeout: float | None = None) -> str:
        with self._changed:
            if not self._changed.wait_for(lambda: self._letters, timeout):
                raise TimeoutError("no letter")
            return self._letters.popleft()

    def __len__(self) -> int:
        with self._changed:
            return len(self._letters)


class BadMailbox(GoodMailbox):
    """The letter for which take() was woken may be gone: ``if`` instead of ``while``."""

    def take(self, timeout: float | None = None) -> str:
        with self._changed:
            if not self._letters and not self._changed.wait(timeout):
                raise TimeoutError("no letter")
            return self._letters.popleft()


class GoodExpiring:
    """A cache whose entries live until its clock has ticked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 0
        self._entries: dict[str, tuple[int, int]] = {}

    def tick(self) -> None:
        with self._lock:
            self._now += 1

    def __setitem__(self, key: str, value: int) -> None:
        with self._lock:
            self._entries[key] = (value, self._now + 1)

    def __getitem__(self, key: str) -> int:
        with self._lock:
            value, end = self._entries[key]
            if end <= self._now:
                del self._entries[key]
                raise KeyError(key)
            return value

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)


class BadExpiring(GoodExpiring):
    """The entry that is dropped may be a newer one than the one that has expired."""

    def __getitem__(self, key: str) -> int:
        with self._lock:
            value, end = self._entries[key]
            is_over = end <= self._now
        if is_over:
            with self._lock:
                self._entries.pop(key, None)
            raise KeyError(key)
        return value


class GoodFactory:
    """Its property and its method return the same object each time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tally: GoodTally | None = None
        self._uses = 0

    @property
    def tally(self) -> GoodTally:
        with self._lock:
            self._tally = self._tally or GoodTally()
            return self._tally

    def shared(self) -> GoodTally:
        return self.tally

    def use(self) -> None:
        with self._lock:
            self._uses += 1

    def uses(self) -> int:
        with self._lock:
            return self._uses


class GoodPermits:
    """A semaphore with two permits: a call that takes one returns the same value again, until there are none."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._free = 2

    def acquire(self) -> bool:
        with self._changed:
            while not self._free:
                self._changed.wait()
            self._free -= 1
            return True

    def release(self) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify()


class BadPermits(GoodPermits):
    """Nobody tells a waiting thread that a permit is free again."""

    def release(self) -> None:
        with self._changed:
            self._free += 1


class GoodVotes:
    """Votes; the ranking is a new list each time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._votes: dict[str, int] = {}

    def add(self, name: str) -> None:
        with self._lock:
            self._votes[name] = self._votes.get(name, 0) + 1

    def ranking(self) -> list[tuple[str, int]]:
        with self._lock:
            return sorted(self._votes.items())


class BadVotes(GoodVotes):
    """A vote is lost."""

    def add(self, name: str) -> None:
        self._votes[name] = self._votes.get(name, 0) + 1
