"""``run_conformance`` and the machinery below it: declarations, hangs, budgets, coverage."""

from __future__ import annotations

import copy
import inspect
import itertools
import math
import threading
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import kcache
from kcache.testing import ConformanceError, Status, TargetError, run_conformance
from kcache_conformance.indexers.phases import PHASES
from kcache_conformance.indexers.sequential import run_program
from kcache_conformance.objects.sequential import SequentialRun
from kcache_conformance.phases.budget_slices import budget_slices, work_steps
from kcache_conformance.phases.phase import Coverage, PhaseContext
from kcache_conformance.runs.suite import SuiteOptions, run_suite
from kcache_conformance.targets.target_types import TARGET_TYPES
from kcache_model.finding import FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target, make_target
from kcache_model.outcomes import ErrorKind
from kcache_model.progress import NoProgress
from stateful_tests.material.indexer_runs import run_machine, setup_of

QUICK = ("smoke", "stateful")


def wrapped(**methods: Any) -> Any:
    """A factory of caches with other methods; a local one, so it must run in this process."""
    broken = type("Broken", (kcache.Cache,), methods)
    return lambda key_func, indexers: broken(key_func, kcache.new_thread_safe_store(indexers))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("semantics", "searching"),
    [(Semantics.CLASSIC, ("stateful", "explorer", "stress")), (Semantics.CURRENT, ("stateful", "stress"))],
)
def test_the_reference_passes(semantics: Semantics, searching: tuple[str, ...]) -> None:
    """No phase needs time: what ends by itself runs to its end, what is random does the least of its work."""
    for phases in (("smoke", "recorded"), searching):
        result = run_conformance(
            kcache.new_indexer, semantics=semantics, strict_errors=True, strict=True, phases=phases, seconds=0.1
        )
        assert result.status is Status.OK
        assert tuple(phase.phase for phase in result.phases) == phases
        assert result.not_tested == ()


def test_all_phases_are_run_by_default() -> None:
    assert not inspect.signature(run_conformance).parameters["phases"].default
    assert tuple(PHASES) == ("smoke", "recorded", "stateful", "explorer", "stress")
    result = run_suite("kcache:new_indexer", SuiteOptions(budget_seconds=0.1))
    assert tuple(phase.phase for phase in result.phases) == tuple(PHASES)


def test_a_local_factory_is_checked_in_this_process() -> None:
    result = run_conformance(lambda key_func, indexers: kcache.new_indexer(key_func, indexers), phases=QUICK, seconds=0)
    assert result.status is Status.OK


def test_a_violation_is_an_assertion_error_that_tells_all() -> None:
    with pytest.raises(ConformanceError) as caught:
        run_conformance(
            wrapped(list_keys=lambda self: [key.upper() for key in self._storage.list_keys()]), phases=("smoke",)
        )
    text = str(caught.value)
    assert "Smallest example:" in text
    assert "add(a@v1" in text
    assert "kcache replay" not in text, "a local factory cannot be named on a command line"
    assert caught.value.result.status is Status.VIOLATION


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", ["delete", "list", "by_index"])
def test_a_hang_in_this_process_is_reported(method: str) -> None:
    def hang(self: Any, *args: Any) -> Any:
        threading.Event().wait()

    with pytest.raises(ConformanceError) as caught:
        run_conformance(wrapped(**{method: hang}), patience_seconds=0.5, phases=QUICK, seconds=1)
    finding, *others = caught.value.result.findings
    assert finding.kind is FindingKind.HANG
    assert "in hang" in finding.detail
    assert others == [], "a call that hung is not made again"


def test_missing_methods_must_be_declared() -> None:
    class Half:
        def add(self, obj: Any) -> None: ...

    with pytest.raises(TargetError) as caught:
        run_conformance(lambda key_func, indexers: Half())
    assert "has no update, delete, replace" in str(caught.value)
    assert "kcache_unsupported" in str(caught.value)


class PlainStore:
    """A store without indices, without resync, and with copies for answers."""

    def __init__(self, key_func: Any, indexers: Any) -> None:
        assert not indexers
        self._store = kcache.new_store(key_func)

    def __getattr__(self, name: str) -> Any:
        if name in ("add", "update", "delete", "get", "get_by_key", "list", "list_keys", "replace"):
            return getattr(self._store, name)
        raise AttributeError(name)


PlainStore.kcache_unsupported = ["indexes"]  # type: ignore[attr-defined]


@pytest.mark.nightly
def test_a_plain_store_is_tested_on_what_it_has(written_recordings: None) -> None:
    assert run_conformance(PlainStore, phases=("stateful", "explorer", "stress"), seconds=0.3).status is Status.OK
    in_this_process = make_target(lambda key_func, indexers: PlainStore(key_func, indexers), unsupported=["indexes"])
    result = run_suite(in_this_process, SuiteOptions(phases=("smoke", "recorded"), budget_seconds=120.0))
    assert result.status is Status.OK
    assert {"indexes", "resync", "transaction"} <= set(result.not_tested)
    (recorded,) = (phase for phase in result.phases if phase.phase == "recorded")
    assert recorded.counts["operations"] > 200
    assert "index_keys" not in recorded.coverage


