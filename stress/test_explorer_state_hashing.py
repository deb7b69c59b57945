"""State hashing: compared with naive enumeration and with DPOR, and never a proof where there is none."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.program import Program
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.search import SearchLimits, SearchResult, search
from kcache_stress.explorer.state.canonical_state import CanonicalState
from kcache_stress.explorer.strategies.dpor import Dpor
from kcache_stress.explorer.strategies.interface import Coverage, Strategy
from kcache_stress.explorer.strategies.naive import Naive
from kcache_stress.explorer.strategies.state_hashing import StateHashing
from kcache_stress.indexers.program_judge import ProgramJudge
from kcache_stress.indexers.program_runner import ProgramRunner
from kcache_stress.indexers.programs.random_programs import ExplorerShape, explorer_program
from kcache_stress.indexers.subject import Subject, load_subject

TARGETS = Path(__file__).parents[1] / "examples" / "targets"
SHAPE = ExplorerShape(threads=(2, 3), operations=(1, 2), prefix=2)
LIMITS = SearchLimits(executions=250)


@functools.cache
def subject(name: str, granularity: Granularity = Granularity.SYNC) -> Subject:
    spec = name if ":" in name else f"{TARGETS / name}.py:new_indexer"
    return load_subject(spec, granularity=granularity)


def explore(
    of: Subject, program: Program, make: Callable[[Subject, ProgramJudge], Strategy], limits: SearchLimits = LIMITS
) -> tuple[Strategy, SearchResult]:
    runner = ProgramRunner(of, program)
    judge = ProgramJudge(program, runner.final_reads)
    strategy = make(of, judge)
    return strategy, search(runner, strategy, judge, limits)


def hashed(
    of: Subject, program: Program, *, give_up: bool = True, limits: SearchLimits = LIMITS
) -> tuple[StateHashing, SearchResult]:
    strategy, result = explore(
        of, program, lambda of, judge: StateHashing(of.sandbox, judge.monitor, give_up=give_up), limits
    )
    assert isinstance(strategy, StateHashing)
    return strategy, result


def item(key: str, stamp: str, value: str) -> Item:
    return Item(key, stamp, {"node": (value,)})


def writers_and_readers(threads: int, calls: int) -> Program:
    """Each thread updates and looks up in turn; two keys, two values."""
    lists = [
        tuple(
            op.update(item("ab"[thread % 2], f"v{thread}{call}", f"n{call // 2 % 2 + 1}"))
            if call % 2 == 0
            else op.by_index("node", f"n{thread % 2 + 1}")
            for call in range(calls)
        )
        for thread in range(threads)
    ]
    return Program(("node",), (op.add(item("a", "v", "n1")),), tuple(lists))


def small_programs(of: Subject, seeds: range) -> list[Program]:
    found = (explorer_program(seed, of.target, Semantics.CLASSIC, SHAPE) for seed in seeds)
    return [program for program in found if sum(map(len, program.threads)) <= 4]


RACE_FREE = [
    "textbook",
    *(pytest.param(name, marks=pytest.mark.nightly) for name in ("sharded_locks", "read_write_lock")),
]


@pytest.mark.parametrize("name", RACE_FREE)
def test_correct_targets_are_exhausted_and_nothing_else_finds_a_problem(name: str) -> None:
    of = subject(name)
    exhausted = 0
    for number, program in enumerate(small_programs(of, range(14))):
        strategy, result = hashed(of, program)
        assert (result.problem, strategy.race, strategy.opaque) == (None, None, None)
        assert result.coverage is Coverage.EXHAUSTED or result.executions == LIMITS.executions
        exhausted += result.coverage is Coverage.EXHAUSTED
        assert explore(of, program, lambda *_: Naive())[1].problem is None
        if number % 6 == 0:
            free = subject(name, Granularity.FREE)
            assert explore(free, program, lambda *_: Dpor(), SearchLimits(executions=100))[1].problem is None
    assert exhausted > 6


FAULTY = [
    "lookup_in_two_steps",
    "replace_in_two_sections",
    "replace_clears_first",
    "update_removes_first",
    "delete_in_two_sections",
    "lock_order_inversion",
    "upgraded_read_lock",
    "indexers_in_two_sections",
]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", FAULTY)
def test_a_problem_is_found_if_and_only_if_naive_enumeration_finds_it(name: str) -> None:
    of = subject(name)
    compared = 0
    for program in small_programs(of, range(100, 122)):
        naive = explore(of, program, lambda *_: Naive())[1]
        strategy, result = hashed(of, program)
        if naive.problem is None and naive.coverage is not Coverage.EXHAUSTED:
            assert result.coverage is not Coverage.EXHAUSTED or strategy.race is None
            continue
        compared += 1
        assert (result.problem is None) == (naive.problem is None), program
        assert (result.coverage is Coverage.EXHAUSTED) == (naive.problem is None)
    assert compared > 8


RACY = [
    "unlocked_get",
    "unlocked_list",
    "snapshot_without_lock",
    "leaky_read_write_lock",
    "sequence_lock",
    "copy_on_write",
    "unlocked_swap",
    "striped_locks",  # free of harm, but two keys of one dict are one location
    "kcache:new_indexer",
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", RACY)
def test_what_dpor_finds_in_racy_targets_is_never_proven_absent(name: str) -> None:
    of = subject(name)
    races = 0
    for program in small_programs(of, range(12)):
        strategy, result = hashed(of, program)
        races += strategy.race is not None
        if result.coverage is Coverage.EXHAUSTED:
            assert strategy.race is None
            assert explore(subject(name, Granularity.FREE), program, lambda *_: Dpor())[1].problem is None, program
    assert races


def test_a_race_is_named_with_both_lines() -> None:
    strategy, result = hashed(subject("snapshot_without_lock"), writers_and_readers(2, 1))
    assert result.coverage is Coverage.BUDGET_SPENT
    assert strategy.race is not None
    assert strategy.race.location == "SnapshotWithoutLock._snapshot"
    assert all(".py:" in place for place in strategy.race.places)
    assert "nothing orders them" in str(strategy.race)


def test_lost_wakeups_are_found_beyond_the_first_race() -> None:
    program = Program((), (), ((op.list_keys(),), (op.list_keys(),)))
    strategy, result = hashed(subject("lost_wakeup"), program, give_up=False, limits=SearchLimits(executions=3000))
    assert result.problem is not None or strategy.race is not None or strategy.opaque is not None
    assert result.coverage is not Coverage.EXHAUSTED


def test_far_fewer_executions_than_interleavings() -> None:
    strategy, result = hashed(subject("textbook"), writers_and_readers(3, 2), limits=SearchLimits())
    assert result.coverage is Coverage.EXHAUSTED
    assert result.executions < 150
    assert strategy.states < 120


# Targets made for one purpose each.

TEXTBOOK = """
import threading
from textbook import TextbookIndexer

