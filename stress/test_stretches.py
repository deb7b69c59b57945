"""Long runs on one Indexer: stretches, sessions, what is said of a violation, and how often calls met."""

from __future__ import annotations

import gc
import io
import itertools
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from rich.console import Console

import kcache
from kcache_conformance.report.coverage_table import coverage_table
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.just_in_time import why_not
from kcache_model.indexers.operations import INDEX_OPERATIONS, OPTIONAL_OPERATIONS, Operation, OperationName
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.target import Target, make_target
from kcache_model.outcomes import ErrorKind, returned
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.indexers.evidence import calls_to_show, cut_down
from kcache_stress.indexers.judge import judge_stretch
from kcache_stress.indexers.session import Played, Session
from kcache_stress.indexers.shrinking import smaller
from kcache_stress.indexers.stress import StressOptions, stress
from kcache_stress.indexers.workload import Length, Stretch, stretches
from kcache_stress.real_threads.coverage import Coverage, overlapping
from kcache_stress.real_threads.noise import Level, Noise
from kcache_stress.real_threads.thread_pool import ThreadPool

REFERENCE = make_target(kcache.new_indexer, "reference")
SHORT = Length(calls=(4, 12), stretches=6)
PATIENCE_SECONDS = 20.0


def target_of(indexer_class: type[kcache.Cache[Any]]) -> Target:
    return make_target(lambda key_func, indexers: indexer_class(key_func, kcache.new_thread_safe_store(indexers)))


class Stage:
    """A session with what it needs."""

    def __init__(self, target: Target = REFERENCE, semantics: Semantics = Semantics.CLASSIC) -> None:
        self.noise = Noise(0)
        self.pool = ThreadPool(4)
        self.session = Session(target, ("node", "tags"), semantics, self.noise)

    def play(self, stretch: Stretch, patience_seconds: float = PATIENCE_SECONDS) -> Played:
        return self.session.play(stretch, self.pool, Level(0.01), patience_seconds, NoProgress())

    def close(self) -> None:
        self.noise.close()
        self.pool.close()


@pytest.fixture
def stage() -> Any:
    opened = []

    def new(*arguments: Any) -> Stage:
        opened.append(Stage(*arguments))
        return opened[-1]

    yield new
    for each in opened:
        each.close()


Stages = Callable[..., Stage]


def scripted(*threads: Sequence[Operation]) -> Stretch:
    return Stretch("scripted", tuple(map(tuple, threads)))


def updates(count: int, first: int = 0, key: str = "k0") -> list[Operation]:
    return [op.update(Item(key, f"v{first + number}", {"node": ("n0",)})) for number in range(count)]


# What the threads do


@pytest.mark.parametrize("semantics", Semantics)
@pytest.mark.parametrize("strict_errors", [False, True])
def test_stretches_follow_from_the_seed_and_can_be_judged_while_they_run(
    semantics: Semantics, strict_errors: bool
) -> None:
    names, themes = set(), set()
    for seed in range(60):
        made = list(stretches(seed, REFERENCE, semantics, SHORT, strict_errors=strict_errors))
        assert made == list(stretches(seed, REFERENCE, semantics, SHORT, strict_errors=strict_errors))
        operations = [operation for stretch in made for thread in stretch.threads for operation in thread]
        calls = tuple(Call(0, operation, tick, tick, returned()) for tick, operation in enumerate(operations))
        history = History(("node", "tags"), calls, semantics)
        assert why_not(history, strict_errors=strict_errors) == "", "stamps are unique, no index comes late"
        names |= {operation.name for operation in operations}
        themes |= {stretch.theme for stretch in made}
    missing = {OperationName.MUTATE, OperationName.RESYNC, OperationName.BOOKMARK}
    missing |= {OperationName.LAST_SYNC_RESOURCE_VERSION}
    if strict_errors and semantics is Semantics.CLASSIC:
        missing |= {OperationName.ADD_INDEXERS}
    assert names == set(OperationName) - missing
    assert len(themes) > 5


def test_stretches_leave_out_what_is_not_supported() -> None:
    unsupported = {name.value for name in INDEX_OPERATIONS | OPTIONAL_OPERATIONS} | {"indexes", "failing_functions"}
    target = Target("t", kcache.new_indexer, frozenset({*unsupported, "replace"}))
    for seed in range(40):
        for stretch in stretches(seed, target, Semantics.CLASSIC, SHORT):
            for operation in itertools.chain(*stretch.threads):
                assert target.supports(operation.name)
                assert all(None not in item.values.values() for item in operation.written)


