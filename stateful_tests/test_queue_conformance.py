"""Queues against their model: the reference in every way, the contract, findings, hangs, and words."""

from __future__ import annotations

import dataclasses
import sys
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kcache.queues import FIFO, DeltaFIFO, RealFIFO
from kcache_conformance.objects.patient_caller import PatientCaller
from kcache_conformance.objects.programs import LARGER_SHAPES, SHAPES, litmus_tests, random_program
from kcache_conformance.objects.sequential import SequentialSetup, run_program
from kcache_conformance.phases.phase import PhaseContext
from kcache_conformance.queues.object_types import DELTA_FIFO, REAL_FIFO
from kcache_conformance.queues.object_types import FIFO as FIFO_TYPE
from kcache_conformance.queues.recorded import recorded_programs
from kcache_conformance.queues.target import QueueTarget, make_queue_target
from kcache_conformance.report.interleaving import interleaving_text
from kcache_conformance.runs.suite import SuiteOptions, run_suite
from kcache_conformance.targets.gallery import QueueExample, queue_gallery
from kcache_conformance.targets.target_types import TARGET_TYPES, type_of_token
from kcache_model.errors import FormatError, TargetError
from kcache_model.finding import FindingKind
from kcache_model.object_types.smaller import smaller
from kcache_model.object_types.specification import follow, may_wait_for_ever
from kcache_model.progress import NoProgress
from kcache_model.queues import operations as op
from kcache_model.queues.models import model_of
from kcache_model.queues.operations import Version
from kcache_model.queues.program import QueueKind, QueueOptions, QueueProgram
from kcache_model.verdict import Status
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.execution import Execution
from kcache_stress.engine.search import SearchLimits, SearchResult, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.objects.findings import token_format
from kcache_stress.objects.named_target import load_object_target
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.strategies.naive import Naive
from kcache_stress.target.explore import ExploreOptions, explore
from kcache_stress.target.replay_token import ReplayToken

TYPES = {QueueKind(found.name): found for found in (FIFO_TYPE, DELTA_FIFO, REAL_FIFO)}
TOKENS = token_format(DELTA_FIFO)
A1, A2, B1 = Version("a", "a1"), Version("a", "a2"), Version("b", "b1")


def load(spec: str, kind: QueueKind) -> QueueTarget:
    target: QueueTarget = load_object_target(TYPES[kind], spec)
    return target


def reference(kind: QueueKind) -> QueueTarget:
    return load(TYPES[kind].reference, kind)


@pytest.mark.parametrize("kind", QueueKind)
def test_client_go_is_reproduced_by_the_model_and_the_reference(kind: QueueKind) -> None:
    recorded = recorded_programs(kind)
    assert recorded
    for one in recorded:
        model = model_of(kind, one.program.options)
        states: tuple[object, ...] = (model.initial(one.program),)
        for operation, outcome in zip(one.program.prefix, one.outcomes, strict=True):
            states, expected = follow(model, states, operation, outcome)
            assert outcome.agrees_with(expected, strict_errors=True), (one.id, operation)
        with closing(PatientCaller()) as makes:
            setup = SequentialSetup(TYPES[kind], reference(kind), makes, NoProgress(), strict_errors=True)
            assert run_program(setup, one.program) is None


