"""A verification in several runs: what one has done, the next does not do again, and no verdict gets better by it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.certificate import encode_certificate
from kcache_conformance.results.exploration_outcomes import Certificate, Tally
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.verification import parts, scope
from kcache_conformance.verification.batch import Batch, decode_tally, encode_batch, exploring_of, run_batch
from kcache_conformance.verification.parts import (
    as_ranges,
    carried,
    changed_files,
    first_of,
    joined,
    remaining_items,
    size_of,
)
from kcache_conformance.verification.spread import spread
from kcache_conformance.verification.verify import WITHOUT_LIMIT, verify
from kcache_model.bound import parse_bound
from kcache_model.errors import FormatError
from kcache_model.verdict import Status
from kcache_stress.engine.granularity import Granularity
from kcache_stress.interruption import ending_children
from kcache_stress.target.explore import ExploreOptions

DESK = """
import threading


class Desk:
    def __init__(self):
        self._lock, self._seats, self._tickets = threading.Lock(), 2, 0

    def take(self):
        with self._lock:
            self._seats -= 1
            return self._seats

    def free(self):
        with self._lock:
            return self._seats

    def ticket(self):
        {lock}
            number = self._tickets
            self._tickets = number + 1
            return number
"""
"""Only two threads that draw tickets can go wrong; their programs come last."""

_OF_RUN = ("instrument", "strict_errors", "budget_seconds", "cancel")
RIGHT, WRONG = "with self._lock:", "if True:"


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "_BATCH_PROGRAMS", 10)


def desk(folder: Path, lock: str = RIGHT) -> str:
    (folder / "desk.py").write_text(DESK.format(lock=lock), encoding="utf-8")
    return f"{folder / 'desk.py'}:Desk"


def verified(target: str, kind: str = "", bound: str = "2x1", **options: Any) -> Certificate:
    of_run = {name: options.pop(name) for name in _OF_RUN if name in options}
    suite_options = replace(WITHOUT_LIMIT, kind=kind or class_type_name(target), **of_run)
    return verify(target, parse_bound(bound), suite_options, **options)


def of_class(target: str) -> SuiteOptions:
    return SuiteOptions(kind=class_type_name(target))


def written(certificate: Certificate, folder: Path, change: Callable[[Any], object] = lambda _: None) -> Path:
    data, file = encode_certificate(certificate), folder / "certificate.json"
    change(data)
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


class Cutting(Executor):
    """Does the first programs of each batch, and after some batches loses what it is given."""

    def __init__(self, programs: int, batches: int) -> None:
        self._programs, self._batches, self._numbers = programs, batches, itertools.count()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        (data,), future = args, Future[Any]()
        assert not kwargs
        if next(self._numbers) < self._batches:
            future.set_result(fn({**data, "programs": data["programs"][: self._programs]}))
        else:
            future.set_exception(BrokenExecutor("no worker is left"))
        return future


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return verified(desk(tmp_path_factory.mktemp("whole")))


@pytest.mark.parametrize("jobs", [1, 2])
def test_two_runs_give_what_one_gives(jobs: int, whole: Certificate, tmp_path: Path) -> None:
    target = desk(tmp_path)
    first = verified(target, executor=Cutting(programs=7, batches=2))
    assert first.part.explored == ((0, 7), (10, 17))
    assert (first.status, first.is_continuable) == (Status.UNKNOWN, True)
    assert first.missing == "the executor lost work: BrokenExecutor: no worker is left"
    explored: list[int] = []
    second = verified(
        target,
        resume=written(first, tmp_path),
        jobs=jobs,
        on_progress=lambda _total, tally: explored.append(tally.programs),
    )
    assert (second.status, second.missing, second.is_continuable) == (Status.OK, "", False)
    assert second.programs == whole.programs == second.tally.programs == second.tally.exhausted
    assert second.part.explored == ((0, second.programs),)
    assert explored[0] >= 14
    assert [run.programs for run in second.runs] == [14, second.programs - 14]
    assert (
        second.tally.executions - second.tally.audited.executions
        == whole.tally.executions - whole.tally.audited.executions
    )
    assert second.tally.sources == first.tally.sources
    assert len(encode_certificate(second)["runs"]) == 2


def test_what_is_whole_stays_so_and_nothing_is_explored_again(whole: Certificate, tmp_path: Path) -> None:
    again = verified(whole.target, resume=written(whole, tmp_path), executor=Cutting(programs=0, batches=0))
    assert (again.status, again.tally.programs) == (Status.OK, whole.programs)
    assert [run.programs for run in again.runs] == [whole.programs, 0]


def test_a_fault_in_a_later_part_is_found_and_ends_it(tmp_path: Path) -> None:
    target = desk(tmp_path, WRONG)
    first = verified(target, executor=Cutting(programs=5, batches=1))
    assert (first.status, first.tally.programs) == (Status.UNKNOWN, 5)
    second = verified(target, resume=written(first, tmp_path))
    assert second.status is Status.VIOLATION
    assert second.tally.programs > 5
    assert not second.is_continuable
    with pytest.raises(FormatError, match=r"certificate\.json cannot be continued: it ended with a finding"):
        verified(target, resume=written(second, tmp_path))


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return verified(desk(tmp_path_factory.mktemp("begun")), executor=Cutting(programs=5, batches=1))


def test_edited_sources_are_refused(begun: Certificate, tmp_path: Path) -> None:
    target = desk(tmp_path)
    first = verified(target, executor=Cutting(programs=5, batches=1))
    desk(tmp_path, WRONG)
    with pytest.raises(FormatError, match=r"desk\.py changed since; undo the change, or start again without --resume"):
        verified(target, resume=written(first, tmp_path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": "2x2"}, "bound was 2x1, but is now 2x2"),
        ({"options": ExploreOptions(granularity=Granularity.GIL)}, "granularity was free, but is now gil"),
        ({"options": ExploreOptions(executions=7)}, "executions was 20000, but is now 7"),
        ({"strict_errors": True}, "strict errors was no, but is now yes"),
        ({"instrument": ("string",)}, "instrument was nothing, but is now string"),
        ({"cancel": 1}, "cancellations was nothing, but is now 1"),
    ],
)
def test_another_setting_is_refused(options: dict[str, Any], message: str, begun: Certificate, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{message}; restore it, or start again"):
        verified(begun.target, resume=written(begun, tmp_path), **options)


def test_another_target_or_version_is_refused(begun: Certificate, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be continued: target was "):
        verified(desk(tmp_path), resume=written(begun, tmp_path))
    old = written(begun, tmp_path, lambda data: data["resume"]["setting"].update(kcache="0.0.1"))
    with pytest.raises(FormatError, match=r"kcache was 0\.0\.1, but is now "):
        verified(begun.target, resume=old)


def test_a_model_that_was_edited_is_refused(tmp_path: Path) -> None:
    target, model = desk(tmp_path), tmp_path / "right.py"
    model.write_text(DESK.format(lock=RIGHT), encoding="utf-8")
    name = class_type_name(target, f"{model}:Desk")
    first = verified(target, name, executor=Cutting(programs=5, batches=1))
    file = written(first, tmp_path)
    assert verified(target, name, resume=file).status is Status.OK
    model.write_text(DESK.format(lock=RIGHT) + "# other\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"right\.py changed since"):
        verified(target, name, resume=file)


def damaged(**changes: Any) -> Callable[[Any], object]:
    return lambda data: data["resume"].update(changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("resume"), "no certificate that can be continued"),
        (damaged(done=[[0, 4]]), '"done" does not match the programs that were explored'),
        (damaged(done=[[0, 4], [2, 3]]), '"done" does not match'),
        (damaged(signature=[5]), "cannot be continued"),
        (lambda data: data["sources"].update(changed=True), "the sources were changed while it ran"),
    ],
)
def test_what_is_no_part_is_refused(
    change: Callable[[Any], object], message: str, begun: Certificate, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=message):
        verified(begun.target, resume=written(begun, tmp_path, change))


def test_programs_that_come_in_another_order_are_refused(begun: Certificate, tmp_path: Path) -> None:
    file = written(begun, tmp_path, damaged(signature=[begun.part.signature[0], "0" * 64]))
    with pytest.raises(FormatError, match="the programs of the bound differ from the programs of the earlier runs"):
        verified(begun.target, resume=file)


def test_nothing_is_verified_before_all_programs_were_compared(whole: Certificate, tmp_path: Path) -> None:
    file = written(whole, tmp_path)
    cut = verified(whole.target, resume=file, budget_seconds=0.0)
    assert (cut.tally.programs, cut.programs, cut.status) == (whole.programs, None, Status.UNKNOWN)
    again = verified(whole.target, resume=written(cut, tmp_path))
    assert (again.programs, again.status) == (whole.programs, Status.OK)


def test_no_proof_stays_no_proof(begun: Certificate, tmp_path: Path) -> None:
    def no_proof(data: Any) -> None:
        data["programs"]["exhausted"] -= 1
        data["no_proof"].append("desk.py:1: a call of something")

    certificate = verified(begun.target, resume=written(begun, tmp_path, no_proof))
    assert certificate.tally.programs == certificate.programs == certificate.tally.exhausted + 1
    assert certificate.missing == "not all interleavings were covered; desk.py:1: a call of something"


def test_what_needs_more_executions_stays_not_exhausted(tmp_path: Path) -> None:
    target, options = desk(tmp_path), ExploreOptions(executions=1)
    first = verified(target, options=options, executor=Cutting(programs=9, batches=1))
    assert first.tally.exhausted < first.tally.programs
    second = verified(target, options=options, resume=written(first, tmp_path))
    assert second.programs == second.tally.programs
    assert (second.status, second.is_continuable) == (Status.UNKNOWN, False)


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_program_that_the_time_cuts_is_not_counted(is_whole: bool, begun: Certificate) -> None:
    calls = [{"op": name, "arguments": []} for name in ("take", "free", "take")]
    batch = Batch(begun.target, ExploreOptions(), of_class(begun.target), seconds=0.0, is_whole=is_whole)
    tally = decode_tally(run_batch({**encode_batch(batch), "programs": [{"prefix": [], "threads": [calls] * 3}]}))
    assert tally.programs == (0 if is_whole else 1)


def test_an_executor_that_takes_no_more_ends_the_work() -> None:
    class Closed(Cutting):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            raise BrokenExecutor("all workers are gone")

    tally, is_complete = spread([Batch("any", ExploreOptions())] * 3, executor=Closed(0, 0))
    assert (tally.lost, tally.programs, is_complete) == ("BrokenExecutor: all workers are gone", 0, False)


class WorkerKilled(Exception):
    """An error of the package that the executor is of."""


@pytest.mark.parametrize(
    ("error", "is_lost"),
    [
        (WorkerKilled("memory"), True),
        (ConnectionResetError("gone"), True),
        (ZeroDivisionError("kcache's fault"), False),
    ],
)
def test_an_error_of_the_executor_is_none_of_the_work(error: Exception, is_lost: bool) -> None:
    class Failing(Cutting):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = Future[Any]()
            future.set_exception(error)
            return future

    batches = [Batch("any", ExploreOptions())]
    if is_lost:
        tally, _ = spread(batches, executor=Failing(0, 0))
        assert tally.lost == f"{type(error).__name__}: {error}"
    else:
        with pytest.raises(ZeroDivisionError):
            spread(batches, executor=Failing(0, 0))


def test_what_a_batch_has_done_is_told_while_it_runs(begun: Certificate) -> None:
    told: list[Tally] = []
    batch = Batch(begun.target, ExploreOptions(), of_class(begun.target), seeds=(0, 3))
    total = decode_tally(run_batch(encode_batch(batch), told.append))
    assert replace(told[-1], seconds=0.0) == replace(total, seconds=0.0)


def test_what_is_counted_until_an_interrupt_is_no_number_of_programs(begun: Certificate) -> None:
    exploring, bound = exploring_of(begun.type), parse_bound("2x1")
    stand_in = exploring.stand_in(begun.target, frozenset())
    assert exploring.count(bound, stand_in, SuiteOptions(), float("inf")) is not None
    with ending_children():
        assert exploring.count(bound, stand_in, SuiteOptions(), float("inf")) is None


# Positions


@given(st.sets(st.integers(0, 40)), st.integers(0, 50))
def test_ranges_are_the_positions(positions: set[int], size: int) -> None:
    ranges = as_ranges(sorted(positions))
    assert [number for ends in ranges for number in range(*ends)] == sorted(positions)
    assert size_of(ranges) == len(positions)
    assert [position for position, _ in remaining_items(range(45), ranges)] == sorted({*range(45)} - positions)
    first = joined(first_of(ranges, size))
    assert [number for ends in first for number in range(*ends)] == sorted(positions)[:size]
    rest = as_ranges(sorted({*range(41)} - positions))
    assert joined((*rest, *ranges)) == ((0, 41),)


# Sources


def test_sources_are_compared_wherever_they_lie() -> None:
    before, moved = frozenset({("a/x.py", "1"), ("a/y.py", "2")}), frozenset({("/b/x.py", "1")})
    assert changed_files(before, moved) == ()
    assert carried(before, moved) == {("a/y.py", "2")}
    assert changed_files(before, frozenset({("/b/x.py", "3")})) == ("x.py",)
    assert changed_files(before, frozenset({("/b/x.py", "1"), ("/c/x.py", "3")})) == ()
    assert parts.changed_files(frozenset(), moved) == ()
