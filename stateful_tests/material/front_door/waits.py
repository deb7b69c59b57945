"""Classes without annotations, as most are written, whose calls wait for each other, time out or sleep.

Right ones stand beside twins with a fault; which programs show it is said in ``test_waiting_classes.py``.
"""

import queue
import threading
import time


class Mailbox:
    def __init__(self):
        self._items, self._cond = [], threading.Condition()

    def put(self, item):
        with self._cond:
            self._items.append(item)
            self._cond.notify()

    def get(self):
        with self._cond:
            if not self._cond.wait_for(lambda: self._items, 3.0):
                raise TimeoutError("nothing came")
            return self._items.pop(0)


class LeakyMailbox(Mailbox):
    def get(self):
        with self._cond:
            if not self._items and not self._cond.wait(3.0):
                raise TimeoutError("nothing came")
            return self._items.pop(0) if self._items else None


class Latch:
    def __init__(self):
        self._event = threading.Event()

    def open(self):
        self._event.set()

    def wait(self):
        return self._event.wait(1.0)


class Countdown(Latch):
    def __init__(self):
        super().__init__()
        self._lock, self._left = threading.Lock(), 2

    def open(self):
        with self._lock:
            self._count_down()

    def _count_down(self):
        self._left -= 1
        if not self._left:
            self._event.set()


class TornCountdown(Countdown):
    def open(self):
        self._count_down()


class Meeting:
    def __init__(self):
        self.count, self.is_broken, self._turn = 0, False, 0
        self._cond = threading.Condition()

    def wait(self):
        with self._cond:
            if self.is_broken:
                return "broken"
            turn, self.count = self._turn, self.count + 1
            if self.count == 2:
                self.count, self._turn = 0, turn + 1
                self._cond.notify_all()
                return "met"
            self._cond.wait_for(lambda: self._turn != turn or self.is_broken)
            return "met" if self._turn != turn else "broken"

    def abort(self):
        with self._cond:
            self.is_broken = True
            self._cond.notify_all()


class DeafMeeting(Meeting):
    def abort(self):
        waiting, self.is_broken = self.count, True
        if waiting:
            with self._cond:
                self._cond.notify_all()


class Swap:
    def __init__(self):
        self._cond, self._offer = threading.Condition(), None

    def swap(self, value):
        with self._cond:
            return self._swap(value)

    def _swap(self, value):
        if self._offer is not None:
            offer, self._offer = self._offer, None
            offer.append(value)
            self._cond.notify_all()
            return offer[0]
        offer = self._offer = [value]
        if self._cond.wait_for(lambda: len(offer) == 2, 1.0):
            return offer[1]
        self._offer = None
        raise TimeoutError


class OneSidedSwap(Swap):
    def swap(self, value):
        offer = self._offer
        if offer is None:
            with self._cond:
                return self._swap(value)
        with self._cond:
            self._offer = None
            offer.append(value)
            self._cond.notify_all()
            return offer[0]


class Pool:
    def __init__(self):
        self._free, self._cond = 1, threading.Condition()

    def acquire(self):
        with self._cond:
            while not self._free:
                self._cond.wait()
            self._free -= 1
            return self._free

    def release(self):
        with self._cond:
            self._free += 1
            self._cond.notify()


class StolenPool(Pool):
    def acquire(self):
        with self._cond:
            if not self._free:
                self._cond.wait()
            self._free -= 1
            return self._free


class Lender:
    def __init__(self):
        self._lock, self._uses = threading.Lock(), 0

    def use(self):
        if not self._lock.acquire(timeout=0.05):
            return "timeout"
        self._uses += 1
        uses = self._uses
        self._lock.release()
        return uses


class CarelessLender(Lender):
    def use(self):
        if not self._lock.acquire(timeout=0.05):
            return "timeout"
        self._lock.release()
        self._uses += 1
        return self._uses


class Account(Lender):
    def use(self):
        if not self._lock.acquire(timeout=20):
            raise TimeoutError("somebody is slow")
        self._uses += 1
        uses = self._uses
        self._lock.release()
        return uses


