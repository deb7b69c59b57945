"""The judge against brute force, and its evidence against itself."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from kcache_model.anomaly import Anomaly
from kcache_model.history import Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import Operation, OperationName, WriteKind
from kcache_model.indexers.program import History
from kcache_model.linearizability import SearchBudget
from kcache_model.linearizability.core import impossible_core, with_optional_writes
from kcache_model.outcomes import ErrorKind, Outcome, raised, returned
from kcache_model.verdict import Status

KEYS, VALUES = ("a", "b"), ("n1", "n2")


def is_linearizable_by_brute_force(history: History) -> bool:
    """Every subset of the pending calls, every permutation: the definition, word by word."""
    model = IndexerModel(history.semantics)
    completed = [call for call in history.calls if call.returned is not None]
    pending = [call for call in history.calls if call.returned is None]
    for size in range(len(pending) + 1):
        for chosen in itertools.combinations(pending, size):
            for order in itertools.permutations([*completed, *chosen]):
                if any(later.precedes(earlier) for earlier, later in itertools.combinations(order, 2)):
                    continue
                if explains(model, history, order):
                    return True
    return False


def explains(model: IndexerModel, history: History, order: Sequence[Call]) -> bool:
    state = model.initial(history.indexes)
    for call in order:
        state, expected = model.apply(state, call.operation)
        if call.outcome is not None and not call.outcome.agrees_with(expected):
            return False
    return True


def random_item(rng: random.Random, stamp: int) -> Item:
    values: dict[str, tuple[str, ...] | None] = {"node": tuple(rng.sample(VALUES, rng.randint(0, 2)))}
    if rng.random() < 0.1:
        values["node"] = None
    return Item(None if rng.random() < 0.05 else rng.choice(KEYS), f"v{stamp}", values)


def random_operation(rng: random.Random, stamp: int) -> Operation:
    item = random_item(rng, stamp)
    return rng.choice(
        [
            lambda: op.add(item),
            lambda: op.update(item),
            lambda: op.delete(item),
            lambda: op.replace((item,) if rng.random() < 0.7 else ()),
            lambda: op.transaction((WriteKind.ADD, item), (WriteKind.DELETE, Item(rng.choice(KEYS), f"d{stamp}"))),
            lambda: op.get(item),
            lambda: op.get_by_key(rng.choice(KEYS)),
            lambda: op.list_objects(),
            lambda: op.list_keys(),
            lambda: op.index("node", item),
            lambda: op.index_keys("node", rng.choice(VALUES)),
            lambda: op.by_index(rng.choice(("node", "node", "unknown")), rng.choice(VALUES)),
            lambda: op.list_index_func_values("node"),
            lambda: op.get_indexers(),
            lambda: op.add_indexers("late"),
        ]
    )()


def random_history(rng: random.Random) -> History:
    """Calls in random intervals; outcomes of a random order of them, some of them spoiled."""
    size = rng.randint(1, 6)
    semantics = rng.choice(list(Semantics))
    times = rng.sample(range(20), 2 * size) if rng.random() < 0.7 else [rng.randrange(8) for _ in range(2 * size)]
    calls = []
    for number in range(size):
        begin, end = sorted(times[2 * number : 2 * number + 2])
        calls.append(Call(number, random_operation(rng, number), begin, end, None))
    model = IndexerModel(semantics)
    state = model.initial(("node",))
    finished = []
    for call in sorted(calls, key=lambda call: rng.uniform(call.invoked, call.returned or 0)):
        state, outcome = model.apply(state, call.operation)
        finished.append(replace(call, outcome=outcome))
    for position, call in enumerate(finished):
        roll = rng.random()
        if roll < 0.15:
            finished[position] = replace(call, outcome=spoiled(rng, call.outcome))
        elif roll < 0.3:
            finished[position] = replace(call, returned=None, outcome=None)
    return History(("node",), tuple(sorted(finished, key=lambda call: call.invoked)), semantics)


def spoiled(rng: random.Random, outcome: Outcome | None) -> Outcome:
    stamps = tuple(sorted(rng.sample(["v0", "v1", "v2", "a"], rng.randint(0, 2))))
    return rng.choice(
        [raised(ErrorKind.OTHER), returned(stamps), returned(None), returned("v1"), outcome or returned()]
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(8))
def test_verdict_equals_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    verdicts = {Status.OK: 0, Status.VIOLATION: 0}
    for _ in range(500):
        history = random_history(rng)
        verdict = check_linearizable(history)
        verdicts[verdict.status] += 1
        assert (verdict.status is Status.OK) == is_linearizable_by_brute_force(history), history
    assert min(verdicts.values()) > 50, "the histories must be of both kinds"


def test_order_of_a_good_verdict_is_a_linearization() -> None:
    rng = random.Random(1)
    seen = 0
    for _ in range(500):
        history = random_history(rng)
        verdict = check_linearizable(history)
        if verdict.status is Status.OK:
            seen += 1
            assert {call for call in history.calls if call.returned is not None} <= set(verdict.order)
            for earlier, later in itertools.combinations(verdict.order, 2):
                assert not later.precedes(earlier)
            assert explains(IndexerModel(history.semantics), history, verdict.order)
    assert seen > 100


def test_core_of_a_violation_is_impossible_together_with_the_other_writes() -> None:
    rng = random.Random(2)
    seen = 0
    for _ in range(1000):
        history = random_history(rng)
        verdict = check_linearizable(history)
        if verdict.status is not Status.VIOLATION:
            continue
        seen += 1
        assert verdict.reason
        in_core = {id(call) for call in verdict.core}
        kept = tuple(call for call in history.calls if id(call) in in_core or call.operation.is_write)
        assert not is_linearizable_by_brute_force(replace(history, calls=kept))
    assert seen > 100


def test_impossible_core_is_impossible_and_minimal() -> None:
    rng = random.Random(2)
    seen = 0
    for _ in range(1000):
        history = random_history(rng)

        def is_impossible(calls: Sequence[Call], history: History = history) -> bool:
            return check_linearizable(replace(history, calls=tuple(calls))).status is Status.VIOLATION

        if not is_impossible(history.calls):
            continue
        seen += 1
        core = impossible_core(history.calls, is_impossible)
        weakened = replace(history, calls=tuple(with_optional_writes(core, history.calls)))
        assert not is_linearizable_by_brute_force(weakened)
        for position in range(len(core)):
            fewer = core[:position] + core[position + 1 :]
            rest = replace(history, calls=tuple(with_optional_writes(fewer, history.calls)))
            assert is_linearizable_by_brute_force(rest), "a call of the core could be left out"
    assert seen > 100


A1, A2 = Item("a", "v1", {"node": ("n1",)}), Item("a", "v2", {"node": ("n2",)})


def call(thread: int, operation: Operation, invoked: int, ended: int | None, outcome: Outcome | None = None) -> Call:
    return Call(thread, operation, invoked, ended, outcome if ended is None else outcome or returned())


def test_stale_read_is_explained() -> None:
    calls = (
        call(0, op.add(A1), 1, 2),
        call(0, op.update(A2), 3, 4),
        call(1, op.by_index("node", "n1"), 5, 6, returned(("v1",))),
        call(1, op.list_objects(), 7, 8, returned(("v2",))),
    )
    verdict = check_linearizable(History(("node",), calls))
    assert verdict.status is Status.VIOLATION
    assert [one.operation.name for one in verdict.core] == [
        OperationName.ADD,
        OperationName.UPDATE,
        OperationName.BY_INDEX,
    ]
    assert verdict.anomaly is Anomaly.GHOST_INDEX_VALUE
    assert verdict.reason == (
        "ghost index value: by_index(node, n1) of thread 2 returned v1, but update(a@v2) of thread 1 had moved it and "
        "had returned before by_index(node, n1) began; it came after add(a@v1) of thread 1, which had returned before "
        "it began; nothing wrote it again; so no order explains it"
    )


def test_without_stamps_the_closest_order_is_given() -> None:
    calls = (
        call(0, op.add(A1), 1, 2),
        call(0, op.mutate("a", {"node": ("n2",)}), 3, 4),
        call(1, op.by_index("node", "n2"), 5, 6, returned(("v1",))),
    )
    verdict = check_linearizable(History(("node",), calls))
    assert verdict.anomaly is None
    assert verdict.reason == (
        "Thread 2: by_index(node, n2) returned [v1]. No sequential order of these calls gives that. "
        "Closest: add(a@v1), mutate(a, {node: n2}), then by_index(node, n2), which returns []."
    )


def test_overlapping_read_may_see_either() -> None:
    for seen in ("v1", "v2"):
        calls = (
            call(0, op.add(A1), 1, 2),
            call(0, op.update(A2), 3, 6),
            call(1, op.get_by_key("a"), 4, 5, returned(seen)),
        )
        assert check_linearizable(History((), calls)).status is Status.OK


def test_calls_at_the_same_tick_are_concurrent() -> None:
    calls = (call(0, op.add(A1), 1, 5), call(1, op.get_by_key("a"), 5, 6, returned(None)))
    assert check_linearizable(History((), calls)).status is Status.OK


def test_pending_write_may_be_seen_or_not_but_not_both() -> None:
    write = call(0, op.add(A1), 1, None)
    sees, misses = returned("v1"), returned(None)

    def reads(*outcomes: Outcome) -> tuple[Call, ...]:
        return tuple(call(1, op.get_by_key("a"), 10 * n, 10 * n + 1, one) for n, one in enumerate(outcomes, start=1))

    for outcomes, expected in (
        ((misses, misses), Status.OK),
        ((misses, sees), Status.OK),
        ((sees, misses), Status.VIOLATION),
    ):
        assert check_linearizable(History((), (write, *reads(*outcomes)))).status is expected


def test_errors_are_outcomes() -> None:
    wrong = call(0, op.by_index("unknown", "n1"), 1, 2, returned(()))
    right = call(0, op.by_index("unknown", "n1"), 1, 2, raised(ErrorKind.OTHER, "KeyError"))
    assert check_linearizable(History((), (wrong,))).status is Status.VIOLATION
    assert check_linearizable(History((), (right,))).status is Status.OK
    assert check_linearizable(History((), (right,)), strict_errors=True).status is Status.VIOLATION


def test_spent_budget_is_unknown() -> None:
    writes = [call(n, op.update(Item("a", f"v{n}")), 0, 100) for n in range(9)]
    impossible = call(99, op.get_by_key("a"), 200, 201, returned("nobody wrote this"))
    history = History((), (*writes, impossible))
    verdict = check_linearizable(history, budget=SearchBudget(steps=100))
    assert verdict.status is Status.UNKNOWN
    assert "gave up after" in verdict.reason
    assert check_linearizable(history).status is Status.VIOLATION


def test_without_memory_the_search_gives_up() -> None:
    writes = [call(thread, op.add(Item(f"k{thread}", f"v{thread}")), 1, 100) for thread in range(9)]
    wrong = call(9, op.list_objects(), 101, 102, returned(("v0",)))
    # Resource versions make it a case for the search.
    version = call(10, op.last_sync_resource_version(), 103, 104, returned(""))
    history = History((), (*writes, wrong, version))
    verdict = check_linearizable(history, budget=SearchBudget(megabytes=1.0))
    assert verdict.status is Status.UNKNOWN
    assert "the search gave up after 256 steps" in verdict.reason
    assert check_linearizable(history).status is Status.VIOLATION