@pytest.mark.parametrize("threads", [1, 3, 64])
def test_there_are_as_many_threads_as_asked_for_and_few_that_write(threads: int) -> None:
    length = Length(threads=(threads, threads), calls=(4, 4), stretches=3)
    for seed in range(20):
        for stretch in stretches(seed, REFERENCE, Semantics.CLASSIC, length):
            assert len(stretch.threads) == threads
            assert sum(any(operation.is_write for operation in thread) for thread in stretch.threads) <= 4


# Judged while it goes on


def whole(played: Sequence[Played]) -> History:
    """Everything that happened on one Indexer as one history."""
    calls: dict[int, Call] = {}
    for each in played:
        history = each.recording.history
        calls |= {id(call): call for call in history.calls[len(each.program.prefix) :]}
    ordered = sorted(calls.values(), key=lambda call: call.invoked)
    return History(("node", "tags"), tuple(ordered), played[0].program.semantics)


@pytest.mark.parametrize("seed", range(6))
def test_a_session_is_judged_as_its_whole_history_is(seed: int, stage: Stages) -> None:
    """And each stretch as if it had been a program on a new Indexer."""
    semantics = list(Semantics)[seed % 2]
    on = stage(REFERENCE, semantics)
    played = [on.play(stretch) for stretch in stretches(seed, REFERENCE, semantics, SHORT)]
    assert {each.status for each in played} == {Status.OK}
    assert check_linearizable(whole(played)).status is Status.OK
    assert {check_linearizable(each.recording.history).status for each in played} == {Status.OK}
    assert not any(each.recording.broken or each.recording.hung for each in played)


class Forgetful(kcache.Cache[Any]):
    """Forgets every fiftieth update."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._updates = itertools.count(1)

    def update(self, obj: Any) -> None:
        if next(self._updates) % 50:
            super().update(obj)


def test_a_violation_ends_the_session_and_is_one_of_its_whole_history(stage: Stages) -> None:
    on = stage(target_of(Forgetful))
    played = []
    for number in range(30):
        first = 100 * number
        played.append(on.play(scripted(updates(6, first), [op.get_by_key("k0")] * 6)))
        if played[-1].status is not Status.OK:
            break
    assert played[-1].status is Status.VIOLATION
    assert len(played) > 5
    assert check_linearizable(whole(played)).status is Status.VIOLATION
    assert all(check_linearizable(whole(played[:-1])).status is Status.OK for _ in played[1:2])
    finding = judge_stretch(played[-1]).finding
    assert finding is not None
    assert finding.kind is FindingKind.NONLINEARIZABLE
    assert finding.core
    assert finding.program is not None
    assert [call.outcome for call in finding.calls]
    assert len(finding.calls) <= 24


def test_a_long_session_keeps_no_calls(stage: Stages) -> None:
    on = stage()

    def alive() -> int:
        gc.collect()
        return sum(issubclass(type(thing), Call) for thing in gc.get_objects())  # objects of other tests may lie

    def play(number: int) -> None:
        played = on.play(scripted(updates(20, 100 * number), [op.list_objects()] * 20))
        assert played.status is Status.OK

    before = alive()
    for number in range(60):
        play(number)
    assert alive() - before < 3 * 60, "the calls of the last stretch, not of sixty"


# Whatever goes wrong becomes a finding


class Gated(kcache.Cache[Any]):
    """Something happens at the thirtieth lookup."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lookups = itertools.count(1)

    def list_keys(self) -> Any:
        if next(self._lookups) == 30:
            self.happen()
        return super().list_keys()

    def happen(self) -> None:
        """Nothing."""


class Hanging(Gated):
    def happen(self) -> None:
        threading.Event().wait()


class Raising(Gated):
    def happen(self) -> None:
        raise RuntimeError("at the thirtieth")


LISTINGS = scripted([op.list_keys()] * 40, [*updates(20), *[op.list_keys()] * 20])


def test_nothing_is_said_of_a_stretch_in_which_nothing_happens(stage: Stages) -> None:
    played = stage(target_of(Gated)).play(LISTINGS)
    assert judge_stretch(played).finding is None
    assert played.status is Status.OK
    assert len(played.calls) == 80


def test_a_hang_in_the_middle_of_a_stretch(stage: Stages) -> None:
    finding = judge_stretch(stage(target_of(Hanging)).play(LISTINGS, 0.5)).finding
    assert finding is not None
    assert finding.kind is FindingKind.HANG
    assert "list_keys did not return" in finding.summary
    assert "in happen" in finding.detail
    assert [call.operation.name for call in finding.calls if call.returned is None] == [OperationName.LIST_KEYS]
    assert finding.program is not None
    assert len(finding.program) <= 24