def test_get_must_take_a_default_unless_declared() -> None:
    def get_by_key(self: Any, key: str) -> Any:
        return self._storage.get(key)

    factory = wrapped(get_by_key=get_by_key)
    with pytest.raises(ConformanceError, match="must return default"):
        run_conformance(factory, phases=("smoke",))
    run_conformance(factory, phases=("smoke",), unsupported=["default"])


def test_an_implementation_that_fails_now_and_then_is_caught() -> None:
    calls = itertools.count()

    def list_keys(self: Any) -> Any:
        keys = self._storage.list_keys()
        # Wrong for every state of the store, the empty one too.
        return [*keys, "ghost"] if next(calls) == 400 else keys

    with pytest.raises(ConformanceError) as caught:
        run_conformance(wrapped(list_keys=list_keys), phases=("stateful",), most_findings=1)
    (finding,) = caught.value.result.findings
    assert finding.kind is FindingKind.NONDETERMINISM
    assert "not every time" in finding.summary


def test_a_factory_that_fails_later_is_named() -> None:
    made = itertools.count()

    def factory(key_func: Any, indexers: Any) -> Any:
        if next(made) == 20:
            raise RuntimeError("too many")
        return kcache.new_indexer(key_func, indexers)

    with pytest.raises(TargetError, match="too many"):
        run_conformance(factory, phases=QUICK, seconds=10)


def test_a_factory_that_fails_is_no_violation() -> None:
    def broken(key_func: Any, indexers: Any) -> Any:
        raise RuntimeError("no database")

    with pytest.raises(TargetError, match="no database"):
        run_conformance(broken)


def test_what_ends_by_itself_needs_no_time() -> None:
    result = run_conformance("kcache:new_indexer", phases=("smoke", "recorded"), seconds=1e-6)
    assert {phase.phase: phase.counts["programs"] for phase in result.phases} == {"smoke": 1, "recorded": 246}


def test_wrong_arguments_say_what_is_right() -> None:
    with pytest.raises(ValueError, match="known are: smoke"):
        run_conformance(kcache.new_indexer, phases=("smok",))
    with pytest.raises(ValueError, match="nosuch"):
        run_conformance(kcache.new_indexer, semantics="nosuch")


@pytest.mark.nightly
def test_the_state_machine_reaches_every_operation_and_every_error() -> None:
    coverage: Coverage = Counter()
    target = replace(make_target(kcache.new_indexer), is_strict=True)
    for semantics in Semantics:
        assert run_machine(target, 50, 3, semantics=semantics, strict_errors=True, coverage=coverage) is None
    assert {operation for operation, _ in coverage} == {name.value for name in OperationName}
    reached = {error for _, error in coverage}
    assert reached == {"ok", *(kind.value for kind in ErrorKind if kind is not ErrorKind.OTHER)}
    for operation in ("add", "update", "delete", "replace", "index", "by_index"):
        assert coverage[operation, "ok"] > 20, operation


@pytest.mark.nightly
def test_the_same_seed_runs_the_same_programs() -> None:
    def programs(seed: int) -> list[str]:
        seen: list[str] = []

        class ProgressListener:
            def note(self, text: str, *, has_threads: bool = False) -> None: ...
            def append(self, text: str) -> None:
                seen.append(text)

            def rest(self) -> None: ...

        run_machine(make_target(kcache.new_indexer), 10, seed, watch=ProgressListener)
        return seen

    assert programs(1) == programs(1)
    assert programs(1) != programs(2)


def test_a_sequential_program_shows_the_first_wrong_step() -> None:
    target = make_target(wrapped(index_keys=lambda self, name, value: []))
    program = Program(("node",), (op.list_keys(), op.add(Item("a", "v1", {"node": ("n1",)})), op.list_keys()))
    finding = run_program(target, program)
    assert finding is not None
    assert finding.step == 1
    assert finding.kind is FindingKind.INVARIANT


def test_a_white_box_snapshot_is_checked_too() -> None:
    class Leaky(kcache.Cache[Any]):
        def kcache_snapshot(self) -> dict[str, Any]:
            items = {obj.key: obj for obj in self.list()}
            indices = {name: {"left over": set()} for name in self.get_indexers()}
            return {"items": items, "indices": indices}

    def factory(key_func: Any, indexers: Any) -> Any:
        return Leaky(key_func, kcache.new_thread_safe_store(indexers))

    finding = run_program(make_target(factory), Program(("node",), (op.list_keys(),)))
    assert finding is not None
    assert "inside: " in finding.summary


def test_the_budget_is_shared_among_the_chosen_phases() -> None:
    for phases in (tuple(PHASES), ("stress",), ("recorded",), QUICK):
        clock = itertools.count(0.0, 0.125)
        planned = list(budget_slices(phases, 10.0, clock=clock.__next__))
        assert [turn.phase for turn in planned if turn.is_last] == list(phases)
        assert all(0.0 <= turn.seconds <= 10.0 for turn in planned)
        assert max(turn.seconds for turn in planned) > 4.0


