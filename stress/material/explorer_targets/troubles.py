# ruff: noqa: D102, ARG002
"""Threads that end badly, or never: each class has one method for each thread, and what they share."""

import threading
import time


class Trouble:
    """Any of the classes below."""

    threads = 2

    def run(self, number):
        """What thread ``number`` does."""
        raise NotImplementedError


class Crossing(Trouble):
    """Two locks in two orders."""

    def __init__(self):
        self.locks = threading.Lock(), threading.RLock()

    def run(self, number):
        with self.locks[number], self.locks[1 - number]:
            pass


class Unnotified(Trouble):
    """A wait without a notification."""

    threads = 1

    def __init__(self):
        self.condition = threading.Condition()

    def run(self, number):
        with self.condition:
            self.condition.wait()


class Joining(Trouble):
    """Waits for a thread that waits for a lock of the first one."""

    threads = 1

    def __init__(self):
        self.lock = threading.Lock()

    def run(self, number):
        with self.lock:
            thread = threading.Thread(target=self.lock.acquire)
            thread.start()
            thread.join()


class LeftWaiting(Trouble):
    """Starts threads that wait for ever, and ends."""

    threads = 1
    daemon = True

    def __init__(self):
        self.event = threading.Event()

    def run(self, number):
        threading.Thread(target=self.event.wait, daemon=self.daemon).start()


class LeftWaitingInTheForeground(LeftWaiting):
    """The same; a real process would not end."""

    daemon = False


class Stubborn(Trouble):
    """Takes a lock that is never free, and swallows whatever that raises."""

    def __init__(self):
        self.lock = threading.Lock()
        self.attempts = 0

    def run(self, number):
        while True:
            try:
                self.lock.acquire()
            except BaseException:
                self.attempts += 1


class CleaningUp(Trouble):
    """Takes its time to clean up when it is unwound."""

    def __init__(self):
        self.lock = threading.Lock()
        self.cleaned = 0

    def run(self, number):
        try:
            self.lock.acquire()
            self.lock.acquire()
        finally:
            with threading.Lock():
                for _ in range(10):
                    self.cleaned += 1


class Bottomless(Trouble):
    """Calls itself for ever."""

    def __init__(self):
        self.depth = 0

    def run(self, number):
        self.fall()

    def fall(self):
        """Deeper and deeper."""
        self.depth += 1
        self.fall()


class BottomlessThread(Bottomless):
    """The same, in a thread of its own."""

    threads = 1

    def run(self, number):
        thread = threading.Thread(target=self.fall)
        thread.start()
        thread.join()


class DeepThenThreads(Trouble):
    """Starts threads from deep down: none of them is to have fewer frames left because of that, the next time."""

    threads = 1

    def __init__(self):
        self.depths = []

    def run(self, number):
        self.dive(400)

    def dive(self, levels):
        """Start threads at the bottom."""
        if levels:
            self.dive(levels - 1)
            return
        threads = [threading.Thread(target=self.measure) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def measure(self):
        """How deep a thread can go."""
        self.depths.append(self.count())

    def count(self, depth=0):
        """Go to the bottom."""
        try:
            return self.count(depth + 1)
        except RecursionError:
            return depth


class Spinning(Trouble):
    """Waits for a flag that nobody raises, and looks at it all the time."""

    threads = 1

    def __init__(self):
        self.flag = False

    def raise_flag(self):
        """Makes the flag something that is written."""
        self.flag = True

    def run(self, number):
        while not self.flag:
            pass


class SpinningUntilTheOtherComes(Spinning):
    """The same, but somebody raises it."""

    threads = 2

    def run(self, number):
        if number:
            self.raise_flag()
        else:
            super().run(number)


class Polling(Spinning):
    """The same, with a nap between two looks."""

    def run(self, number):
        while not self.flag:
            time.sleep(1)


class Napping(Spinning):
    """The same, with a nap in a function of its own, which might do anything."""

    def run(self, number):
        while not self.flag:
            self.nap()

    def nap(self):
        time.sleep(1)


class Dying(Trouble):
    """A thread of its own ends with an exception."""

    threads = 1

    def run(self, number):
        thread = threading.Thread(target={}.__getitem__, args=("missing",))
        thread.start()
        thread.join()


class DyingBare(Trouble):
    """The same, without the class of ``threading``."""

    threads = 1

    def run(self, number):
        import _thread

        gate = threading.Lock()
        gate.acquire()

        def die():
            try:
                raise KeyError("missing")
            finally:
                gate.release()

        _thread.start_new_thread(die, ())
        gate.acquire()


class Leaving(Trouble):
    """Ends with SystemExit, itself and a thread of its own."""

    threads = 1

    def run(self, number):
        thread = threading.Thread(target=exit)
        thread.start()
        thread.join()
        raise SystemExit


class Sleepers(Trouble):
    """Each naps for a time of its own, and notes when it wakes."""

    def __init__(self):
        self.woken = [0.0, 0.0]

    def run(self, number):
        time.sleep(number + 1)
        self.woken[number] = round(time.monotonic(), 3)


class Impatient(Trouble):
    """Waits a second for a lock that its owner gives back at once, or after two seconds."""

    nap = 0

    def __init__(self):
        self.lock = threading.Lock()
        self.seen = []

    def run(self, number):
        if number:
            got = self.lock.acquire(timeout=1)
            self.seen.append((got, round(time.monotonic(), 3)))
        else:
            with self.lock:
                if self.nap:
                    time.sleep(self.nap)


class Named(Trouble):
    """Threads without a name get one; a set of threads has an order."""

    threads = 1

    def __init__(self):
        self.seen = []

    def run(self, number):
        threads = {threading.Thread(target=self.look) for _ in range(6)}
        for thread in threads:
            thread.start()
            thread.join()

    def look(self):
        self.seen.append((threading.current_thread().name, threading.get_ident()))


class Counted(threading.local):
    """Thread-local data; the class says how often it was made."""

    made = []  # noqa: RUF012

    def __init__(self):
        self.made.append(1)
        self.x = 0


PLAIN = threading.local()
COUNTED = Counted()


class LookingAtAModule(Trouble):
    """Thread-local data that outlives executions."""

    def run(self, number):
        COUNTED.x += 1
        return COUNTED.x, hasattr(PLAIN, "x"), setattr(PLAIN, "x", 1)