class Indexer(TextbookIndexer):
{body}

def new_indexer(key_func, indexers, semantics="classic"):
    return Indexer(key_func, indexers, semantics)
"""


def made(folder: Path, name: str, body: str) -> Subject:
    (folder / "textbook.py").write_text((TARGETS / "textbook.py").read_text())
    (folder / f"{name}.py").write_text(TEXTBOOK.format(body=body))
    return load_subject(f"{folder / name}.py:new_indexer", granularity=Granularity.SYNC)


UPDATES = Program(("node",), (), ((op.update(item("a", "v1", "n1")),), (op.update(item("b", "v2", "n1")),)))


def test_an_access_after_the_last_release_races(tmp_path: Path) -> None:
    body = """
    _last = None
    def update(self, obj):
        super().update(obj)
        self._last = obj
    def list_keys(self):
        keys = super().list_keys()
        return [key for key in keys if self._last is not self]
"""
    strategy, result = hashed(made(tmp_path, "after_release", body), UPDATES)
    assert strategy.race is not None
    assert strategy.race.location == "Indexer._last"
    assert result.coverage is not Coverage.EXHAUSTED


def test_an_access_before_the_first_acquire_races(tmp_path: Path) -> None:
    body = """
    _calls = 0
    def update(self, obj):
        self._calls += 1
        super().update(obj)
