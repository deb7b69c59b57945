"""The clock passes by ticks, and moves further only for a loop that waits for it, when nothing else can go on."""

from __future__ import annotations

from pathlib import Path

from kcache_stress.runtime.threads.clock import TIME_WAS_ADVANCED
from stress.material.body_support import searched

NOTHING_EXPIRES = """
import collections

def test_entries_that_live_for_a_minute():
    work, expires, gone = collections.deque(range(50)), {}, []

    def worker():
        while work:
            try:
                key = work.popleft()
            except IndexError:
                return
            expires[key] = time.monotonic() + 60
            if expires[key] < time.monotonic():
                gone.append(key)

    started(worker, worker)
    assert not gone

def of(clock, most):
    started(int)
    begun = clock()
    for _ in range(600):
        now = clock()
    assert now - begun < most

def test_time(): of(time.time, 1)
def test_monotonic(): of(time.monotonic, 1)
def test_perf_counter(): of(time.perf_counter, 1)
def test_time_ns(): of(time.time_ns, 1_000_000_000)
def test_monotonic_ns(): of(time.monotonic_ns, 1_000_000_000)

def test_a_list_of_readings():
    started(int)
    read = []
    while len(read) < 200:
        read.append(time.monotonic())
    assert read[-1] - read[0] < 1
    assert len(set(read)) == 200

def test_a_guard_within_a_loop():
    started(int)
    deadline = time.monotonic() + 60
    for _ in range(1_000):
        assert time.monotonic() < deadline

def test_many_entries_looked_up_after_many_steps():
    lock, expires = threading.Lock(), {key: time.monotonic() + 60 for key in range(300)}

    def get(key):
        with lock:
            end = expires[key]
            return time.monotonic() < end

    def work():
        for key in range(700):
            with lock: expires[key % 300] = expires[key % 300]

    started(work, work)
    assert all([get(key) for key in expires])

def test_entries_taken_one_by_one():
    expires, gone = {key: time.monotonic() + 60 for key in range(500)}, []
    keys = collections.deque(expires)

    def work():
        while keys:
            try:
                end = expires[keys.popleft()]
            except IndexError:
                return
            if end < time.monotonic():
                gone.append(end)

    started(work, work)
    assert not gone

def test_a_lock_and_a_start_between_readings():
    lock, read = threading.Lock(), [time.monotonic()]
    for _ in range(60):
        with lock:
            read.append(time.monotonic())
    started(int)
    read.append(time.monotonic())
    assert read[-1] - read[0] < 1
"""


def test_nothing_expires_because_a_test_reads_the_clock_often(tmp_path: Path) -> None:
    for found in searched(tmp_path, NOTHING_EXPIRES, 1):
        assert (found.name, found.problem, found.seconds) == (found.name, "", 0.0)
        assert TIME_WAS_ADVANCED not in found.note


BUSY = """
def test_alone():
    def work():
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline: pass
        assert time.monotonic() - deadline < 0.01
    started(work)

def test_since():
    def work():
        begun = time.time()
        while time.time() - begun < 5: pass
        assert time.time() - begun < 5.01
    started(work)

class Timer:
    def __init__(self):
        self._end = time.monotonic_ns() + 5_000_000_000
    def has_expired(self):
        return time.monotonic_ns() >= self._end

def test_a_timer():
    timer = Timer()
    def work():
        while not timer.has_expired(): pass
    started(work, work)

def test_two():
    count, lock = [0], threading.Lock()
    def work():
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline: pass
        with lock: count[0] += 1
    started(work, work)
    assert count == [2]

def test_counting():
    def work():
        turns, deadline = 0, time.perf_counter() + 5
        while time.perf_counter() < deadline: turns += 1
    started(work)

def test_yielding():
    def work():
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline: time.sleep(0)
    started(work)

def test_working():
    done, lock = [0], threading.Lock()
    def work():
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            with lock: done[0] += 1
    started(work, work)
    assert done[0] > 10

class Watch:
    def __init__(self, seconds):
        self.begun, self.seconds = time.monotonic(), seconds
    def is_over(self):
        return time.monotonic() - self.begun > self.seconds

def test_working_with_sleeps():
    watch, lock = Watch(5), threading.Condition()
    def work():
        while not watch.is_over():
            with lock:
                lock.notify_all()
                time.sleep(0.001)
                lock.wait(0.002)
    started(*[work] * 10)
"""


