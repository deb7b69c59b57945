"""The just-in-time checker against the generic search, on many small histories."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kcache_model.history import FINAL_THREAD, Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.just_in_time import (
    HistoryMonitor,
    HistoryVerdict,
    Unsuitable,
    judge_history,
    small_core,
    why_not,
)
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import History
from kcache_model.linearizability import SearchBudget
from kcache_model.linearizability.core import with_optional_writes
from kcache_model.linearizability.search import search_linearization
from kcache_model.outcomes import ErrorKind, Outcome, raised, returned
from kcache_model.verdict import Status
from model.material.simulated_histories import INDEXES, Simulator

NIGHTLY = os.environ.get("KCACHE_HYPOTHESIS_PROFILE") == "nightly"

HISTORIES = int(os.environ.get("KCACHE_SMALL_HISTORIES", "1000000" if NIGHTLY else "10000"))
"""How many small histories are judged by both."""

CHUNKS = 20

MODELS = {semantics: IndexerModel(semantics) for semantics in Semantics}


def histories(seed: int, count: int) -> Iterator[History]:
    simulator = Simulator(seed)
    for _ in range(count):
        yield simulator.history()


def agrees(observed: Outcome, expected: Outcome) -> bool:
    return observed.agrees_with(expected)


def generic_status(history: History) -> Status:
    model = MODELS[history.semantics]
    return search_linearization(model, model.initial(history.indexes), history.calls, SearchBudget(), agrees).status


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(CHUNKS))
def test_verdict_equals_that_of_the_generic_search(seed: int) -> None:
    verdicts: Counter[Status] = Counter()
    for history in histories(seed, HISTORIES // CHUNKS):
        assert not why_not(history), history
        status = judge_history(history).status
        verdicts[status] += 1
        assert status is generic_status(history), history
    assert min(verdicts[Status.OK], verdicts[Status.VIOLATION]) > HISTORIES // CHUNKS // 6, verdicts


def monitored(history: History, least_stretch: int, window: int = 512) -> HistoryVerdict:
    """The answer of the monitor to the same calls, as they begin and end."""
    monitor = HistoryMonitor(history.indexes, history.semantics, least_stretch=least_stretch, window=window)
    begins = [(call.invoked, 0, position) for position, call in enumerate(history.calls)]
    ends = [(call.returned, 1, position) for position, call in enumerate(history.calls) if call.returned is not None]
    names: dict[int, int] = {}
    for tick, is_end, position in sorted([*begins, *ends]):
        call = history.calls[position]
        if is_end:
            assert call.outcome is not None
            monitor.end(names[position], call.outcome, tick)
        else:
            names[position] = monitor.begin(call.operation, tick, thread=call.thread)
            assert names[position] == position, "the calls of a history are ordered by their invocations"
    return monitor.finish()


def until_response(history: History, last: int) -> History:
    """The history as it was right after the response of the call at position ``last``."""
    end = history.calls[last].returned
    assert end is not None
    order = [position for position, call in enumerate(history.calls) if call.returned is not None]
    order.sort(key=lambda position: history.calls[position].returned or 0)
    returned_by_then = set(order[: order.index(last) + 1])
    calls = [
        call if position in returned_by_then else replace(call, returned=None, outcome=None)
        for position, call in enumerate(history.calls)
        if call.invoked <= end
    ]
    return replace(history, calls=tuple(calls))


@pytest.mark.parametrize("seed", range(4))
def test_first_call_that_nothing_explains(seed: int) -> None:
    seen = 0
    for history in histories(1_000 + seed, 500):
        result = judge_history(history)
        if result.status is not Status.VIOLATION:
            assert result.position is None
            continue
        seen += 1
        assert result.position is not None
        until = until_response(history, result.position)
        assert generic_status(until) is Status.VIOLATION
        last = until.calls[result.position]
        calls = [replace(call, returned=None, outcome=None) if call is last else call for call in until.calls]
        assert generic_status(replace(until, calls=tuple(calls))) is Status.OK
        end = history.calls[result.position].returned or 0
        assert result.judged == sum(call.returned is not None and call.returned <= end for call in history.calls)
    assert seen > 80


@pytest.mark.one_in(32)
@pytest.mark.parametrize("seed", range(4))
def test_size_of_the_windows_does_not_matter(seed: int) -> None:
    verdicts: Counter[Status] = Counter()
    simulator = Simulator(4_000 + seed)
    for number in range(400):
        history = simulator.history() if number % 2 else simulator.stretches(3)
        status, position = generic_status(history), judge_history(history).position
        verdicts[status] += 1
        for window in (1, 2, 3, 5):
            result = judge_history(history, window=window)
            assert result.status is status, history
            assert result.position == position, history
    assert min(verdicts.values()) > 50, verdicts


@pytest.mark.parametrize("window", [1, 3, 4, 512])
def test_write_that_gives_the_wrong_outcome_after_the_window(window: int) -> None:
    """It may have explained the lookup as long as it was open: the lookup is not to blame."""
    calls = [
        Call(0, op.add(Item("b", "v1", {"zone": ("z2",)})), 1, 2, returned()),
        Call(1, op.update(Item("a", "v2", {"zone": ("z3",)})), 4, 12, returned()),
        Call(2, op.index("zone", Item("b", "v3", {"zone": ("z2", "z3")})), 5, 15, returned(())),
        Call(3, op.get_by_key("a"), 6, 10, returned("v2")),
        Call(0, op.replace(()), 11, 32, raised(ErrorKind.OTHER)),
    ]
    result = judge_history(History(INDEXES, tuple(calls)), window=window)
    assert (result.status, result.position, result.judged) == (Status.VIOLATION, 4, 5)


@pytest.mark.parametrize("seed", range(4))
def test_monitor_says_the_same_as_the_judge(seed: int) -> None:
    verdicts: Counter[Status] = Counter()
    for history in histories(2_000 + seed, 500):
        result = judge_history(history)
        verdicts[result.status] += 1
        for least_stretch in (1, 3):
            same = monitored(history, least_stretch)
            assert (same.status, same.position) == (result.status, result.position), history
            if result.status is Status.VIOLATION:
                assert same.judged == result.judged
    assert min(verdicts.values()) > 50


@pytest.mark.parametrize("seed", range(4))
def test_stretches_in_a_row(seed: int) -> None:
    """What is left of a stretch matters to the next ones: each continues where the store was left."""
    simulator = Simulator(3_000 + seed)
    verdicts: Counter[Status] = Counter()
    for _ in range(150):
        history = simulator.stretches(4)
        result = judge_history(history)
        verdicts[result.status] += 1
        assert result.status is generic_status(history)
        for least_stretch in (1, 5):
            same = monitored(history, least_stretch)
            assert (same.status, same.position) == (result.status, result.position), history
    assert min(verdicts.values()) > 15, verdicts


@pytest.mark.parametrize("seed", range(4))
def test_core_of_a_violation_is_impossible(seed: int) -> None:
    seen = 0
    for history in histories(5_000 + seed, 300):
        result = judge_history(history)
        if result.position is None:
            continue
        seen += 1
        core = small_core(history, result.position)
        assert history.calls[result.position] in core
        weakened = replace(history, calls=tuple(with_optional_writes(core, history.calls)))
        assert generic_status(weakened) is Status.VIOLATION, history
    assert seen > 50


def busy_history(threads: int, size: int, seed: int) -> History:
    """A long history without faults in which all threads are busy all the time."""
    return Simulator(seed).correct(threads, size)


def stale_at(history: History, position: int) -> History:
    """The history with a read at the end of what a write put into the store that a later one has replaced."""
    first = next(
        call for call in history.calls[position:] if call.operation.name is OperationName.ADD and call.returned
    )
    assert first.operation.item is not None
    key, tick = first.operation.item.key or "", max(call.returned or 0 for call in history.calls)
    calls = [
        *[replace(call, returned=call.returned or tick, outcome=call.outcome or returned()) for call in history.calls],
        Call(FINAL_THREAD, op.update(Item(key, "last")), tick + 1, tick + 2, returned()),
        Call(FINAL_THREAD, op.get_by_key(key), tick + 3, tick + 4, returned(first.operation.item.stamp)),
    ]
    return replace(history, calls=tuple(calls))


def test_long_history_through_the_front_door() -> None:
    history = busy_history(4, 400, 7)
    verdict = check_linearizable(history)
    assert verdict.status is Status.OK
    assert verdict.steps > 0
    wrong = stale_at(history, 200)
    verdict = check_linearizable(wrong)
    assert verdict.status is Status.VIOLATION
    assert len(verdict.core) <= 3
    assert wrong.calls[-1] in verdict.core
    assert "no order" in verdict.reason


def test_budget_runs_out() -> None:
    history = busy_history(4, 400, 8)
    result = judge_history(history, budget=SearchBudget(steps=50))
    assert result.status is Status.UNKNOWN
    assert 0 < result.judged < len(history.calls)
    verdict = check_linearizable(history, budget=SearchBudget(steps=50))
    assert verdict.status is Status.UNKNOWN
    assert f"{result.judged} of {len(history.calls)} calls" in verdict.reason


def test_without_memory_it_gives_up() -> None:
    history = busy_history(4, 400, 3)
    for budget in (SearchBudget(megabytes=1.0), SearchBudget(seconds=60.0)):
        verdict = check_linearizable(history, budget=budget)
        if budget.megabytes == 1.0:
            assert verdict.status is Status.UNKNOWN
            assert "the checker gave up after" in verdict.reason
        else:
            assert verdict.status is Status.OK


def test_monitor_forgets_the_past() -> None:
    monitor = HistoryMonitor(INDEXES, least_stretch=10)
    for number in range(2_000):
        item = Item(f"k{number % 5}", f"s{number}", {"node": ("n1",)})
        position = monitor.begin(op.add(item), 2 * number)
        monitor.end(position, returned(), 2 * number + 1)
        assert len(monitor._calls) <= 10
        assert len(monitor._judgement._linearization._translator.store.by_stamp) < 2_000
    position = monitor.begin(op.get_by_key("k0"), 4_000)
    monitor.end(position, returned("s0"), 4_001)
    result = monitor.finish()
    assert (result.status, result.position, result.judged) == (Status.VIOLATION, 2_000, 2_001)


def test_monitor_judges_while_threads_are_busy_all_the_time() -> None:
    seen: Counter[Status] = Counter()
    for seed in range(60):
        simulator = Simulator(8_000 + seed)
        history = simulator.busy(4, 60) if seed % 3 else simulator.correct(4, 300)
        expected = judge_history(history)
        seen[expected.status] += 1
        for window in (1, 3, 20):
            same = monitored(history, least_stretch=10_000, window=window)
            assert (same.status, same.position, same.judged) == (
                expected.status,
                expected.position,
                expected.judged,
            ), (seed, window)
    assert min(seen[Status.OK], seen[Status.VIOLATION]) > 10, seen


def test_monitor_forgets_the_past_of_busy_threads() -> None:
    """Some call is open all the time: each begins before the one before it ends."""
    monitor = HistoryMonitor(INDEXES, window=16)
    before = None
    for number in range(3_000):
        item = Item(f"k{number % 5}", f"s{number}", {"node": ("n1",)})
        position = monitor.begin(op.add(item), 2 * number)
        if before is not None:
            monitor.end(before, returned(), 2 * number + 1)
        before = position
        assert len(monitor._calls) <= 80
    assert monitor.finish().status is Status.OK


def test_monitor_gives_up_when_a_call_stays_open_too_long() -> None:
    monitor = HistoryMonitor(INDEXES, window=16, budget=SearchBudget(megabytes=1.0))
    monitor.begin(op.list_keys(), 0)
    for number in range(1, 64):
        position = monitor.begin(op.list_keys(), 2 * number)
        monitor.end(position, returned(()), 2 * number + 1)
    assert monitor.result is not None
    assert monitor.result.status is Status.UNKNOWN


def test_time_does_not_go_back() -> None:
    monitor = HistoryMonitor(INDEXES)
    monitor.begin(op.list_keys(), 2)
    with pytest.raises(ValueError, match="went back"):
        monitor.begin(op.list_keys(), 1)


ITEM = Item("a", "s")


@pytest.mark.parametrize(
    ("operations", "semantics", "reason"),
    [
        ((op.add(ITEM), op.update(ITEM)), Semantics.CLASSIC, "written twice"),
        ((op.replace((ITEM, Item("b", "s"))),), Semantics.CLASSIC, "written twice"),
        ((op.mutate("a", {}),), Semantics.CLASSIC, "changed in place"),
        ((op.last_sync_resource_version(),), Semantics.CLASSIC, "resource versions"),
        ((op.add_indexers("late"),), Semantics.CLASSIC, "add_indexers"),
        ((op.add_indexers("late"),), Semantics.CURRENT, "add_indexers"),
        ((op.add_indexers("node"),), Semantics.CLASSIC, ""),
        ((op.add_indexers("node"), op.bookmark("3"), op.resync()), Semantics.CURRENT, ""),
        ((op.add(ITEM), op.delete(ITEM)), Semantics.CLASSIC, ""),
    ],
)
def test_histories_for_which_it_is_not_made(
    operations: tuple[Operation, ...], semantics: Semantics, reason: str
) -> None:
    model = MODELS[semantics]
    state, calls = model.initial(INDEXES), []
    for number, operation in enumerate(operations):
        state, outcome = model.apply(state, operation)
        calls.append(Call(0, operation, 2 * number, 2 * number + 1, outcome))
    history = History(INDEXES, tuple(calls), semantics)
    assert reason in why_not(history)
    assert bool(reason) == bool(why_not(history))
    if reason:
        with pytest.raises(Unsuitable, match=reason):
            judge_history(history)
        with pytest.raises(Unsuitable, match=reason):
            monitored(history, 1)
    else:
        assert judge_history(history).status is Status.OK


def test_strict_errors() -> None:
    failing = op.add(Item(None, "s"))
    calls = [Call(0, failing, 0, 1, raised(ErrorKind.OTHER)), Call(0, op.list_keys(), 2, 3, returned(()))]
    history = History(INDEXES, tuple(calls))
    assert judge_history(history).status is Status.OK
    result = judge_history(history, strict_errors=True)
    assert (result.status, result.position, result.judged) == (Status.VIOLATION, 0, 1)