"""
    strategy, result = hashed(made(tmp_path, "before_acquire", body), UPDATES)
    assert strategy.race is not None
    assert result.coverage is not Coverage.EXHAUSTED


UNREADABLE = {
    "map": """
    def update(self, obj):
        with self._lock:
            self._numbers = map(str, [1, 2])
        super().update(obj)
""",
    "Indexer": """
    made = 0
    def update(self, obj):
        with self._lock:
            Indexer.made += 1
        super().update(obj)
""",
    "keeps": """
    def by_index(self, name, value):
        with self._lock:
            self._found = super().by_index(name, value)
            return self._found
""",
    "local": """
    def __init__(self, *given):
        super().__init__(*given)
        self._own = threading.local()
""",
}


@pytest.mark.parametrize("why", UNREADABLE)
def test_what_cannot_be_read_is_no_proof(tmp_path: Path, why: str) -> None:
    program = Program(("node",), (), (*UPDATES.threads, (op.by_index("node", "n9"),)))
    strategy, result = hashed(made(tmp_path, f"unreadable_{why}", UNREADABLE[why]), program)
    assert why in str(strategy.opaque)
    assert result.coverage is not Coverage.EXHAUSTED


def test_a_set_that_was_put_back_is_another_one_for_who_holds_the_old(tmp_path: Path) -> None:
    body = """
    def by_index(self, name, value):
        with self._lock:
            keys = self._keys_under(name, value)
        with self._lock:
            return [self._items[key] for key in sorted(keys)]
"""
    of = made(tmp_path, "held", body)
    found = 0
    for program in small_programs(of, range(200, 225)):
        naive = explore(of, program, lambda *_: Naive())[1]
        result = hashed(of, program)[1]
        if naive.problem is not None or naive.coverage is Coverage.EXHAUSTED:
            assert (result.problem is None) == (naive.problem is None), program
            found += result.problem is not None
    assert found


def test_a_subject_of_another_granularity_is_refused() -> None:
    of = subject("textbook", Granularity.FREE)
    with pytest.raises(ValueError, match="SYNC"):
        StateHashing(of.sandbox, ProgramJudge(UPDATES, []).monitor)


# Canonical states.


def tokens(*roots: object) -> tuple[object, ...]:
    state = CanonicalState()
    state.read(roots)
    return tuple(state.tokens) if state.opaque is None else (state.opaque,)


class Node:
    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


def test_equal_graphs_have_equal_states() -> None:
    def graph() -> Node:
        shared = [1, "x"]
        node = Node(left=shared, right={"k": shared}, queue=deque([2], maxlen=3))
        node.itself = node  # type: ignore[attr-defined]
        return node

    assert tokens(graph()) == tokens(graph())


def test_different_graphs_have_different_states() -> None:
    one: list[int] = [1]
    assert tokens([one, one]) != tokens([[1], [1]])
    assert tokens({"a": 1, "b": 2}) != tokens({"b": 2, "a": 1})
    assert tokens(Node(x=1)) != tokens(Node(y=1))
    assert tokens([1]) != tokens([True])
    assert tokens([-1]) != tokens([-2])
    assert tokens(deque([1])) != tokens([1])
    assert tokens(lambda: 1) != tokens(lambda: 2)
    assert tokens([[1], 2]) != tokens([[1, 2]])


@pytest.mark.parametrize("hidden", [iter([1]), (x for x in "a"), threading.Lock(), functools.lru_cache(print)])
def test_hidden_state_is_opaque(hidden: object) -> None:
    state = CanonicalState()
    state.read([{"a": hidden}])
    assert state.opaque is not None
