"""A test that asserts how long something takes fails if time passes while its threads could go on: that is no race."""

from __future__ import annotations

from pathlib import Path

import pytest

from body_support import STARTED
from kcache_model.finding import Finding
from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.explorer.explore import ExploreOptions, explore
from kcache_stress.explorer.uncertainty import TIME_WAS_MADE
from kcache_stress.interleaved.body_laboratory import InterleavedLaboratory

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
    file = folder / "bodies.py"
    lines = body.strip().splitlines()
    file.write_text(STARTED + "\ndef body():\n" + "".join(f"    {line}\n" for line in lines), encoding="utf-8")
    options = ExploreOptions(samples=50, walk=40, executions=500, seconds=60.0, minimise_seconds=1.0)
    explored = explore(InterleavedLaboratory(f"{file}:body"), InterleavedProgram(), options)
    assert explored.finding is not None
    return explored.finding


@pytest.mark.parametrize("body", MEASURED.values(), ids=MEASURED)
def test_what_fails_as_time_passes_while_threads_can_go_on_says_so(tmp_path: Path, body: str) -> None:
    assert TIME_WAS_MADE in found(tmp_path, body).unconfirmed


@pytest.mark.parametrize("body", RACES.values(), ids=RACES)
def test_a_race_is_found_where_no_time_passes_meanwhile(tmp_path: Path, body: str) -> None:
    finding = found(tmp_path, body)
    assert not finding.unconfirmed
    assert finding.interleaving is not None