def test_an_exception_in_the_middle_of_a_stretch(stage: Stages) -> None:
    finding = judge_stretch(stage(target_of(Raising)).play(LISTINGS)).finding
    assert finding is not None
    assert finding.kind is FindingKind.EXCEPTION
    (position,) = finding.core
    outcome = finding.calls[position].outcome
    assert outcome is not None
    assert outcome.error is ErrorKind.OTHER


class Snapshotted(kcache.Cache[Any]):
    """Shows its inner state, whose index is wrong once there were thirty updates."""

    wrong = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.updates = 0

    def update(self, obj: Any) -> None:
        super().update(obj)
        self.updates += 1

    def kcache_snapshot(self) -> dict[str, Any]:
        items = {key: self.get_by_key(key) for key in self.list_keys()}
        index: dict[str, set[str]] = {}
        for key, obj in items.items():
            for value in obj.values.get("node", ()):
                index.setdefault(value, set()).add(key)
        if self.wrong and self.updates >= 30:
            index["stale"] = {"gone"}
        return {"items": items, "indices": {"node": index, "tags": {}}}


class WronglySnapshotted(Snapshotted):
    wrong = True


@pytest.mark.parametrize("indexer_class", [Snapshotted, WronglySnapshotted])
def test_a_broken_rule_after_a_stretch(indexer_class: type[Snapshotted], stage: Stages) -> None:
    on = stage(target_of(indexer_class))
    kinds = []
    for number in range(4):
        finding = judge_stretch(on.play(scripted(updates(10, 100 * number), [op.list_keys()] * 5))).finding
        kinds.append(None if finding is None else finding.kind)
    wrong = FindingKind.INVARIANT if indexer_class.wrong else None
    assert kinds == [None, None, wrong, wrong]


def test_a_slow_implementation_is_not_accused_however_long_a_stretch_takes(stage: Stages) -> None:
    class Slow(kcache.Cache[Any]):
        def list_keys(self) -> Any:
            time.sleep(0.1)
            return super().list_keys()

    on = stage(target_of(Slow))
    played = on.play(scripted([op.list_keys()] * 200, [op.list_keys()] * 200), 2.0)
    assert played.recording.hung == ""
    assert played.status is Status.OK
    assert 0 < len(played.calls) < 400, "what does not fit into a second is left out"
    assert on.play(scripted([op.list_keys()], [op.list_objects()]), 2.0).status is Status.OK


def test_an_indexer_that_cannot_be_listed_is_new_for_each_stretch() -> None:
    made = []

    def factory(key_func: Any, indexers: Any) -> Any:
        made.append(1)
        return kcache.new_indexer(key_func, indexers)

    target = Target("t", factory, frozenset({"list"}))
    report = stress(target, Semantics.CLASSIC, StressOptions(seconds=60, rounds=30, length=SHORT))
    assert report.finding is None
    assert len(made) == report.rounds


def test_nothing_is_said_of_the_reference_in_sessions_with_many_threads() -> None:
    options = StressOptions(seconds=120, rounds=12, length=SHORT).with_threads(16)
    report = stress(REFERENCE, Semantics.CURRENT, options)
    assert report.finding is None
    assert report.undecided == 0


# What is shown of a violation


def test_the_calls_of_a_long_violation_are_few(stage: Stages) -> None:
    class Stale(kcache.Cache[Any]):
        """One lookup sees what was there long ago."""

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self._gets = itertools.count(1)
            self._first: list[Any] = []

        def update(self, obj: Any) -> None:
            super().update(obj)
            self._first = self._first or [obj]

        def get_by_key(self, key: str, default: Any = None) -> Any:
            found = super().get_by_key(key, default)
            first = self._first
            if next(self._gets) > 100 and first and found is not first[0]:
                self._gets = itertools.count(-10_000)
                return first[0]
            return found

    gets = [op.get_by_key("k0")] * 200
    played = stage(target_of(Stale)).play(scripted([*updates(150), *gets], gets))
    assert played.status is Status.VIOLATION
    finding = judge_stretch(played).finding
    assert finding is not None
    assert len(finding.calls) <= 24
    assert finding.program is not None
    assert 2 <= len(finding.program) <= 24
    shown = [finding.calls[position] for position in finding.core]
    assert any(call.operation.name is OperationName.GET_BY_KEY for call in shown)
    assert check_linearizable(History(("node", "tags"), finding.calls)).status is Status.VIOLATION


