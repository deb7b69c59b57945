"""State hashing reads the frames of paused threads: it agrees with naive enumeration, or says what it cannot see."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kcache_model.indexers.items import Semantics
from kcache_model.indexers.program import Program
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.search import SearchLimits, SearchResult, search
from kcache_stress.explorer.strategies.interface import Coverage
from kcache_stress.explorer.strategies.naive import Naive
from kcache_stress.explorer.strategies.state_hashing import StateHashing
from kcache_stress.indexers.program_judge import ProgramJudge
from kcache_stress.indexers.program_runner import ProgramRunner
from kcache_stress.indexers.programs.random_programs import ExplorerShape, explorer_program
from kcache_stress.indexers.subject import Subject, load_subject

TARGETS = Path(__file__).parents[1] / "examples" / "targets"
SHAPE = ExplorerShape(threads=(2, 3), operations=(1, 2), prefix=2)

HEAD = """
import contextlib
import threading
from textbook import TextbookIndexer

class Indexer(TextbookIndexer):
    def __init__(self, *given):
        super().__init__(*given)
        self._gate = threading.Lock()
        self._other = threading.Lock()
        self._changed = threading.Condition(threading.Lock())
        self._turns = threading.Semaphore(1)
        self._busy = 0

    def _locked_get(self, key):
        with self._lock:
            return self._items.get(key)

    def _locked_key(self, key):
        with self._other:
            return key
{body}

def new_indexer(key_func, indexers, semantics="classic"):
    return Indexer(key_func, indexers, semantics)
"""

BODIES = {
    "one by one in a loop": """
    def list_objects(self):
        with self._lock:
            keys = list(self._items)
        found = []
        for key in keys:
            obj = self._locked_get(key)
            if obj is not None:
                found.append(obj)
        return found
    list = list_objects
""",
    "one by one in a comprehension": """
    def list_objects(self):
        with self._lock:
            keys = list(self._items)
        return [obj for obj in [self._locked_get(key) for key in keys] if obj is not None]
    list = list_objects
""",
    "two comprehensions, one in the other": """
    def list_objects(self):
        with self._lock:
            keys = list(self._items)
        return [obj for part in [[self._locked_get(key)] for key in keys] for obj in part if obj is not None]
    list = list_objects
""",
    "a comprehension within the lock": """
    def list_keys(self):
        with self._lock:
            return [self._locked_key(key) for key in list(self._items)]
""",
    "a dict comprehension and a set": """
    def list_keys(self):
        with self._lock:
            names = {self._locked_key(key) for key in list(self._items)}
        found = {key: self._locked_get(key) for key in names}
        return [key for key, obj in found.items() if obj is not None]
""",
    "a loop over a dict of its own": """
    def list_objects(self):
        with self._lock:
            items = dict(self._items)
        return [obj for key, obj in items.items() if self._locked_get(key) is not None]
    list = list_objects
""",
    "a generator": """
    def _each(self, keys):
        for key in keys:
            obj = self._locked_get(key)
            if obj is not None:
                yield obj

    def list_objects(self):
        with self._lock:
            keys = list(self._items)
        found = []
        for obj in self._each(keys):
            found.append(obj)
        return found
    list = list_objects
""",
    "a stack of contexts": """
    def list_keys(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._gate)
            stack.enter_context(self._lock)
            found = list(self._items)
        with self._lock:
            return [key for key in found if key in self._items] + [key for key in self._items if key not in found]
""",
    "an exception on its way out": """
    def get_by_key(self, key):
        try:
            with self._lock:
                if key not in self._items:
                    raise KeyError(key)
        except KeyError:
            with self._lock:
                return self._items.get(key)
        with self._lock:
            return self._items.get(key)
""",
    "trying a lock": """
    def list_keys(self):
        if not self._gate.acquire(blocking=False):
            return []
        try:
            with self._lock:
                return list(self._items)
        finally:
            self._gate.release()
""",
    "asking a lock": """
    def list_keys(self):
        if self._lock.locked() if hasattr(self._lock, "locked") else self._gate.locked():
            return []
        with self._gate:
            with self._lock:
                return list(self._items)
""",
    "a semaphore": """
    def list_keys(self):
        with self._turns:
            with self._lock:
                found = list(self._items)
        with self._turns, self._lock:
            return found if len(found) > 1 else list(self._items)
