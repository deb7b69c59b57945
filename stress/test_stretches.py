"""Long runs on one Indexer: stretches, sessions, what is said of a violation, and how often calls met."""

from __future__ import annotations

import gc
import io
import itertools
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from rich.console import Console

import kcache
from kcache_conformance.report.coverage_table import coverage_table
from kcache_model.call_program import own_hash_seed
from kcache_model.finding import Finding, FindingKind
from kcache_model.history import Call
from kcache_model.indexers import operations as op
from kcache_model.indexers.check import check_linearizable
from kcache_model.indexers.excerpt import calls_to_show, cut_down
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.just_in_time import why_not
from kcache_model.indexers.operations import INDEX_OPERATIONS, OPTIONAL_OPERATIONS, Operation, OperationName
from kcache_model.indexers.program import History, Program
from kcache_model.indexers.target import Target, make_target
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.outcomes import ErrorKind, returned
from kcache_model.verdict import Status
from kcache_stress.indexers.rounds import stress_rounds
from kcache_stress.indexers.session import Session
from kcache_stress.indexers.workload import Length, Stretch, stretches
from kcache_stress.objects.threads import ObjectStress, Round
from kcache_stress.real_threads.coverage import Coverage, overlapping
from stress.material.indexer_stress import PATIENCE_SECONDS, setting_of, stress_of

REFERENCE = make_target(kcache.new_indexer, "reference")
SHORT = Length(calls=(4, 12), stretches=6)


def target_of(indexer_class: type[kcache.Cache[Any]]) -> Target:
    return make_target(lambda key_func, indexers: indexer_class(key_func, kcache.new_thread_safe_store(indexers)))


class Played(NamedTuple):
    """A stretch as a program, and its round."""

    program: Program
    round: Round


class Stage:
    """A session with what it needs."""

    def __init__(self, stress: ObjectStress, target: Target) -> None:
        self.stress = stress
        self.session = Session(stress, target, setting_of(target))

    def play(self, stretch: Stretch) -> Played:
        return Played(*self.session.play(stretch))

    def finding(self, played: Played) -> Finding | None:
        return None if played.round.kind is None else self.stress.finding(*played)


@pytest.fixture
def stage() -> Any:
    with ExitStack() as opened:

        def new(
            target: Target = REFERENCE,
            semantics: Semantics = Semantics.CLASSIC,
            patience_seconds: float = PATIENCE_SECONDS,
        ) -> Stage:
            target = replace(target, semantics=semantics)
            return Stage(opened.enter_context(stress_of(target, patience_seconds)), target)

        yield new


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
        calls |= {id(call): call for call in each.round.calls[len(each.program.prefix) :]}
    ordered = sorted(calls.values(), key=lambda call: call.invoked)
    return History(("node", "tags"), tuple(ordered), played[0].program.semantics)


@pytest.mark.parametrize("seed", range(6))
def test_a_session_is_judged_as_its_whole_history_is(seed: int, stage: Stages) -> None:
    """And each stretch as if it had been a program on a new Indexer."""
    semantics = list(Semantics)[seed % 2]
    on = stage(REFERENCE, semantics)
    played = [on.play(stretch) for stretch in stretches(seed, REFERENCE, semantics, SHORT)]
    assert {each.round.verdict.status for each in played} == {Status.OK}
    assert check_linearizable(whole(played)).status is Status.OK
    assert {check_linearizable(History(("node", "tags"), each.round.calls, semantics)).status for each in played} == {
        Status.OK
    }
    assert all(each.round.is_fine for each in played)


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
        if not played[-1].round.is_fine:
            break
    assert played[-1].round.verdict.status is Status.VIOLATION
    assert len(played) > 5
    assert check_linearizable(whole(played)).status is Status.VIOLATION
    assert all(check_linearizable(whole(played[:-1])).status is Status.OK for _ in played[1:2])
    finding = on.finding(played[-1])
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
        assert on.play(scripted(updates(20, 100 * number), [op.list_objects()] * 20)).round.is_fine

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
    assert played.round.is_fine
    assert sum(call.thread >= 0 for call in played.round.calls) == 80


def test_a_hang_in_the_middle_of_a_stretch(stage: Stages) -> None:
    on = stage(target_of(Hanging), Semantics.CLASSIC, 0.5)
    finding = on.finding(on.play(LISTINGS))
    assert finding is not None
    assert finding.kind is FindingKind.HANG
    assert "list_keys() did not return" in finding.summary
    assert "in happen" in finding.detail
    assert [call.operation.name for call in finding.calls if call.returned is None] == [OperationName.LIST_KEYS]
    assert finding.program is not None
    assert len(finding.program) <= 24