class LeakyAccount(Account):
    def use(self):
        self._uses += 1
        if not self._lock.acquire(timeout=20):
            raise TimeoutError("somebody is slow")
        uses = self._uses
        self._lock.release()
        return uses


class DeafAccount(Account):
    def use(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        is_mine = self._lock.acquire(timeout=20)
        uses = self._uses
        self._uses = uses + 1
        if is_mine:
            self._lock.release()


class DeafAccountThatCounts(DeafAccount):
    def uses(self):
        with self._lock:
            return self._uses


class Seats:
    def __init__(self):
        self._seats, self._lock, self._free = threading.Semaphore(1), threading.Lock(), 1

    def take(self):
        if not self._seats.acquire(timeout=0.5):
            return None
        with self._lock:
            self._free -= 1
            return self._free

    def give(self):
        with self._lock:
            if self._free == 1:
                return False
            self._free += 1
        self._seats.release()
        return True


class PoliteSeats(Seats):
    def take(self):  # pyright: ignore[reportIncompatibleMethodOverride]
        return "all are taken" if (seat := super().take()) is None else seat


class Turnstile(Account):
    def __init__(self):
        super().__init__()
        self._lock = threading.Semaphore(1)


class DeafTurnstile(DeafAccountThatCounts, Turnstile):  # pyright: ignore[reportIncompatibleMethodOverride]
    pass


class Worker:
    def __init__(self):
        self._jobs, self._sum, self._lock = queue.Queue(), 0, threading.Lock()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        while True:
            number, is_done, sums = self._jobs.get()
            self._sum += number
            sums.append(self._sum)
            is_done.set()

    def add(self, number):
        is_done, sums = threading.Event(), []
        self._jobs.put((number, is_done, sums))
        if not is_done.wait(5):
            raise TimeoutError
        return sums[0]


class HastyWorker(Worker):
    def add(self, number):
        super().add(number)
        return self._sum


class Jobs:
    def __init__(self):
        self._lock, self._jobs = threading.Lock(), []

    def enter(self, delay):
        with self._lock:
            self._jobs.append(time.monotonic() + delay)

    def run(self):
        done = 0
        while True:
            with self._lock:
                if not self._jobs:
                    return done
                wait = self._jobs[0] - time.monotonic()
                if wait <= 0:
                    self._jobs.pop(0)
                    done += 1
                    continue
            time.sleep(wait)


class Bucket:
    def __init__(self):
        self._lock, self._tokens, self._filled = threading.Lock(), 2.0, time.monotonic()

    def _fill(self):
        now = time.monotonic()
        self._tokens = min(2.0, self._tokens + (now - self._filled) * 2)
        self._filled = now

    def acquire(self):
        while True:
            with self._lock:
                self._fill()
                if self._tokens >= 1:
                    self._tokens -= 1
                    return True
                wait = (1 - self._tokens) / 2
            time.sleep(wait)

    def allow(self):
        with self._lock:
            self._fill()
            return self._take()

    def _take(self):
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class TornBucket(Bucket):
    def allow(self):
        return self._take()


class Retry:
    def __init__(self):
        self._lock, self._is_busy, self._jobs = threading.Lock(), False, 0

    def _begins(self):
        with self._lock:
            return self._begins_alone()

    def _begins_alone(self):
        if self._is_busy:
            return False
        self._is_busy = True
        return True

    def job(self):
        for _ in range(3):
            if self._begins():
                break
            time.sleep(0.05)
        else:
            return "busy"
        self._jobs += 1
        jobs = self._jobs
        self._is_busy = False
        return jobs


class TornRetry(Retry):
    _begins = Retry._begins_alone


class Slow:
    def __init__(self):
        self._lock, self._count = threading.Lock(), 0

    def add(self):
        time.sleep(0.2)
        with self._lock:
            self._count += 1
            return self._count


class TornSlow(Slow):
    def add(self):
        count = self._count
        time.sleep(0.2)
        self._count = count + 1
        return self._count
