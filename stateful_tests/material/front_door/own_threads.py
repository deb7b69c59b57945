"""Classes with threads of their own, which do their part whenever they like: each once with a race, once right."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor


class BadStages:
    """A worker works in two stages; who looks may see one, both or none done."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._done = 0

    def start(self) -> None:
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        for _ in range(2):
            self.add()

    def add(self) -> None:
        self._done += 1

    def done(self) -> int:
        with self._lock:
            return self._done


class GoodStages(BadStages):
    def add(self) -> None:
        with self._lock:
            super().add()


class BadLease:
    """A timer ends what was taken."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_taken = False

    def _expire(self) -> None:
        if self._is_taken:
            self._is_taken = not self._is_taken

    def take(self) -> bool:
        with self._lock:
            before, self._is_taken = self._is_taken, True
        timer = threading.Timer(0, self._expire)
        timer.daemon = True
        timer.start()
        return before

    def toggle(self) -> bool:
        with self._lock:
            self._is_taken = not self._is_taken
            return self._is_taken


class GoodLease(BadLease):
    def _expire(self) -> None:
        with self._lock:
            super()._expire()


class BadBatches:
    """A worker takes away what has come in as soon as there are two items; none is lost meanwhile."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._waiting: list[int] = []
        self._sent: list[int] = []
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._changed:
                while len(self._waiting) < 2:
                    self._changed.wait()
            self._send()

    def _send(self) -> None:
        self._sent = self._sent + self._waiting
        self._waiting = []

    def add(self, item: int) -> None:
        with self._changed:
            self._waiting.append(item)
            self._changed.notify()

    def count(self) -> int:
        with self._changed:
            return len(self._waiting) + len(self._sent)


class GoodBatches(BadBatches):
    def _send(self) -> None:
        with self._changed:
            super()._send()


class GoodSquares:
    """Each caller waits until a worker has done its part."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._todo: list[int] = []
        self._known: dict[int, int] = {}
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._todo:
                    self._changed.wait()
                number = self._todo.pop(0)
            square = number * number
            with self._changed:
                self._known[number] = square
                self._changed.notify_all()

    def square(self, number: int) -> int:
        with self._changed:
            self._todo.append(number)
            self._changed.notify_all()
            while number not in self._known:
                self._changed.wait()
            return self._known[number]

    def known(self) -> int:
        with self._changed:
            return len(self._known)


class BadSquares(GoodSquares):
    def square(self, number: int) -> int:
        with self._changed:
            self._todo.append(number)
            self._changed.notify_all()
            if number not in self._known:
                self._changed.wait()
            return self._known[number]


class GoodPool:
    """An executor adds up numbers, each when it gets round to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(2)
        self._total = 0

    def _add(self, number: int) -> None:
        with self._lock:
            self._total += number

    def add(self, number: int) -> None:
        self._pool.submit(self._add, number)

    def total(self) -> int:
        with self._lock:
            return self._total


class GoodLog:
    """Lines are written later, at the latest when somebody waits for that."""

    def __init__(self) -> None:
        self._queue: queue.Queue[str] = queue.Queue()
        self._lock = threading.Lock()
        self._lines: list[str] = []
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            line = self._queue.get()
            with self._lock:
                self._lines.append(line)
            self._queue.task_done()

    def log(self, line: str) -> None:
        self._queue.put(line)

    def flush(self) -> None:
        self._queue.join()

    def lines(self) -> list[str]:
        with self._lock:
            return list(self._lines)


class GoodCleaner:
    """A thread wakes up now and then, and drops what is too old."""

    _period = 0.05

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._ends: dict[str, float] = {}
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            time.sleep(self._period)
            self._clean()

    def _clean(self) -> None:
        with self._lock:
            now = time.monotonic()
            for key in [key for key, end in self._ends.items() if end < now]:
                del self._ends[key]

    def put(self, key: str) -> None:
        with self._lock:
            self._ends[key] = time.monotonic() + 0.005

    def drop(self, key: str) -> bool:
        with self._lock:
            if key not in self._ends:
                return False
            del self._ends[key]
            return True


class BadCleaner(GoodCleaner):
    _period = 0.01

    def _clean(self) -> None:
        now = time.monotonic()
        self._ends = {key: end for key, end in self._ends.items() if end >= now}