def test_every_recorded_queue_is_translated() -> None:
    ids = {one.id for kind in QueueKind for one in recorded_programs(kind)}
    assert len(ids) == 15
    assert sum(len(one.program.prefix) for kind in QueueKind for one in recorded_programs(kind)) > 130


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", QueueKind)
def test_the_reference_passes_with_strict_errors(kind: QueueKind) -> None:
    target = reference(kind)
    for phase in TARGET_TYPES[kind].phases:
        context = PhaseContext(target, TYPES[kind].reference, SuiteOptions(strict_errors=True), seconds=0.2)
        outcome = TARGET_TYPES[kind].phases[phase](context)
        assert outcome.finding is None
        assert outcome.counts["programs"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", QueueKind)
def test_all_interleavings_of_the_telling_programs_are_right(
    kind: QueueKind, effort: Callable[[int, int], int]
) -> None:
    target = reference(kind)
    exploration_target = ObjectExplorationTarget(TYPES[kind], target)
    options = ExploreOptions("dpor", executions=20_000, seconds=60.0)
    programs = list(litmus_tests(TYPES[kind], target))
    assert len(programs) >= 20
    for program in programs[:: effort(8, 1)]:
        explored = explore(exploration_target, program, options)
        assert explored.finding is None
        assert explored.is_exhausted, program


SMALL = {
    "close and is_closed": (op.close(), op.is_closed()),
    "pop and close": (op.pop(), op.close()),
    "add and has_synced": (op.add(A1), op.has_synced()),
    "delete and len": (op.delete(A1), op.length()),
}


@pytest.mark.one_in(len(QueueKind) + 1)
@pytest.mark.parametrize("kind", QueueKind)
@pytest.mark.parametrize("name", SMALL)
def test_dpor_reaches_what_naive_enumeration_reaches(kind: QueueKind, name: str) -> None:
    target = reference(kind)
    one, other = SMALL[name]
    options = QueueOptions(known_objects=kind is QueueKind.REAL_FIFO)
    program = QueueProgram(kind, options, threads=((one,), (other,)))

    exploration_target = ObjectExplorationTarget(TYPES[kind], target)

    def reached(strategy: Strategy) -> set[object]:
        outcomes: set[object] = set()
        with exploration_target.open_runner(program) as (runner, judge):

            def note(execution: Execution[Any]) -> None:
                outcomes.add((tuple(map(tuple, execution.outcomes)), execution.prefix, execution.final))

            result = search(runner, strategy, judge, SearchLimits(20_000, 60.0), on_execution=note)
        assert result.coverage is Coverage.EXHAUSTED
        return outcomes

    assert reached(Dpor()) == reached(Naive())


ENUMERATED = ("fifo_linked_cells", "real_immutable_tuple", "process_outside_lock", "unlocked_update")
"""Examples with few locks, whose small programs naive enumeration can exhaust soon."""


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=example.name, marks=() if example.name in ENUMERATED else pytest.mark.nightly)
        for example in queue_gallery()
    ],
)
def test_all_orders_that_happens_before_admits_are_wrong_if_and_only_if_one_that_happens_is(
    example: QueueExample, effort: Callable[[int, int], int]
) -> None:
    """DPOR judges orders that it never runs; naive enumeration runs all of them, and judges what happened."""
    kind = QueueKind(example.makes)
    target = load(f"{example.path}:{example.factory}", kind)
    exploration_target = ObjectExplorationTarget(TYPES[kind], target)

    def searched(program: QueueProgram, strategy: Strategy, most: int) -> SearchResult[Any]:
        with exploration_target.open_runner(program) as (runner, judge):
            return search(runner, strategy, judge, SearchLimits(most, 600.0))

    compared = 0
    candidates = (program for program in litmus_tests(TYPES[kind], target) if len(program) - len(program.prefix) <= 3)
    for program in candidates:
        naive = searched(program, Naive(), 400)
        if naive.problem is None and naive.coverage is Coverage.BUDGET_SPENT:
            continue
        reduced = searched(program, Dpor(), 1_500)
        assert (reduced.problem is None) == (naive.problem is None), (program, naive.problem, reduced.problem)
        assert reduced.problem is not None or reduced.executions <= naive.executions
        compared += 1
        if compared == effort(2, 30):
            break
    assert compared or example.name not in ENUMERATED


def test_random_programs_never_wait_for_ever_and_fit_the_target() -> None:
    for kind in QueueKind:
        target = reference(kind)
        for seed in range(100):
            shapes = LARGER_SHAPES if seed % 2 == 0 else SHAPES
            program = random_program(seed, TYPES[kind], target, shapes)
            assert target.allows(program)
            assert not waits_for_ever(program)
            assert random_program(seed, TYPES[kind], target, shapes) == program


def waits_for_ever(program: QueueProgram) -> bool:
    return may_wait_for_ever(model_of(program.kind, program.options), program)


def test_what_may_wait_for_ever() -> None:
    def waits(*threads: tuple[op.Operation, ...]) -> bool:
        return waits_for_ever(QueueProgram(QueueKind.FIFO, threads=threads))

    assert waits((op.pop(),))
    assert not waits((op.pop(),), (op.close(),))
    assert waits((op.pop(), op.pop()), (op.add(A1),))
    assert waits((op.pop(), op.pop()), (op.add(A1), op.update(A2))), "both may be handed out as one"
    assert not waits((op.pop(), op.pop()), (op.add(A1), op.add(B1)))