def test_an_exception_in_the_middle_of_a_stretch(stage: Stages) -> None:
    on = stage(target_of(Raising))
    finding = on.finding(on.play(LISTINGS))
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
        finding = on.finding(on.play(scripted(updates(10, 100 * number), [op.list_keys()] * 5)))
        kinds.append(None if finding is None else finding.kind)
    wrong = FindingKind.INVARIANT if indexer_class.wrong else None
    assert kinds == [None, None, wrong, wrong]


def test_a_slow_implementation_is_not_accused_however_long_a_stretch_takes(stage: Stages) -> None:
    class Slow(kcache.Cache[Any]):
        def list_keys(self) -> Any:
            time.sleep(0.1)
            return super().list_keys()

    on = stage(target_of(Slow), Semantics.CLASSIC, 2.0)
    played = on.play(scripted([op.list_keys()] * 200, [op.list_keys()] * 200))
    assert played.round.is_fine
    made = sum(call.thread >= 0 for call in played.round.calls)
    assert 0 < made < 400, "what does not fit into a second is left out"
    assert on.play(scripted([op.list_keys()], [op.list_objects()])).round.is_fine


def test_an_indexer_that_cannot_be_listed_is_new_for_each_stretch() -> None:
    made = []

    def factory(key_func: Any, indexers: Any) -> Any:
        made.append(1)
        return kcache.new_indexer(key_func, indexers)

    target = Target("t", factory, frozenset({"list"}))
    with stress_of(target) as stress:
        for _, found in itertools.islice(stress_rounds(stress, target, setting_of(target), 0, length=SHORT), 30):
            assert found.is_fine
        assert len(made) == stress.rounds


def test_nothing_is_said_of_the_reference_in_sessions_with_many_threads() -> None:
    target = replace(REFERENCE, semantics=Semantics.CURRENT)
    with stress_of(target, threads=16) as stress:
        for _, found in itertools.islice(stress_rounds(stress, target, setting_of(target), 0, 16, length=SHORT), 12):
            assert found.is_fine


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
    on = stage(target_of(Stale))
    played = on.play(scripted([*updates(150), *gets], gets))
    assert played.round.verdict.status is Status.VIOLATION
    finding = on.finding(played)
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


def test_a_finding_is_made_smaller_by_repeating(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = updates(2)
    noise = [op.list_keys()] * 5
    program = Program((), (), ((*noise, a, *noise), (*noise, b, *noise)))
    large, small = (Round((), CallsVerdict(Status.VIOLATION, reason)) for reason in ("large", "small"))

    def repeat(_: ObjectStress, candidate: Program, seconds: float, kind: FindingKind) -> Round | None:
        assert seconds > 0
        assert kind is FindingKind.NONLINEARIZABLE
        names = [{operation.name for operation in thread} for thread in candidate.threads]
        return small if sum(OperationName.UPDATE in thread for thread in names) == 2 else None

    monkeypatch.setattr(ObjectStress, "repeat", repeat)
    with stress_of(REFERENCE) as stress:
        found = stress.finding(program, large, seconds=60.0)
    assert found.summary == "small"
    assert found.program is not None
    assert len(found.program) == 2


@pytest.mark.parametrize("kind", [FindingKind.HANG, FindingKind.NONLINEARIZABLE])
def test_a_finding_that_cannot_be_repeated_stays_as_it_is(kind: FindingKind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ObjectStress, "repeat", lambda *_: None)
    program = Program((), (), (tuple(updates(5)), tuple([op.list_keys()] * 5)))
    is_hang = kind is FindingKind.HANG
    verdict = CallsVerdict(Status.UNKNOWN if is_hang else Status.VIOLATION, "seen once")
    with stress_of(REFERENCE) as stress:
        found = stress.finding(program, Round((), verdict, "the stacks" if is_hang else ""), seconds=60.0)
    assert found.kind is kind
    assert found.program == program.with_hash_seed(own_hash_seed())
    assert found.schedule


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
    coverage.add(played.round.calls)
    assert coverage.counts == {("update", "ok"): 5, ("by_index", "index_not_found"): 5}
    assert all(coverage.overlapped[entry] <= count for entry, count in coverage.counts.items())
    alone = stage().play(scripted(updates(5)))
    coverage = Coverage()
    assert not coverage.add(alone.round.calls)
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
