"""The frontier checker against the generic search, on many small histories."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kcache_model import operations as op
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call, History
from kcache_model.indexer_model import IndexerModel, State
from kcache_model.items import Item, Semantics
from kcache_model.linearizability import SearchBudget, check_linearizable
from kcache_model.linearizability.core import with_optional_writes
from kcache_model.linearizability.frontier import (
    FrontierBudget,
    FrontierResult,
    HistoryMonitor,
    Unsuitable,
    judge_history,
    small_core,
    why_not,
)
from kcache_model.linearizability.search import search_linearization
from kcache_model.operations import Operation, OperationName, WriteKind
from kcache_model.outcomes import ErrorKind, Outcome, raised, returned
from kcache_model.verdict import Status

HISTORIES = int(os.environ.get("KCACHE_FRONTIER_HISTORIES", "100000"))
"""How many small histories are judged by both; a nightly run may ask for a million."""

CHUNKS = 20

INDEXES = ("node", "zone")
VALUES = {"node": ("n1", "n2"), "zone": ("z1", "z2", "z3")}
MODELS = {semantics: IndexerModel(semantics) for semantics in Semantics}


class Simulator:
    """Makes random histories: random operations in random intervals, on a store that may have a fault.

    The store is the model; each call takes effect at some moment of its interval. With a fault, some reads look at an
    older state or at a mixture of two, some writes are lost, and some outcomes are spoiled.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.stamps = 0

    def history(self) -> History:
        """A history of 3 to 8 calls in 2 to 4 threads, some before and some after these."""
        rng = self.rng
        self.open_a_store()
        threads, size = rng.randint(2, 4), rng.randint(3, 8)
        calls = [self.alone(PREFIX_THREAD) for _ in range(rng.choice((0, 0, 1)))]
        calls += self.concurrent(threads, size)
        calls += [self.alone(FINAL_THREAD) for _ in range(rng.choice((0, 0, 1)))]
        return self.finished(calls)

    def stretches(self, count: int) -> History:
        """A few calls at the same time, then a few more, and so on: only the last calls may be pending."""
        self.open_a_store()
        self.faults /= 3
        calls: list[Call] = []
        while len(calls) < 2 * count:
            calls = [call for call in calls if call.returned is not None]
            self.tick += 1
            calls += self.concurrent(3, self.rng.randint(2, 4))
        return self.finished(calls)

    def finished(self, calls: list[Call]) -> History:
        calls.sort(key=lambda call: call.invoked)
        if self.faults and self.rng.random() < 0.5:
            self.swap_outcomes(calls)
        return History(INDEXES, tuple(calls), self.model.semantics)

    def open_a_store(self) -> None:
        rng = self.rng
        self.stamps = 0
        self.keys = ("a", "b", "c")[: rng.choice((1, 2, 2, 3))]
        self.writes = rng.choice((0.3, 0.5, 0.5, 0.7))
        self.wide = rng.choice((0.0, 0.1, 0.4))
        self.odd = rng.random() < 0.3
        self.favourites = rng.choice((None, None, "keys", "values", "objects"))
        self.faults = rng.choice((0.0, 0.3, 0.5, 0.8))
        self.model = MODELS[rng.choice(tuple(Semantics))]
        self.states = [self.model.initial(INDEXES)]
        self.tick = 0

    def alone(self, thread: int) -> Call:
        operation = self.operation()
        begin, end = self.tick + 1, self.tick + 2
        self.tick = end
        return Call(thread, operation, begin, end, self.effect(operation))

    def concurrent(self, threads: int, size: int) -> list[Call]:
        rng = self.rng
        calls: list[Call] = []
        running: dict[int, tuple[Operation, int, Outcome | None]] = {}
        hurry = rng.choice((0.3, 0.5, 0.8))
        self.tick += 1
        left = size
        while left or running:
            self.tick += rng.random() < 0.9
            thread = rng.randrange(threads)
            if thread not in running:
                if left:
                    left -= 1
                    running[thread] = (self.operation(), self.tick, None)
                continue
            operation, begin, outcome = running[thread]
            if outcome is None:
                if rng.random() < hurry:
                    running[thread] = (operation, begin, self.effect(operation))
            elif rng.random() < hurry:
                del running[thread]
                calls.append(Call(thread, operation, begin, self.tick, outcome))
            if not left and running and rng.random() < 0.04:
                thread, (operation, begin, _) = running.popitem()
                calls.append(Call(thread, operation, begin, None, None))
        return calls

    def effect(self, operation: Operation) -> Outcome:
        rng, state = self.rng, self.states[-1]
        fault = rng.random() < self.faults
        if operation.is_write:
            after, outcome = self.model.apply(state, operation)
            if fault and rng.random() < 0.5:
                after = self.mixture(state, after)
            self.states.append(after)
            return rng.choice((raised(ErrorKind.OTHER), returned("a"))) if fault and rng.random() < 0.1 else outcome
        if fault:
            older = rng.choice(self.states[-4:])
            state = self.mixture(older, state) if rng.random() < 0.5 else older
        _, outcome = self.model.apply(state, operation)
        return self.spoiled(outcome) if fault and rng.random() < 0.2 else outcome

    def mixture(self, old: State, new: State) -> State:
        """Some keys as they were, as after a torn replace, a lost update or an undone deletion."""
        stored = dict(new.stored)
        for key in self.keys:
            if self.rng.random() < 0.5:
                stored.pop(key, None)
                if key in old.stored:
                    stored[key] = old.stored[key]
        return replace(new, stored=stored)

    def spoiled(self, outcome: Outcome) -> Outcome:
        rng = self.rng
        stamps = tuple(sorted(rng.sample([f"v{number}" for number in range(self.stamps + 1)], 1)))
        value = outcome.value
        fewer = value[1:] if isinstance(value, tuple) else None
        return rng.choice(
            [
                raised(ErrorKind.OTHER),
                returned(stamps),
                returned(fewer),
                returned("v1"),
                returned(("n1",)),
                returned(("b", "a")),
                returned(("v1", "v1")),
                returned(),
            ]
        )

    def swap_outcomes(self, calls: list[Call]) -> None:
        reads = [number for number, call in enumerate(calls) if call.outcome and not call.operation.is_write]
        if len(reads) > 1:
            one, other = self.rng.sample(reads, 2)
            if calls[one].operation.name == calls[other].operation.name:
                outcomes = calls[one].outcome, calls[other].outcome
                calls[one] = replace(calls[one], outcome=outcomes[1])
                calls[other] = replace(calls[other], outcome=outcomes[0])

    def item(self) -> Item:
        rng = self.rng
        self.stamps += 1
        zones = tuple([zone for zone in VALUES["zone"] if rng.random() < 0.4])
        values: dict[str, tuple[str, ...] | None] = {"node": (rng.choice(VALUES["node"]),), "zone": zones}
        key: str | None = rng.choice(self.keys)
        if self.odd and rng.random() < 0.2:
            key = rng.choice((None, key))
            values = rng.choice(({}, {"node": None}, {"node": ("n1", "n1"), "zone": ()}))
        return Item(key, f"v{self.stamps}", values)

    def operation(self) -> Operation:
        rng = self.rng
        if rng.random() >= self.writes:
            return self.read()
        if rng.random() >= self.wide:
            roll = rng.random()
            return op.delete(self.item()) if roll < 0.35 else (op.add if roll < 0.6 else op.update)(self.item())
        if rng.random() < 0.5:
            return op.replace(tuple([self.item() for _ in range(rng.randint(0, 3))]))
        entries = [(rng.choice(tuple(WriteKind)), self.item()) for _ in range(rng.randint(0, 3))]
        return op.transaction(*entries)

    def read(self) -> Operation:
        rng = self.rng
        index = rng.choice(INDEXES)
        if self.odd and rng.random() < 0.15:
            return rng.choice(
                [
                    op.resync(),
                    op.get_indexers(),
                    op.add_indexers("node"),
                    op.bookmark("7"),
                    op.by_index("unknown", "n1"),
                    op.index_keys("unknown", "n1"),
                    op.list_index_func_values("unknown"),
                    op.index("unknown", self.item()),
                ]
            )
        groups = {
            None: ("get", "get_by_key", "list", "list_keys", "index", "index_keys", "by_index", "values"),
            "keys": ("list_keys", "index_keys", "get_by_key"),
            "values": ("values", "values", "index_keys", "list_keys"),
            "objects": ("list", "by_index", "index"),
        }
        name = rng.choice(groups[self.favourites])
        if name == "get_by_key":
            return op.get_by_key(rng.choice(self.keys))
        if name == "list":
            return op.list_objects()
        if name == "list_keys":
            return op.list_keys()
        if name == "values":
            return op.list_index_func_values(index)
        if name == "by_index":
            return op.by_index(index, rng.choice(VALUES[index]))
        if name == "index_keys":
            return op.index_keys(index, rng.choice(VALUES[index]))
        return op.index(index, self.item()) if name == "index" else op.get(self.item())


