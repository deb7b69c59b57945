"""A test that asserts how long something takes fails if time passes while its threads could go on: that is no race."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kcache_model.finding import Finding
from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.modules.uncertainty import TIME_WAS_ADVANCED
from kcache_stress.strategies.single_preemption import SinglePreemption
from kcache_stress.strategies.time_slices import TimeSlices
from kcache_stress.target.explore import Explored, ExploreOptions, explore
from stress.material.body_support import STARTED, Searched, searched

MEASURED = {
    "a lock is free at once": """
slow, lock = [], threading.Lock()
def work(seconds):
    for _ in range(3):
        began = time.time()
        with lock: pass
        if time.time() - began > 0.01: slow.append(began)
        time.sleep(seconds)
started(lambda: work(0.02), lambda: work(0.05))
assert not slow
""",
    "threads sleep at the same time": """
began = time.monotonic()
def work():
    for _ in range(3): time.sleep(0.02)
started(work, work, work)
assert time.monotonic() - began < 0.1
""",
    "one wakes before the other": """
woken = []
def work(seconds):
    time.sleep(seconds)
    woken.append(time.monotonic())
started(lambda: work(0.02), lambda: work(0.04))
assert max(woken) - min(woken) > 0.01
""",
}

RACES = {
    "a cache makes its value twice": """
class Cache:
    def __init__(self): self.made, self.at = 0, None
    def get(self):
        now = time.monotonic()
        if self.at is None or now - self.at > 60:
            self.made = self.made + 1
            self.at = time.monotonic()
cache = Cache()
def work():
    for _ in range(2):
        time.sleep(0.01)
        cache.get()
started(work, work)
assert cache.made == 1
""",
    "an update is lost among times that are measured": """
count, slow = [0], []
def work():
    for _ in range(3):
        began, seen = time.time(), count[0]
        count[0] = seen + 1
        if time.time() - began > 0.01: slow.append(began)
        time.sleep(0.02)
started(work, work)
assert count == [6] and not slow
""",
    "threads sleep for different times and read the clock": """
count, read = [0], []
def work(seconds):
    time.sleep(seconds)
    seen = count[0]
    read.append(time.time())
    count[0] = seen + 1
started(lambda: work(0.01), lambda: work(0.03))
assert count == [2]
""",
    "nobody reads the clock": """
count = [0]
def work():
    time.sleep(0.01)
    seen = count[0]
    count[0] = seen + 1
    time.sleep(0.02)
started(work, work)
assert count == [2]
""",
}


def found(folder: Path, body: str) -> Finding:
    finding = explored(folder, body).finding
    assert finding is not None
    return finding


def explored(folder: Path, body: str) -> Explored:
    file = folder / "bodies.py"
    lines = body.strip().splitlines()
    file.write_text(STARTED + "\ndef body():\n" + "".join(f"    {line}\n" for line in lines), encoding="utf-8")
    options = ExploreOptions(samples=30, walk=20, executions=30, seconds=60.0, minimise_seconds=1.0)
    return explore(BodyExplorationTarget(f"{file}:body"), InterleavedProgram(), options)


ASKING = """
stop, count, lock = threading.Event(), [0], threading.Lock()
def work():
    while not stop.is_set():
        {asks}
    {counts}
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
time.sleep(1)
stop.set()
for thread in threads: thread.join()
assert count == [2]
"""
WORKING = """
def test_body():
    lock, stop, count, counts = threading.Lock(), [], [0], []
    def work():
        done = 0
        while not stop:
            {adds}
            done += 1
        counts.append(done)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    time.sleep(0.05)
    stop.append(1)
    for thread in threads: thread.join()
    assert count == [sum(counts)]
"""
READING = """
done, items = [], list(range(3_000))
thread = threading.Thread(target=lambda: done.append(sum([item for item in items])))
thread.start()
time.sleep(0.1)
assert done
thread.join()
"""


@pytest.mark.parametrize("body", MEASURED.values(), ids=MEASURED)
def test_what_fails_as_time_passes_while_threads_can_go_on_says_so(tmp_path: Path, body: str) -> None:
    assert TIME_WAS_ADVANCED in found(tmp_path, body).unconfirmed


@pytest.mark.parametrize("body", RACES.values(), ids=RACES)
def test_a_race_is_found_where_no_time_passes_meanwhile(tmp_path: Path, body: str) -> None:
    finding = found(tmp_path, body)
    assert not finding.unconfirmed
    assert finding.interleaving is not None


@pytest.mark.parametrize("asks", ["pass", "with lock: pass"])
def test_time_passes_while_threads_do_nothing_but_ask_whether_it_has(tmp_path: Path, asks: str) -> None:
    def shown(counts: str) -> Searched:
        body = textwrap.indent(ASKING.format(asks=asks, counts=counts), "    ")
        (result,) = searched(tmp_path, f"\ndef test_body():\n{body}", 40, SinglePreemption)
        return result

    assert "count = [1]" in shown("seen = count[0]; count[0] = seen + 1").problem
    right = shown("with lock: count[0] += 1")
    assert (right.problem, right.seconds) == ("", 1.0)


def test_time_does_not_pass_while_a_loop_reads_what_it_needs(tmp_path: Path) -> None:
    assert explored(tmp_path, READING).finding is None


class Slices(TimeSlices):
    def __init__(self) -> None:
        super().__init__(0)


def test_a_thread_that_sleeps_wakes_while_others_work_without_end(tmp_path: Path) -> None:
    (wrong,) = searched(tmp_path, WORKING.format(adds="seen = count[0]; count[0] = seen + 1"), 4, Slices)
    assert "count = " in wrong.problem
    (right,) = searched(tmp_path, WORKING.format(adds="with lock: count[0] += 1"), 4, Slices)
    assert (right.problem, right.executions, right.seconds) == ("", 4, 0.05)
    assert right.events > 5_000
