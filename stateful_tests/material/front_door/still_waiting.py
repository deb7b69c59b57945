"""Classes in whose small programs a call may wait forever, as most are written, beside twins that lose a wake-up.

The twins show it only in programs in which another order of the calls waits forever, too.
"""

import asyncio
import contextlib
import threading
import time


class ReadersAndWriters:
    """A lock for readers and writers; a waiting writer holds up new readers."""

    def __init__(self):
        self._changed = threading.Condition()
        self._readers, self._is_written, self._waiting_writers = 0, False, 0

    def begin_read(self):
        with self._changed:
            while self._is_written or self._waiting_writers:
                self._changed.wait()
            self._readers += 1

    def begin_write(self):
        with self._changed:
            self._waiting_writers += 1
            while self._is_written or self._readers:
                self._changed.wait()
            self._waiting_writers -= 1
            self._is_written = True

    def end_write(self):
        with self._changed:
            self._is_written = False
            self._wake()

    def _wake(self):
        self._changed.notify_all()


class DeafWriters(ReadersAndWriters):
    """A reader that waits for the writers before it gets the wake-up of one of them."""

    def _wake(self):
        self._changed.notify()


class Slot:
    """A place for one item."""

    def __init__(self):
        self._changed = threading.Condition()
        self._items = []

    def put(self, item):
        with self._changed:
            while self._items:
                self._changed.wait()
            self._items.append(item)
            self._wake()

    def get(self):
        with self._changed:
            while not self._items:
                self._changed.wait()
            item = self._items.pop()
            self._wake()
            return item

    def _wake(self):
        self._changed.notify_all()


class DeafSlot(Slot):
    """A reader may wake another reader, while a writer waits for the place."""

    def _wake(self):
        self._changed.notify()


class MuteSlot(Slot):
    """No call wakes another one."""

    def _wake(self):
        pass


class Gate:
    """A gate that can be closed again: who waits while it is opened and closed at once may miss it."""

    def __init__(self):
        self._changed, self._is_open = threading.Condition(), False

    def open(self):
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def close(self):
        with self._changed:
            self._is_open = False

    def wait(self):
        with self._changed:
            while not self._is_open:
                self._changed.wait()


class Polled:
    """A mailbox whose readers look again and again."""

    def __init__(self):
        self._lock, self._items = threading.Lock(), []

    def put(self, item):
        with self._lock:
            self._items = [*self._items, item]

    def get(self):
        while True:
            with self._lock:
                if self._items:
                    return self._items.pop(0)
            time.sleep(0.01)


class LeakyPolled(Polled):
    """Of two items that are put at once, one is lost: who waits for it looks forever."""

    def put(self, item):
        items = self._items
        self._items = [*items, item]


class Counted(Polled):
    """A mailbox that counts how often its readers look: such a loop has an effect."""

    looks = 0

    def get(self):
        while True:
            with self._lock:
                self.looks += 1
                if self._items:
                    return self._items.pop(0)
            time.sleep(0.01)


class LeakyCounted(Counted):
    """As ``LeakyPolled``."""

    put = LeakyPolled.put


class BusyPut:
    """A mailbox whose put gives up if the lock is busy: then a reader waits rightly."""

    def __init__(self):
        self._changed, self._items = threading.Condition(), []

    def _take_lock(self):
        return self._changed.acquire(blocking=False)

    def put(self, item):
        if not self._take_lock():
            return False
        self._items.append(item)
        self._changed.notify()
        self._changed.release()
        return True

    def get(self):
        with self._changed:
            while not self._items:
                self._changed.wait()
            return self._items.pop(0)


class RaisingPut(BusyPut):
    """As ``BusyPut``; its put raises an exception instead."""

    def _take_lock(self):
        if not self._changed.acquire(blocking=False):
            raise RuntimeError("busy")
        return True


class PatientPut(BusyPut):
    """As ``BusyPut``; its put waits for a while."""

    def _take_lock(self):
        return self._changed.acquire(timeout=0.5)


