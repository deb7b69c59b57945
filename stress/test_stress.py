"""The parts of a stress run of Indexers: pool, noise, real runs, workload, findings."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import kcache
from kcache_conformance.indexers.phases import PHASES
from kcache_conformance.phases.budget_slices import LEAST_PROGRAMS
from kcache_conformance.phases.phase import PhaseContext, PhaseOutcome
from kcache_model.finding import FindingKind
from kcache_model.history import FINAL_THREAD, PREFIX_THREAD
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import INDEX_OPERATIONS, OPTIONAL_OPERATIONS, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target, make_target
from kcache_stress.indexers.workload import Shape, random_program
from kcache_stress.interleaved.paused_run import PausedRun
from kcache_stress.objects.real_run import reproduction_of
from kcache_stress.objects.threads import ObjectStress
from kcache_stress.real_threads.noise import Level, Noise
from kcache_stress.real_threads.thread_pool import ThreadPool
from stress.material.indexer_stress import setting_of, stress_of

REFERENCE = make_target(kcache.new_indexer, "reference")
A, B = Item("a", "v1", {"node": ("n1",)}), Item("b", "v2", {"node": ("n1",)})


def target_of(indexer_class: type[kcache.Cache[Any]]) -> Target:
    return make_target(lambda key_func, indexers: indexer_class(key_func, kcache.new_thread_safe_store(indexers)))


def test_a_crew_runs_its_tasks_at_the_same_time_again_and_again() -> None:
    pool = ThreadPool(3)
    for _ in range(20):
        barrier = threading.Barrier(3, timeout=10)
        assert pool.run([lambda barrier=barrier: barrier.wait()] * 3, lambda: 0, patience_seconds=10), "not together"
    pool.close()


def test_a_crew_gives_up_when_nothing_moves_but_not_while_something_does() -> None:
    pool, gate, progress = ThreadPool(2), threading.Event(), 0

    def slow() -> None:
        nonlocal progress
        for _ in range(10):
            time.sleep(0.06)
            progress += 1

    assert pool.run([slow], lambda: progress, patience_seconds=0.3)
    assert not pool.run([lambda: None, gate.wait], lambda: 0, patience_seconds=0.3)
    assert "gate.wait" not in pool.stacks()
    gate.set()


def stressed(target: Target, seed: int = 0, programs: int | None = None, seconds: float = 60.0) -> PhaseOutcome:
    return PHASES["stress"](PhaseContext(target, seed=seed, programs=programs, seconds=seconds))


def test_a_recording_holds_every_call_in_order() -> None:
    program = Program(
        ("node",), (op.add(A),), ((op.update(A), op.by_index("node", "n1")), (op.add(B), op.get_by_key("missing")))
    )
    with stress_of(REFERENCE) as stress:
        found = stress.run(program)
    assert found.is_fine
    assert found.broken == ()
    calls = found.calls
    assert [call.operation for call in calls if call.thread == PREFIX_THREAD] == [op.add(A)]
    for number, thread in enumerate(program.threads):
        assert tuple(call.operation for call in calls if call.thread == number) == thread
    assert any(call.thread == FINAL_THREAD for call in calls)
    assert all(call.returned is not None and call.invoked <= call.returned for call in calls)
    assert list(calls) == sorted(calls, key=lambda call: call.invoked)


def test_a_hang_is_recorded_with_the_call_that_is_pending() -> None:
    class Hanging(kcache.Cache[Any]):
        def list(self) -> Any:
            threading.Event().wait()

    program = Program((), (), ((op.list_objects(), op.list_keys()), (op.list_keys(),)))
    with stress_of(target_of(Hanging), 0.3) as stress:
        finding = stress.finding(program, stress.run(program))
    assert finding.kind is FindingKind.HANG
    assert "list() did not return" in finding.summary
    assert "in list" in finding.detail
    pending = [call.operation.name for call in finding.calls if call.returned is None]
    assert pending == [OperationName.LIST]


@pytest.mark.parametrize("by_tracing", [False, True])
def test_noise_reaches_the_implementation_and_its_threads_only(
    by_tracing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.version_info < (3, 12) and not by_tracing:
        pytest.skip("there is no sys.monitoring")
    if sys.version_info >= (3, 12) and by_tracing:
        monkeypatch.setattr("kcache_stress.real_threads.noise.monitoring.free_tool", lambda: None)
    seen: set[str] = set()
    threads: set[str] = set()

    class Spying(Noise):
        def due(self, places: list[int], offset: int) -> None:
            frame = sys._getframe(1)
            while "kcache_stress" in frame.f_code.co_filename and frame.f_back is not None:
                frame = frame.f_back
            seen.add(frame.f_code.co_filename)
            threads.add(threading.current_thread().name)
            assert places[offset] == 1

    class Own(kcache.Cache[Any]):
        def list_keys(self) -> Any:
            thread = threading.Thread(target=lambda: [str(number) for number in range(3)], name="own")
            thread.start()
            thread.join()
            return super().list_keys()

    program = Program((), (), ((op.list_keys(),), (op.list_keys(),)))
    before = sys.gettrace(), threading.gettrace()
    monkeypatch.setattr("kcache_stress.objects.threads.Noise", Spying)
    monkeypatch.setattr(ObjectStress, "_level", lambda _: Level(0.5))
    with stress_of(target_of(Own)) as stress:
        for _ in range(20):
            stress.run(program)
    assert (sys.gettrace(), threading.gettrace()) == before
    assert __file__ in seen
    assert any(name.endswith("thread_safe_store.py") for name in seen)
    assert not any("kcache_stress" in name or "kcache_model" in name for name in seen)
    assert threading.__file__ not in seen
    assert {"own", "thread 2", "thread 3"} <= threads
    assert threading.current_thread().name not in threads
    assert "thread 1" not in threads, "what is read back afterwards is left alone"


def test_noise_is_rarer_at_a_place_the_more_often_it_was_passed() -> None:
    noise = Noise(1)
    places = noise.places(Noise.at.__code__)
    assert 0 in places
    offset = places.index(1)
    gaps = []
    for _ in range(2000):
        noise.due(places, offset)
        gaps.append(places[offset])
    noise.close()
    assert all(gap >= 1 for gap in gaps)
    assert sum(gaps[:100]) * 5 < sum(gaps[-100:])


def test_programs_follow_from_the_seed_and_meet_every_operation() -> None:
    programs = [random_program(seed, REFERENCE, Semantics.CURRENT) for seed in range(400)]
    assert programs == [random_program(seed, REFERENCE, Semantics.CURRENT) for seed in range(400)]
    names = {operation.name for program in programs for operation in program.operations()}
    untouched = {OperationName.MUTATE, OperationName.RESYNC, OperationName.BOOKMARK}
    assert names == set(OperationName) - untouched - {OperationName.LAST_SYNC_RESOURCE_VERSION}
    shape = Shape()
    assert all(len(program.threads) in range(shape.threads[0], shape.threads[1] + 1) for program in programs)


def test_programs_leave_out_what_is_not_supported() -> None:
    unsupported = {name.value for name in INDEX_OPERATIONS | OPTIONAL_OPERATIONS} | {"indexes", "failing_functions"}
    target = Target("t", kcache.new_indexer, frozenset(unsupported))
    for seed in range(200):
        program = random_program(seed, target, Semantics.CLASSIC)
        assert program.indexes == ()
        for operation in program.operations():
            assert target.supports(operation.name)
            assert all(None not in item.values.values() for item in operation.written)


def test_lost_updates_are_found_and_explained() -> None:
    class Racy(kcache.Cache[Any]):
        """Reads the whole content, changes it, and writes it back."""

        def add(self, obj: Any) -> None:
            key = self._key_func(obj)
            others = [other for other in self.list() if other.key != key]
            self.replace([*others, obj])

        update = add

    finding = stressed(target_of(Racy), seed=1).finding
    assert finding is not None
    assert finding.kind in (FindingKind.NONLINEARIZABLE, FindingKind.EXCEPTION)
    assert finding.core
    assert "order" in finding.summary
    assert finding.program is not None
    assert len(finding.calls) <= 40


def test_a_call_that_raises_in_some_order_can_be_confirmed() -> None:
    """An Indexer's decider names a core and no single wrong call."""

    class Raising(kcache.Cache[Any]):
        def list_keys(self) -> Any:
            raise RuntimeError("the keys change")

    program = Program((), (), ((op.list_keys(),), (op.list_keys(),)))
    for target, is_wrong in ((target_of(Raising), True), (REFERENCE, False)):
        reproduction = reproduction_of(setting_of(target), target, program, FindingKind.EXCEPTION, 0.0)
        reproduction.body()
        assert reproduction.is_wrong(PausedRun()) is is_wrong


def test_the_reference_survives(effort: Callable[[int, int], int]) -> None:
    rounds = effort(150, 400)
    outcome = stressed(replace(REFERENCE, semantics=Semantics.CURRENT), seed=7, programs=rounds)
    assert outcome.finding is None, outcome.finding
    assert outcome.counts["programs"] == rounds
    assert outcome.counts["undecided"] == 0
    assert outcome.counts["overlapping"] > rounds / 4, "threads must really meet"
    assert outcome.sample is not None


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_a_run_ends_when_its_time_is_up(seconds: float) -> None:
    programs = stressed(REFERENCE, seconds=seconds).counts["programs"]
    least = LEAST_PROGRAMS["stress"]
    assert programs >= least, "the first rounds are run in any case"
    assert programs == least or seconds