def test_smaller_programs_keep_what_matters() -> None:
    noise = (op.add(B1), op.update(B1), op.resync(), op.has_synced())
    known = (Version("c", "c1"),)
    options = QueueOptions(known_objects=True, transformer=True)
    program = QueueProgram(QueueKind.DELTA_FIFO, options, known, (*noise, op.replace(A1, B1), *noise))

    def fails(candidate: QueueProgram) -> bool:
        return any(A1 in operation.objects for operation in candidate.operations())

    small = QueueProgram(QueueKind.DELTA_FIFO, prefix=(op.replace(A1),))
    assert smaller(DELTA_FIFO, program, fails, seconds=60) == small


# The contract.


def test_what_is_missing_is_said() -> None:
    def no_options(key_func: object) -> DeltaFIFO:
        return DeltaFIFO()

    with pytest.raises(TargetError, match=r"add emit_delta_type_replaced, known_objects, transformer, or declare"):
        make_queue_target(no_options, QueueKind.DELTA_FIFO)
    no_options.kcache_unsupported = ["emit_delta_type_replaced", "known_objects", "transformer"]  # type: ignore[attr-defined]
    assert not make_queue_target(no_options, QueueKind.DELTA_FIFO).supports("transformer")

    class Half:
        def __init__(self, key_func: object) -> None: ...

        def add(self, obj: object) -> None: ...

    with pytest.raises(TargetError, match="has no update, delete, replace, resync, pop, close, is_closed, has_synced"):
        make_queue_target(Half, QueueKind.FIFO)
    with pytest.raises(TargetError, match="kcache_unsupported names pop; known are"):
        make_queue_target(FIFO, QueueKind.FIFO, unsupported=["pop"])
    with pytest.raises(TargetError, match="cannot declare both"):
        make_queue_target(RealFIFO, QueueKind.REAL_FIFO, unsupported=["known_objects", "atomic_events"])
    with pytest.raises(TargetError, match="needs a factory"):
        make_queue_target(3, QueueKind.FIFO)  # type: ignore[arg-type]


def test_plain_deltas_will_do() -> None:
    """Types may be texts, deltas may be anything with type and object, and sequences may be lists."""

    class Plain(DeltaFIFO):
        def pop(self, process: Any, /) -> Any:
            found: list[Any] = []

            class Change:
                def __init__(self, delta: Any) -> None:
                    self.type, self.object = delta.type.value, delta.object

            def converted(deltas: Any, is_initial: bool) -> None:
                found[:] = map(Change, deltas)
                process(found, is_initial)

            super().pop(converted)
            return found

    result = run_suite(
        Plain, SuiteOptions(kind="delta-fifo", budget_seconds=1.5, phases=("smoke", "recorded", "stateful"))
    )
    assert result.status is Status.OK


# Findings.


@pytest.fixture
def spec(tmp_path: Path) -> Any:
    def write(code: str) -> str:
        file = tmp_path / "faulty.py"
        file.write_text(
            "import os, threading, time\nfrom kcache.queues import DeltaFIFO\n\n\nclass Faulty(DeltaFIFO):\n"
            + textwrap.indent(textwrap.dedent(code), "    ")
        )
        return f"{file}:Faulty"

    yield write
    sys.modules.pop("kcache_target_faulty", None)


def check(spec: str, **changes: Any) -> Any:
    options = SuiteOptions(kind="delta-fifo", budget_seconds=240.0, patience_seconds=1.0, most_findings=1)
    return run_suite(spec, dataclasses.replace(options, **changes))


@pytest.mark.waits
def test_a_pop_that_does_not_return_is_a_hang_with_its_place(spec: Any) -> None:
    result = check(
        spec("def pop(self, process, /):\n    self._changed.acquire()\n    self._changed.wait()"), patience_seconds=5.0
    )
    (finding,) = result.findings
    assert finding.kind is FindingKind.HANG
    assert finding.summary.startswith("queue.pop(process) did not return; expected: [")
    assert "in pop" in finding.detail


def test_a_queue_that_ends_the_process_is_a_crash(spec: Any) -> None:
    result = check(spec("def resync(self):\n    os._exit(7)"))
    (finding,) = result.findings
    assert finding.kind is FindingKind.CRASH
    assert finding.summary == "queue.resync() ended the process"
    assert TOKENS.decode(finding.schedule).program.prefix[-1] == op.resync()