def test_no_machine_is_too_slow_for_the_least_work() -> None:
    """What came before the first question costs nothing; every phase runs something, however little time it has."""
    clock = itertools.count(100.0, 0.75)
    assert list(work_steps(2.0, clock=clock.__next__)) == [(1, 0.0), (1, 0.375), (1, 0.75)]
    assert list(work_steps(0.0)) == [(1, 0.0)]
    assert [count for count, _ in work_steps(0.0, at_once=20, least=50)] == [20, 20, 20]


def test_a_number_of_programs_is_kept_exactly() -> None:
    assert list(work_steps(math.inf, 50, at_once=20)) == [(20, 0.0), (20, 0.4), (10, 0.8)]
    assert sum(count for count, _ in work_steps(0.0, 50, least=20)) == 20
    turns = list(budget_slices(tuple(PHASES), math.inf, 7))
    assert [(turn.phase, turn.programs) for turn in turns if turn.programs is not None] == [
        ("stateful", 7),
        ("explorer", 7),
        ("stress", 7),
    ]


@pytest.mark.usefixtures("written_recordings")
@pytest.mark.one_in(4, start=3)
@pytest.mark.parametrize("name", sorted(TARGET_TYPES))
def test_no_phase_is_over_before_it_began(name: str) -> None:
    target_type = TARGET_TYPES[name]
    context = PhaseContext(target_type.load(target_type.reference), target_type.reference, seconds=0.0)
    for phase, run in target_type.phases.items():
        assert run(context).counts["programs"], phase


def test_nobody_is_watched_while_the_next_step_is_drawn() -> None:
    """To draw one may take seconds: what is drawn from may be collected first, from the code of all modules."""
    told: list[str] = []

    class ProgressListener(NoProgress):
        def note(self, text: str, *, has_threads: bool = False) -> None:
            told.append("begin")

        def append(self, text: str) -> None:
            told.append("step")

        def rest(self) -> None:
            told.append("rest")

    with setup_of(make_target(kcache.new_indexer), watch=ProgressListener()) as setup:
        run = SequentialRun(setup, Program(("node",)))
        assert told == ["begin", "rest"]
        assert run.step(op.list_keys()) is None
    assert told[:4] == ["begin", "rest", "step", "rest"]
    assert told[-1] == "rest"
    assert set(told[4:-1]) == {"step"}, "what is read back is told call by call"
    told.clear()

    def refuses(key_func: Any, indexers: Any) -> Any:
        raise OSError("no")

    with (
        setup_of(Target("refuses", refuses), watch=ProgressListener()) as setup,
        pytest.raises(TargetError, match="OSError: no"),
    ):
        SequentialRun(setup, Program(("node",)))
    assert told == ["begin", "rest"]


def test_a_finding_ends_the_run_early_if_one_is_enough() -> None:
    with pytest.raises(ConformanceError) as caught:
        run_conformance(wrapped(delete=lambda self, obj: None), seconds=300, most_findings=1)
    assert len(caught.value.result.phases) < len(PHASES)


@pytest.mark.nightly
def test_an_implementation_that_returns_copies_passes_if_it_says_so() -> None:
    def copies(objs: list[Any]) -> list[Any]:
        return [copy.copy(obj) for obj in objs]

    factory = wrapped(
        get=lambda self, obj, default=None: copy.copy(self._storage.get(self._key_of(obj), default)),
        get_by_key=lambda self, key, default=None: copy.copy(self._storage.get(key, default)),
        list=lambda self: copies(self._storage.list()),
        by_index=lambda self, name, value: copies(self._storage.by_index(name, value)),
        index=lambda self, name, obj: copies(self._storage.index(name, obj)),
    )
    declared = ["identity", "default"]  # the default is copied too
    run_conformance(factory, phases=("smoke", "recorded"), seconds=60, unsupported=declared)
    run_conformance(factory, phases=("stateful", "stress"), seconds=0.3, unsupported=declared)
    with pytest.raises(ConformanceError):
        run_conformance(factory, phases=("smoke",))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", ["list", "list_keys", "get_by_key", "by_index", "list_index_func_values"])
def test_what_is_declared_as_missing_is_never_called(name: str) -> None:
    def forbidden(self: Any, *args: Any) -> Any:
        raise AssertionError("called although it is declared as unsupported")

    run_conformance(wrapped(**{name: forbidden}), phases=QUICK, seconds=0.1, unsupported=[name])


def test_a_close_that_fails_and_results_that_cannot_be_cleared_harm_nobody() -> None:
    class Frozen(list[Any]):
        def clear(self) -> None:
            raise TypeError("frozen")

    def close(self: Any) -> None:
        raise OSError("already closed")

    run_conformance(wrapped(close=close, list=lambda self: Frozen(self._storage.list())), phases=QUICK, seconds=0.1)


def test_an_exception_whose_text_fails_is_still_a_finding() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    def list_keys(self: Any) -> Any:
        raise Unspeakable

    with pytest.raises(ConformanceError, match="its message cannot be read"):
        run_conformance(wrapped(list_keys=list_keys), phases=("smoke",))