class GoodProgress:
    """A worker counts up; no lock is needed to look at that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_started = False
        self.done = 0
        self._lines: list[int] = []

    def start(self) -> bool:
        with self._lock:
            if self._is_started:
                return False
            self._is_started = True
        threading.Thread(target=self._work, daemon=True).start()
        return True

    def _work(self) -> None:
        for part in range(2):
            self._lines.append(part)
            self.done += 1

    def lines(self) -> int:
        return len(self._lines)


class BadProgress(GoodProgress):
    """A report may count a line before the work on it counts as done."""

    def report(self) -> tuple[int, int]:
        return len(self._lines), self.done


class GoodCopy:
    """Tells how far a copy is without a lock, and how far it was when it had ended with one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._copied = 0

    def start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._copy, daemon=True)
                self._thread.start()

    def _copy(self) -> None:
        self._copied = 1
        self._copied = 2

    def copied(self) -> int:
        return self._copied

    def wait(self) -> int | None:
        with self._lock:
            if self._thread is None:
                return None
            self._thread.join()
            return self._copied


class GoodExport:
    """A call of stop() does not wait for the thread: one more row may come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_stopped = False
        self._rows = 0

    def start(self) -> None:
        threading.Thread(target=self._export, daemon=True).start()

    def _export(self) -> None:
        if not self._is_stopped:
            with self._lock:
                self._rows += 1

    def stop(self) -> None:
        self._is_stopped = True

    def rows(self) -> int:
        with self._lock:
            return self._rows


class BadExport(GoodExport):
    """stop() removes all rows; the thread may add one afterwards."""

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            self._rows = 0


class GoodRefill:
    """A thread adds a token now and then, until it is told to stop; one more may come then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens = 1
        self._is_stopped = threading.Event()
        threading.Thread(target=self._refill, daemon=True).start()

    def _refill(self) -> None:
        while not self._is_stopped.wait(0.1):
            with self._lock:
                self._tokens = min(self._tokens + 1, 2)

    def take(self) -> bool:
        with self._lock:
            self._tokens -= bool(self._tokens)
            return bool(self._tokens)

    def stop(self) -> None:
        self._is_stopped.set()


class GoodSteps:
    """A thread waits for an event. Then it counts without a lock, and anyone may look."""

    def __init__(self) -> None:
        self.done = 0
        self._is_started = threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        self._is_started.wait()
        self.done += 1
        self.done += 1

    def start(self) -> None:
        self._is_started.set()


class GoodOwner:
    """Tells which thread works for it: no two runs need agree on that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.worker: int | None = None

    def start(self) -> None:
        with self._lock:
            if self.worker is None:
                thread = threading.Thread(target=self._work, daemon=True)
                thread.start()
                self.worker = thread.ident

    def _work(self) -> None:
        with self._lock:
            pass


class GoodSums:
    """An executor adds; the caller waits for it."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(2)
        self._lock = threading.Lock()
        self._sum = 0

    def _add(self, number: int) -> None:
        with self._lock:
            self._sum += number

    def add(self, number: int) -> None:
        self._executor.submit(self._add, number).result()

    def sum(self) -> int:
        with self._lock:
            return self._sum


class BadSums(GoodSums):
    """No call returns a wrong result, but the sum that is read afterwards is too small."""

    def _add(self, number: int) -> None:
        self._sum += number


class GoodLoaded:
    """A thread sleeps, then writes two attributes, which calls read one at a time."""

    def __init__(self) -> None:
        self._value: int | None = None
        self._is_ready = False
        threading.Thread(target=self._load, daemon=True).start()

    def _load(self) -> None:
        time.sleep(0.1)
        self._value = 42
        self._is_ready = True

    def is_loaded(self) -> bool:
        return self._is_ready

    def value(self) -> int | None:
        return self._value


class GoodAlarm:
    """A timer writes two attributes, which calls read one at a time."""

    def __init__(self) -> None:
        self._is_over = False
        self._reason = ""
        timer = threading.Timer(1.0, self._end)
        timer.daemon = True
        timer.start()

    def _end(self) -> None:
        self._reason = "time"
        self._is_over = True

    def is_over(self) -> bool:
        return self._is_over

    def reason(self) -> str:
        return self._reason


class GoodPulse:
    """A thread counts now and then, until it is stopped."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._beats = 0
        self._last = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while not self._stopped.wait(0.5):
            self._beats += 1
            self._last = self._beats * 10

    def beats(self) -> int:
        return self._beats

    def last(self) -> int:
        return self._last

    def stop(self) -> None:
        self._stopped.set()


class HastyNotes:
    """Notes are written a little later: by a timer, which looks at them before it takes the lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._open = self._written = 0

    def add(self) -> None:
        with self._lock:
            self._open += 1
            if self._timer is None:
                self._timer = threading.Timer(0.05, self._write)
                self._timer.start()

    def _write(self) -> None:
        if self._open:
            self._written += self._open
            with self._lock:
                self._open = 0

    def flush(self) -> int:
        with self._lock:
            self._written += self._open
            self._open = 0
            return self._written