@pytest.mark.waits
def test_a_process_that_freezes_is_a_hang(spec: Any) -> None:
    code = """
    def replace(self, objs, resource_version="", /):
        super().replace(objs, resource_version)
        self.frozen = True

    def has_synced(self):
        while getattr(self, "frozen", False):
            pass
        return super().has_synced()
    """
    result = check(spec(code), phases=("explorer",))
    (finding,) = result.findings
    assert finding.kind in (FindingKind.HANG, FindingKind.LIVELOCK)


def test_an_exception_is_shown_as_one(spec: Any) -> None:
    result = check(spec("def resync(self):\n    raise IndexError('pop from an empty deque')"))
    (finding,) = result.findings
    assert finding.kind is FindingKind.EXCEPTION
    assert "IndexError: pop from an empty deque" in finding.summary
    assert len(TOKENS.decode(finding.schedule).program) == 1


def test_the_smallest_example_is_small(spec: Any) -> None:
    result = check(spec("def is_closed(self):\n    return False"), phases=("stateful",))
    (finding,) = result.findings
    token = TOKENS.decode(finding.schedule)
    assert token.program.prefix == (op.close(), op.is_closed())
    assert token.program.options == QueueOptions()
    assert "print(queue.is_closed())  # returned False; expected: True" in finding.script


def test_a_factory_that_raises_is_no_finding(spec: Any) -> None:
    with pytest.raises(TargetError, match="raised ValueError: no"):
        check(spec("def __init__(self, key_func, **options):\n    raise ValueError('no')"))


def test_a_fixed_queue(spec: Any) -> None:
    result = check(spec("def close(self):\n    self._is_closed = True"), phases=("explorer",))
    (finding,) = result.findings
    kind = type_of_token(finding.schedule)
    assert kind is not None
    spec("pass")
    assert kind.replay(TOKENS.decode(finding.schedule), NoProgress()).answer.value == "fixed"


def test_words_hold_plain_data_only() -> None:
    program = QueueProgram(QueueKind.FIFO, prefix=(op.add(A1),), threads=((op.pop(),), (op.close(),)))
    token = ReplayToken(
        "pkg.mod:factory", program, FindingKind.DEADLOCK, ((0, 3), (1, 2)), fingerprint="abcd1234", strict_errors=True
    )
    token = dataclasses.replace(token, instrument=("built_on", "pkg.more"))
    word = TOKENS.encode(token)
    assert TOKENS.decode(word) == token
    for damaged in ("kx1." + word[4:], word[:-5], "kq1.", word[:20] + "AAAA" + word[24:]):
        with pytest.raises(FormatError):
            TOKENS.decode(damaged)


@pytest.mark.parametrize("instrument", [(), ("unlocked_base",)])
def test_a_package_is_instrumented_if_that_is_wanted(
    instrument: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the queue hands its locking to is seen only then; the word of a finding says so."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "unlocked_base.py").write_text("def store(items, key, obj):\n    items[key] = obj\n")
    monkeypatch.syspath_prepend(folder)
    file = tmp_path / "late_store.py"
    file.write_text(
        "import unlocked_base\n"
        "from kcache.queues import FIFO\n"
        "class new_queue(FIFO):\n"
        "    def update(self, obj, /):\n"
        "        super().update(obj)\n"
        "        unlocked_base.store(self._items, obj['key'], obj)\n"
    )
    target = load(f"{file}:new_queue", QueueKind.FIFO)
    exploration_target = ObjectExplorationTarget(FIFO_TYPE, target, instrument)
    program = QueueProgram(QueueKind.FIFO, threads=((op.update(A1),), (op.pop(), op.length())))
    finding = explore(exploration_target, program, ExploreOptions(executions=2_000, seconds=60.0)).finding
    assert finding is not None
    assert TOKENS.decode(finding.schedule).instrument == instrument
    assert finding.interleaving is not None
    assert ("unlocked_base.py:2 " in interleaving_text(finding.interleaving)) == bool(instrument)
    kind = type_of_token(finding.schedule)
    assert kind is not None
    assert kind.replay(TOKENS.decode(finding.schedule), NoProgress()).note == "the same schedule still fails"


def test_one_set_of_copies_serves_many_programs() -> None:
    target = reference(QueueKind.FIFO)
    exploration_target = ObjectExplorationTarget(FIFO_TYPE, target)
    for number in range(3):
        program = QueueProgram(QueueKind.FIFO, threads=((op.add(A1),) * (number + 1), (op.close(),)))
        assert explore(exploration_target, program, ExploreOptions("dpor")).coverage is Coverage.EXHAUSTED