def test_a_loop_that_waits_for_the_clock_ends_at_once_and_not_too_late(tmp_path: Path) -> None:
    for found in searched(tmp_path, BUSY, 20):
        assert (found.name, found.problem) == (found.name, "")
        assert (found.name, 4.9 < found.seconds < 5.1) == (found.name, True)
        assert (found.name, found.events < (10_000 if "working" in found.name else 1_000)) == (found.name, True)


IN_TIME = """
def waits(flag, late):
    deadline = time.monotonic() + 5
    while not flag:
        if time.monotonic() > deadline:
            late.append(1)
            return

def test_set_at_once():
    flag, late = [], []
    started(lambda: waits(flag, late), lambda: flag.append(1))
    assert not late

def test_set_before_the_deadline():
    flag, late = [], []
    def sets():
        time.sleep(4)
        flag.append(1)
    started(lambda: waits(flag, late), sets)
    assert not late

def test_set_with_a_lock_by_who_polls_too():
    flag, late, lock = [], [], threading.Lock()
    def sets():
        until = time.monotonic() + 3
        while time.monotonic() < until: pass
        with lock: flag.append(1)
    started(lambda: waits(flag, late), sets)
    assert not late

def test_looked_at_under_a_lock():
    flag, late, lock = [], [], threading.Lock()
    def looks():
        deadline = time.monotonic() + 5
        while True:
            with lock:
                if flag: return
            if time.monotonic() > deadline:
                late.append(1)
                return
    def sets():
        with lock: flag.append(1)
    started(looks, sets)
    assert not late

def test_the_main_thread_polls():
    flag = []
    thread = threading.Thread(target=lambda: flag.append(1))
    thread.start()
    end = time.monotonic() + 5
    while not flag and time.monotonic() < end: pass
    assert flag
"""


def test_a_deadline_does_not_pass_while_another_thread_can_still_go_on(tmp_path: Path) -> None:
    for found in searched(tmp_path, IN_TIME, 60):
        assert (found.name, found.problem) == (found.name, "")


TOO_LATE = """
def waits(flag, late):
    deadline = time.monotonic() + 5
    while not flag:
        if time.monotonic() > deadline:
            late.append(1)
            return

def test_set_after_the_deadline():
    flag, late = [], []
    def sets():
        time.sleep(6)
        flag.append(1)
    started(lambda: waits(flag, late), sets)
    assert not late

def test_never_set():
    flag, late = [], []
    started(lambda: waits(flag, late), int)
    assert not late

def test_a_race_after_the_wait():
    count = [0]
    def work():
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline: pass
        seen = count[0]
        count[0] = seen + 1
    started(work, work)
    assert count == [2]
"""


def test_what_goes_wrong_when_a_deadline_passes_is_found(tmp_path: Path) -> None:
    for found in searched(tmp_path, TOO_LATE, 2_000):
        assert (found.name, bool(found.problem), found.unseen) == (found.name, True, "")


MADE = """
class Hidden:
    __slots__ = ("deadline", "most")

def test_a_moment_that_nothing_shows():
    hidden = Hidden()
    hidden.deadline, hidden.most = time.monotonic() + 30, 30.001
    begun = time.monotonic()
    def work():
        while time.monotonic() < hidden.deadline: pass
        assert time.monotonic() - begun < hidden.most, "too late"
    started(work)

def test_many_readings_and_no_moment():
    started(int)
    keys = dict.fromkeys(range(3_000))
    expires = {}
    for key in keys:
        expires[key] = time.monotonic() + 5
        assert time.monotonic() <= expires[key]
    assert time.monotonic() < expires[0], "expired"
"""


def test_what_fails_only_because_time_was_made_to_pass_says_so(tmp_path: Path) -> None:
    for found in searched(tmp_path, MADE, 3):
        assert (found.name, bool(found.problem)) == (found.name, True)
        assert found.unseen.endswith("reads the clock again and again, so virtual time was advanced")


EPOCHS = """
class Hidden:
    __slots__ = ("deadline",)

def waits(clock, second):
    hidden, begun, in_seconds = Hidden(), clock(), int(time.time())
    hidden.deadline = begun + 30 * second
    def work():
        held = begun, in_seconds
        while clock() < hidden.deadline: pass
    started(work)
    assert clock() - begun < 40 * second

def test_seconds(): waits(time.time, 1)
def test_nanoseconds(): waits(time.time_ns, 1_000_000_000)
"""


def test_a_time_is_no_duration_that_is_added_to_a_time(tmp_path: Path) -> None:
    for found in searched(tmp_path, EPOCHS, 3):
        assert (found.name, found.problem, 29 < found.seconds < 40) == (found.name, "", True)