""",
    "waiting for a condition": """
    def list_keys(self):
        with self._changed:
            while self._busy:
                self._changed.wait()
            self._busy += 1
        try:
            with self._lock:
                return list(self._items)
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()
""",
    "a lock that others give back": """
    def list_keys(self):
        self._gate.acquire()
        if not self._gate.locked():
            return []
        try:
            with self._lock:
                return list(self._items)
        finally:
            if self._gate.locked():
                self._gate.release()
""",
    "a function in a function": """
    def list_objects(self):
        found = []
        def add(key):
            obj = self._locked_get(key)
            if obj is not None:
                found.append(obj)
        with self._lock:
            keys = list(self._items)
        for key in keys:
            add(key)
        return found
    list = list_objects
""",
}

OUT_OF_SIGHT = {
    "a key function": """
    def list_keys(self):
        with self._lock:
            return sorted(self._items, key=self._locked_key)
""",
    "an operand": """
    def list_keys(self):
        with self._lock:
            count = len(self._items) + len(self._locked_key("abc"))
        with self._lock:
            return list(self._items) if count >= 3 else []
""",
    "a shared variable": """
    def list_keys(self):
        calls = 0
        def look():
            nonlocal calls
            calls += 1
            return self._locked_key("a")
        with self._lock:
            look()
            return list(self._items) if calls else []
""",
    "a map": """
    def list_keys(self):
        with self._lock:
            keys = list(self._items)
        return [key for key in map(self._locked_key, keys) if key]
""",
}


def made(folder: Path, body: str) -> Subject:
    (folder / "textbook.py").write_text((TARGETS / "textbook.py").read_text())
    (folder / "made.py").write_text(HEAD.format(body=body))
    return load_subject(f"{folder / 'made.py'}:new_indexer", granularity=Granularity.SYNC)


def programs(of: Subject, seeds: range) -> list[Program]:
    found = (explorer_program(seed, of.target, Semantics.CLASSIC, SHAPE) for seed in seeds)
    return [program for program in found if sum(map(len, program.threads)) <= 4]


def hashed(of: Subject, program: Program) -> tuple[StateHashing, SearchResult]:
    runner = ProgramRunner(of, program)
    judge = ProgramJudge(program, runner.final_reads)
    strategy = StateHashing(of.sandbox, judge.monitor)
    return strategy, search(runner, strategy, judge, SearchLimits(executions=600))


def naive(of: Subject, program: Program) -> SearchResult:
    runner = ProgramRunner(of, program)
    return search(runner, Naive(), ProgramJudge(program, runner.final_reads), SearchLimits(executions=1_500))


@pytest.mark.one_in(20)
@pytest.mark.parametrize("name", BODIES)
def test_it_agrees_with_naive_enumeration(tmp_path: Path, name: str, effort: Callable[[int, int], int]) -> None:
    of = made(tmp_path, BODIES[name])
    compared = 0
    for program in programs(of, range(300, 324)):
        strategy, result = hashed(of, program)
        assert strategy.opaque is None
        expected = naive(of, program)
        if expected.problem is None and expected.coverage is not Coverage.EXHAUSTED:
            continue
        if strategy.race is not None:
            continue
        compared += 1
        assert (result.problem is None) == (expected.problem is None), program
        if result.problem is None:
            assert result.coverage is Coverage.EXHAUSTED
            assert result.executions <= expected.executions
        if compared == effort(6, 24):
            break
    assert compared > 5


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", OUT_OF_SIGHT)
def test_what_is_out_of_sight_is_no_proof(tmp_path: Path, name: str) -> None:
    of = made(tmp_path, OUT_OF_SIGHT[name])
    strategies = [hashed(of, program)[0] for program in programs(of, range(300, 330))]
    assert any("cannot be read" in str(strategy.opaque) for strategy in strategies)
    assert all(strategy.coverage is not Coverage.EXHAUSTED for strategy in strategies if strategy.opaque)


def test_the_frames_of_this_python_are_understood(tmp_path: Path) -> None:
    """Positions of instructions differ from version to version: a correct design is exhausted on each."""
    del tmp_path
    of = load_subject(f"{TARGETS / 'read_write_lock.py'}:new_indexer", granularity=Granularity.SYNC)
    results = [hashed(of, program) for program in programs(of, range(20))]
    assert all(strategy.why_no_proof == "" for strategy, _ in results), sys.version
    assert any(result.coverage is Coverage.EXHAUSTED for _, result in results)