def test_a_program_cut_down_begins_with_what_the_store_held_then() -> None:
    writes = updates(40)
    calls = [Call(0, operation, 10 * tick, 10 * tick + 5, returned()) for tick, operation in enumerate(writes)]
    calls.append(Call(1, op.get_by_key("k0"), 382, 383, returned("v3")))
    history = History(("node",), tuple(sorted(calls, key=lambda call: call.invoked)))
    shown = calls_to_show(history, [calls[38], calls[-1]])
    assert [call for call in shown if call.operation.name is OperationName.GET_BY_KEY]
    assert calls[3] in shown, "who wrote what was seen"
    recent = [call for call in shown if call is not calls[3]]
    program = cut_down(Program(("node",), (), (tuple(writes), (op.get_by_key("k0"),))), history, recent)
    (held,) = program.prefix
    assert held.item is not None
    first = program.threads[0][0].item
    assert first is not None
    assert int(first.stamp[1:]) == int(held.item.stamp[1:]) + 1
    assert len(program) <= 24


def test_a_finding_is_made_smaller_by_repeating() -> None:
    a, b = updates(2)
    noise = [op.list_keys()] * 5
    program = Program((), (), ((*noise, a, *noise), (*noise, b, *noise)))
    finding = Finding(FindingKind.NONLINEARIZABLE, "stress", "large", program)
    tried = []

    def repeat(candidate: Program, seconds: float) -> Finding | None:
        assert seconds > 0
        tried.append(candidate)
        names = [{operation.name for operation in thread} for thread in candidate.threads]
        shows = sum(OperationName.UPDATE in thread for thread in names) == 2
        return Finding(FindingKind.NONLINEARIZABLE, "stress", "small", candidate) if shows else None

    found = smaller(finding, repeat, 60.0)
    assert found.summary == "small"
    assert found.program is not None
    assert len(found.program) == 2
    assert tried[0] == program


@pytest.mark.parametrize("kind", [FindingKind.HANG, FindingKind.NONLINEARIZABLE])
def test_a_finding_that_cannot_be_repeated_stays_as_it_is(kind: FindingKind) -> None:
    program = Program((), (), (tuple(updates(5)), tuple([op.list_keys()] * 5)))
    finding = Finding(kind, "stress", "seen once", program)
    assert smaller(finding, lambda _program, _seconds: None, 60.0) is finding


# How often calls met


def test_overlaps_are_those_of_every_pair() -> None:
    rng = random.Random(1)
    for _ in range(200):
        calls = []
        for thread in range(3):
            tick = rng.randint(0, 6)
            for _ in range(rng.randint(0, 5)):
                end = tick + rng.randint(0, 4)
                calls.append(Call(thread, op.list_keys(), tick, end, returned(())))
                tick = end + rng.randint(1, 5)
        calls.sort(key=lambda call: call.invoked)
        expected = [
            any(
                call.thread != other.thread and not call.precedes(other) and not other.precedes(call) for other in calls
            )
            for call in calls
        ]
        assert overlapping(calls) == expected


def test_calls_are_counted_by_outcome_and_overlap(stage: Stages) -> None:
    played = stage().play(scripted(updates(5), [op.by_index("missing", "n0")] * 5))
    coverage = Coverage()
    coverage.add(played.recording.history.calls)
    assert coverage.counts == {("update", "ok"): 5, ("by_index", "index_not_found"): 5}
    assert all(coverage.overlapped[entry] <= count for entry, count in coverage.counts.items())
    alone = stage().play(scripted(updates(5)))
    coverage = Coverage()
    assert not coverage.add(alone.recording.history.calls)
    assert coverage.overlapped.total() == 0


def test_the_coverage_table(golden: Callable[[str, str], None]) -> None:
    counts = {
        "add": {"ok": 12_345, "index_func": 210},
        "update": {"ok": 1_000_000},
        "list_index_func_values": {"ok": 7},
        "by_index": {"index_not_found": 30, "ok": 4_000},
        "add_indexers": {"indexers_running": 3, "indexer_conflict": 2},
    }
    overlapped = {"add": {"ok": 12_000, "index_func": 100}, "update": {"ok": 654_321}, "by_index": {"ok": 3_999}}
    console = Console(file=io.StringIO(), width=100, color_system=None)
    with console.capture() as capture:
        console.print(coverage_table(counts, overlapped))
    golden("coverage_table", "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n")