class Telling:
    """A mailbox whose put tells how many wait."""

    def __init__(self):
        self._changed, self._items, self._waiting = threading.Condition(), [], 0

    def put(self, item):
        with self._changed:
            self._items.append(item)
            self._wake()
            return self._waiting

    def get(self):
        with self._changed:
            self._waiting += 1
            while not self._items:
                self._changed.wait()
            self._waiting -= 1
            return self._items.pop(0)

    def _wake(self):
        self._changed.notify()


class DeafTelling(Telling):
    """A put wakes no reader."""

    def _wake(self):
        pass


class Channel:
    """A mailbox that can be closed: who reads then gets an exception."""

    def __init__(self):
        self._changed, self._is_closed = threading.Condition(), False

    def close(self):
        with self._changed:
            self._is_closed = True
            self._wake()

    def _wake(self):
        self._changed.notify_all()

    def get(self):
        with self._changed:
            while not self._is_closed:
                self._changed.wait()
            raise EOFError


class DeafChannel(Channel):
    """Of two readers, its close wakes one."""

    def _wake(self):
        self._changed.notify()


class Slots:
    """A queue for a few items; ``_wait`` checks again after each wake-up."""

    def __init__(self, size):
        self._size, self._items, self._changed = size, [], threading.Condition()

    def _wait(self, may_go_on):
        while not may_go_on():
            self._changed.wait()

    def put(self, item):
        with self._changed:
            self._wait(lambda: len(self._items) < self._size)
            self._items.append(item)
            self._changed.notify_all()

    def get(self):
        with self._changed:
            self._wait(lambda: self._items)
            item = self._items.pop(0)
            self._changed.notify_all()
            return item


class TornSlots(Slots):
    """It does not check again."""

    def _wait(self, may_go_on):
        if not may_go_on():
            self._changed.wait()


class Loans:
    """A pool whose connections are lent for a block."""

    def __init__(self, size):
        self._size, self._idle, self._opened, self._changed = size, [], 0, threading.Condition()

    def _wait(self):
        while not self._idle and self._opened == self._size:
            self._changed.wait()

    @contextlib.contextmanager
    def connection(self):
        with self._changed:
            self._wait()
            if not self._idle:
                self._opened += 1
                self._idle.append(self._opened)
            number = self._idle.pop()
        try:
            yield number
        finally:
            with self._changed:
                self._idle.append(number)
                self._changed.notify()


class TornLoans(Loans):
    """A call that was woken does not check again."""

    def _wait(self):
        if not self._idle and self._opened >= self._size:
            self._changed.wait()


class Recent:
    """A cache for a few values that drops the oldest."""

    def __init__(self, size):
        self._size, self._values, self._lock = size, {}, threading.Lock()

    def set(self, key, value):
        with self._lock:
            self._values[key] = value
            self._drop()

    def _drop(self):
        while len(self._values) > self._size:
            del self._values[next(iter(self._values))]

    def get(self, key):
        with self._lock:
            return self._values.get(key)

    def __len__(self):
        with self._lock:
            return len(self._values)


class TornRecent(Recent):
    """It drops the oldest after it has released the lock."""

    def set(self, key, value):
        with self._lock:
            self._values[key] = value
        with self._lock:
            self._drop()


class AsyncSlots:
    """Two slots of a semaphore, as asyncio programs write it; who is cancelled leaves the queue."""

    def __init__(self):
        self._free, self._queue = 1, []

    async def acquire(self):
        while not self._free:
            turn = asyncio.get_running_loop().create_future()
            self._queue.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._leave(turn)
                raise
            finally:
                if turn in self._queue:
                    self._queue.remove(turn)
        self._free -= 1

    def _leave(self, turn):
        if turn.done() and not turn.cancelled():
            self._wake_one()

    async def release(self):
        self._free += 1
        self._wake_one()

    def _wake_one(self):
        for turn in self._queue:
            if not turn.done():
                turn.set_result(None)
                return


class LeakyAsyncSlots(AsyncSlots):
    """A call that is cancelled after its wake-up does not pass the wake-up on."""

    def _leave(self, turn):
        pass