def histories(seed: int, count: int) -> Iterator[History]:
    simulator = Simulator(seed)
    for _ in range(count):
        yield simulator.history()


def agrees(observed: Outcome, expected: Outcome) -> bool:
    return observed.agrees_with(expected)


def generic_status(history: History) -> Status:
    model = MODELS[history.semantics]
    return search_linearization(model, model.initial(history.indexes), history.calls, SearchBudget(), agrees).status


@pytest.mark.parametrize("seed", range(CHUNKS))
def test_verdict_equals_that_of_the_generic_search(seed: int) -> None:
    verdicts: Counter[Status] = Counter()
    for history in histories(seed, HISTORIES // CHUNKS):
        assert not why_not(history), history
        status = judge_history(history).status
        verdicts[status] += 1
        assert status is generic_status(history), history
    assert min(verdicts[Status.OK], verdicts[Status.VIOLATION]) > HISTORIES // CHUNKS // 6, verdicts


def monitored(history: History, least_stretch: int) -> FrontierResult:
    """The answer of the monitor to the same calls, as they begin and end."""
    monitor = HistoryMonitor(history.indexes, history.semantics, least_stretch=least_stretch)
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
    simulator = Simulator(seed)
    simulator.open_a_store()
    simulator.faults, simulator.wide = 0.0, 0.05
    calls = [call for call in simulator.concurrent(threads, size) if call.returned is not None or call.outcome is None]
    return simulator.finished(calls)


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
    result = judge_history(history, budget=FrontierBudget(configurations=50))
    assert result.status is Status.UNKNOWN
    assert 0 < result.judged < len(history.calls)
    verdict = check_linearizable(history, budget=SearchBudget(steps=50))
    assert verdict.status is Status.UNKNOWN
    assert f"{result.judged} of {len(history.calls)} calls" in verdict.reason


def test_monitor_forgets_the_past() -> None:
    monitor = HistoryMonitor(INDEXES, least_stretch=10)
    for number in range(2_000):
        item = Item(f"k{number % 5}", f"s{number}", {"node": ("n1",)})
        position = monitor.begin(op.add(item), 2 * number)
        monitor.end(position, returned(), 2 * number + 1)
        assert len(monitor._calls) <= 10
        assert monitor._judgement._course._translator.remembered < 2_000
    position = monitor.begin(op.get_by_key("k0"), 4_000)
    monitor.end(position, returned("s0"), 4_001)
    result = monitor.finish()
    assert (result.status, result.position, result.judged) == (Status.VIOLATION, 2_000, 2_001)


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
