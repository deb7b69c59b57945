"""The unit of work that is spread over processes and machines: plain data in, plain data out.

:func:`run_batch` can be handed to any ``concurrent.futures.Executor``. It runs its programs in a child process of its
own, which may hang or crash.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from kcache_conformance.isolation import STARTUP_SECONDS, HarnessError, raise_if_failed, run_job
from kcache_conformance.isolation.worker import Outlet
from kcache_model.call_program import hash_seed
from kcache_model.codec import decode_finding, encode_finding
from kcache_model.errors import CannotExploreError, TargetError
from kcache_model.finding import Finding
from kcache_model.indexers.items import Semantics
from kcache_model.progress import ProgressListener
from kcache_stress.explorer.explore import ExploreOptions, explore
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.laboratory import Laboratory
from kcache_stress.explorer.reach import parts_in_c
from kcache_stress.explorer.sources import digests_of, loaded_modules
from kcache_stress.interruption import Interrupted
from kcache_stress.loading import TARGET_PREFIX

from ..classes import PREFIX
from ..execution_counter import ExecutionCounter
from ..suite_options import DEFAULT_TYPE
from ..target_type import Exploring, execution_stopped
from ..target_types import target_type_named
from .outcomes import Description, Tally

Data = dict[str, Any]

_REPORT_SECONDS = 0.5

_LEAST_SECONDS = 1.0
"""For one program, and for making a finding smaller, however little time is left."""

_MOST_BUDGET = 1.15
"""Of the time of a batch, after which its process is ended if anything was explored."""


@dataclass(frozen=True)
class Batch:
    """Programs to explore on a target.

    Attributes:
        target: name of the implementation.
        options: how to explore.
        programs: the programs; empty for random ones.
        seeds: for random programs, the first seed and how many.
        shape: for random programs: threads and operations at most.
        semantics: for random programs.
        is_first: whether the calls that may wait alone come before random programs.
        is_whole: whether a program whose search the end of the time cuts counts as not explored.
        instrument: further packages to instrument.
        seconds: where to stop.
        patience_seconds: how long one execution may take.
        type: of the target.
    """

    target: str
    options: ExploreOptions
    programs: tuple[Any, ...] = ()
    seeds: tuple[int, int] = (0, 0)
    shape: tuple[int, int] = (2, 2)
    semantics: Semantics = Semantics.CLASSIC
    instrument: tuple[str, ...] = ()
    seconds: float = 3600.0
    patience_seconds: float = 3.0
    type: str = DEFAULT_TYPE
    is_first: bool = False
    is_whole: bool = False


def encode_batch(batch: Batch) -> Data:
    """A batch as JSON."""
    data = asdict(replace(batch, programs=()))
    encode = target_type_named(batch.type).codec.encode_program
    data["programs"] = [encode(program) for program in batch.programs]
    data["semantics"] = batch.semantics.value
    return data


def decode_batch(data: Data) -> Batch:
    """The inverse of :func:`encode_batch`."""
    fields: Data = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    options = {**data["options"], "granularity": Granularity(data["options"]["granularity"])}
    fields["options"] = ExploreOptions(**options)
    fields["programs"] = tuple(map(target_type_named(data["type"]).codec.decode_program, data["programs"]))
    fields["semantics"] = Semantics(data["semantics"])
    return Batch(**fields)


def encode_tally(tally: Tally, type: str = DEFAULT_TYPE) -> Data:
    """A tally of targets of a type as JSON."""
    codec = target_type_named(type).codec
    return {
        **vars(tally),
        "sources": sorted(tally.sources),
        "type": type,
        "finding": None if tally.finding is None else encode_finding(tally.finding, codec),
    }


def decode_tally(data: Data) -> Tally:
    """The inverse of :func:`encode_tally`."""
    fields = dict(data)
    codec = target_type_named(fields.pop("type")).codec
    finding = fields["finding"]
    fields["notes"], fields["sources"] = tuple(fields["notes"]), frozenset(map(tuple, fields["sources"]))
    return Tally(**{**fields, "finding": None if finding is None else decode_finding(finding, codec)})


def run_batch(data: Data, on_tally: Callable[[Tally], None] = lambda _: None) -> Data:
    """Explore the programs of a batch in a child process; a tally as JSON.

    Args:
        data: the batch as JSON.
        on_tally: told of the sum so far.

    Raises:
        TargetError: the target cannot be loaded.
        HarnessError: the harness failed.
    """
    batch = decode_batch(data)
    return encode_tally(run_in_child(batch, f"{__name__}:_batch_job", on_tally), batch.type)


def run_in_child(batch: Batch, job: str, on_tally: Callable[[Tally], None] = lambda _: None) -> Tally:
    """Work on a batch in a child process, which may hang or crash.

    Args:
        batch: what to explore.
        job: ``module:function`` of what the child does with it; it sends tallies and findings.
        on_tally: told of the sum so far.

    Raises:
        TargetError: the target cannot be loaded.
        HarnessError: the harness failed.
    """
    tally = Tally()
    findings: list[Finding] = []
    began = time.monotonic()
    codec = target_type_named(batch.type).codec

    def on_event(event: Data) -> None:
        nonlocal tally
        if event["event"] == "tally":
            tally = decode_tally(event["tally"])
            on_tally(tally)
        elif event["event"] == "finding":
            findings.append(decode_finding(event["finding"], codec))

    def is_over() -> bool:
        is_late = time.monotonic() - began > _MOST_BUDGET * batch.seconds + _LEAST_SECONDS
        return is_late and (tally.programs > 0 or bool(findings))

    try:
        end = run_job(
            job,
            {"batch": {**encode_batch(batch), "began": time.time()}},
            on_event=on_event,
            deadline_seconds=STARTUP_SECONDS + 2 * (batch.seconds + batch.options.minimise_seconds),
            patience_seconds=batch.patience_seconds,
            hash_seed=hash_seed(batch.options.seed),
            is_over=is_over,
        )
    except Interrupted:
        return replace(tally, finding=tally.finding or next(reversed(findings), None), is_interrupted=True)
    raise_if_failed(end)
    if end.how != "done" and tally.finding is None:
        if not findings and end.how == "over":
            return tally
        if not findings:
            stopped = execution_stopped(
                target_type_named(batch.type),
                batch.target,
                end,
                strict_errors=batch.options.strict_errors,
                instrument=batch.instrument,
                patience_seconds=batch.patience_seconds,
            )
            findings.append(stopped)
        tally = replace(tally, finding=findings[-1])
    return tally


def programs_of(batch: Batch, laboratory: Laboratory[Any, Any]) -> Iterable[Any]:
    """The programs of a batch, random ones made as they are needed."""
    if batch.programs:
        return batch.programs
    first, count = batch.seeds
    exploring, target = exploring_of(batch.type), laboratory.target
    numbers = range(first, first + count)
    drawn = (exploring.random_program(target, number, batch.shape, batch.semantics) for number in numbers)
    return itertools.islice(itertools.chain(exploring.lonely_calls(target), drawn), count) if batch.is_first else drawn


def exploring_of(name: str) -> Exploring:
    """What the explorer needs of a target type.

    Raises:
        TargetError: its programs cannot be explored one by one.
    """
    target_type = target_type_named(name)
    if target_type.exploring is None:
        raise TargetError(f"targets of type {name} are explored by kcache check only")
    return target_type.exploring


def describe(
    target: str, instrument: tuple[str, ...], granularity: Granularity, type: str = DEFAULT_TYPE
) -> Description:
    """Load a target in a child process and tell what it is.

    Raises:
        TargetError: it cannot be loaded.
        HarnessError: the harness failed.
    """
    found: list[Description] = []

    def on_event(event: Data) -> None:
        if event["event"] == "description":
            told: Data = event["description"]
            fields: Data = {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}
            fields["loaded"] = frozenset(map(tuple, told["loaded"]))
            found.append(Description(**fields))

    end = run_job(
        f"{__name__}:_describe_job",
        {"target": target, "instrument": list(instrument), "granularity": granularity.value, "type": type},
        on_event=on_event,
        deadline_seconds=STARTUP_SECONDS,
        patience_seconds=STARTUP_SECONDS,
    )
    if end.how == "target_error":
        raise TargetError(end.message)
    if not found:
        raise HarnessError(end.message or f"the target could not be loaded: {end.how}")
    return found[0]


def _describe_job(outlet: Outlet, target: str, instrument: list[str], granularity: str, type: str) -> None:
    try:
        laboratory = exploring_of(type).laboratory(target, tuple(instrument), Granularity(granularity))
    except CannotExploreError as error:
        description = Description(refused=str(error))
    else:
        seen = laboratory.sandbox.seen
        description = Description(
            tuple(sorted(laboratory.target.unsupported)),
            "",
            tuple(name.removeprefix(TARGET_PREFIX) for name in seen.instrumented),
            seen.virtual,
            tuple(sorted({*seen.opaque, *seen.native})),
            tuple(f"{unit} ({parts_in_c(unit)[0]})" for unit in seen.native if parts_in_c(unit)),
            target_type_named(type).not_tested(laboratory.target) if type.startswith(PREFIX) else (),
            digests_of({**loaded_modules(), **laboratory.sandbox.sources}),
        )
    outlet.send({"event": "description", "description": {**vars(description), "loaded": sorted(description.loaded)}})


@dataclass(frozen=True)
class BatchJob:
    """A batch in the child process that works on it.

    Attributes:
        batch: what to explore.
        laboratory: where.
        deadline: when to stop, on the clock of ``time.monotonic``.
        watch: told of each program, and of each execution.
        on_finding: told of what is wrong, before it is made smaller.
        on_tally: told of the sum so far, as often as anybody likes.
    """

    batch: Batch
    laboratory: Laboratory[Any, Any]
    deadline: float
    watch: ProgressListener
    on_finding: Callable[[Finding], None]
    on_tally: Callable[[Tally], None]


def work_on(outlet: Outlet, data: Data, work: Callable[[BatchJob], Tally]) -> None:
    """Do the work of a child process on a batch: ``work`` explores, and gives the sum."""
    passed = min(max(0.0, time.time() - data["began"]), STARTUP_SECONDS)  # its start belongs to its time
    batch = decode_batch({name: value for name, value in data.items() if name != "began"})
    began = sent = time.monotonic() - passed
    codec = target_type_named(batch.type).codec

    def send(tally: Tally) -> None:
        timed = replace(tally, seconds=time.monotonic() - began, sources=digests_of(laboratory.sandbox.sources))
        outlet.send({"event": "tally", "tally": encode_tally(timed, batch.type)})

    def on_tally(tally: Tally) -> None:
        nonlocal sent
        if time.monotonic() - sent > _REPORT_SECONDS:
            sent = time.monotonic()
            send(tally)

    def on_finding(finding: Finding) -> None:
        outlet.send({"event": "finding", "finding": encode_finding(finding, codec)})

    try:
        laboratory = exploring_of(batch.type).laboratory(batch.target, batch.instrument, batch.options.granularity)
        done = work(BatchJob(batch, laboratory, began + batch.seconds, outlet.watch, on_finding, on_tally))
    except CannotExploreError as error:
        outlet.send({"event": "tally", "tally": encode_tally(Tally(refused=str(error)), batch.type)})
        return
    send(done)


def _batch_job(outlet: Outlet, batch: Data) -> None:
    work_on(outlet, batch, _explored)


def _explored(job: BatchJob) -> Tally:
    tally = Tally()

    def on_executions(more: int) -> None:
        job.on_tally(replace(tally, executions=tally.executions + more))

    watch = ExecutionCounter(job.watch, on_executions)
    for program in programs_of(job.batch, job.laboratory):
        watch.reset()
        left = job.deadline - time.monotonic()
        beside = max(_LEAST_SECONDS, left)
        options = replace(
            job.batch.options,
            seconds=min(job.batch.options.seconds, left if job.batch.is_whole else beside),
            whole_seconds=min(job.batch.options.whole_seconds, beside),
            minimise_seconds=min(job.batch.options.minimise_seconds, beside),
        )
        explored = explore(job.laboratory, program, options, watch, job.on_finding)
        is_cut = explored.finding is None and not explored.is_exhausted and time.monotonic() > job.deadline
        if is_cut and job.batch.is_whole:
            break
        tally = tally.plus(explored)
        is_stuck = job.laboratory.sandbox.scheduler.is_stuck
        if tally.finding is not None or is_stuck or time.monotonic() > job.deadline:
            break
        job.on_tally(tally)
    return tally
