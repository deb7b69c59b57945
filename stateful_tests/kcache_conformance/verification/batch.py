"""Batches: the unit of work that is spread over processes and machines; input and output are plain data.

:func:`run_batch` can be submitted to any ``concurrent.futures.Executor``. It runs its programs in its own child
process, which may hang or crash.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kcache_conformance.isolation import STARTUP_SECONDS, HarnessError, raise_if_failed, run_job
from kcache_conformance.isolation.worker import Outlet
from kcache_model.audited import Audited
from kcache_model.call_program import hash_seed
from kcache_model.codec import decode_finding, encode_finding
from kcache_model.errors import CannotExploreError, TargetError
from kcache_model.finding import Finding
from kcache_model.progress import ProgressListener
from kcache_stress.engine.granularity import Granularity
from kcache_stress.interruption import Interrupted
from kcache_stress.loading import TARGET_PREFIX
from kcache_stress.modules.private_packages import parts_in_c
from kcache_stress.modules.sources import digests_of, loaded_modules
from kcache_stress.modules.tested_code import describe_tested
from kcache_stress.target.exploration_target import ExplorationTarget
from kcache_stress.target.explore import ExploreOptions

from ..phases.execution_counter import ExecutionCounter
from ..phases.explorer_phase import Search, explore_for_more
from ..phases.suite_options import DEFAULT_TYPE, SuiteOptions, decode_options, encode_options
from ..phases.symptoms import KnownFindings
from ..results.completeness import by_call, counted_calls
from ..results.exploration_outcomes import Description, Tally
from ..runs.repeated_hang import RETURNED, repeated_alone
from ..targets.class_names import PREFIX
from ..targets.target_type import Exploring, execution_stopped
from ..targets.target_types import target_type_named
from .choice_tree_files import ChoiceTrees

Data = dict[str, Any]

_REPORT_SECONDS = 0.5

_BEHIND_EXECUTIONS = 400
"""Executions of one of many programs once there is a finding: other faults are detected sooner in other programs."""
_LEAST_SECONDS = 1.0
"""Seconds for one program, and for making a finding smaller, however little time is left."""

_SHAPE = (2, 2)
"""Most faults need two threads with two calls each."""

_MOST_BUDGET = 1.15
"""The multiple of a batch's time after which its process is ended if anything was explored."""


@dataclass(frozen=True)
class Batch:
    """Programs to explore on a target.

    Attributes:
        target: name of the implementation.
        options: the options of the search.
        suite_options: the options of the run, among them the type of the target.
        programs: the programs; empty for random ones.
        seeds: for random programs, the first seed and the number of programs.
        is_first: whether single calls that may wait come before random programs.
        known: earlier findings, which are not reported again.
        most_findings: the number of findings, including known ones, after which the batch ends.
        trees: the folder for choice trees; empty to record none.
        is_whole: whether a program whose search is cut off by the time limit counts as not explored.
        seconds: the time limit.
    """

    target: str
    options: ExploreOptions
    suite_options: SuiteOptions = field(default_factory=SuiteOptions)
    programs: tuple[Any, ...] = ()
    seeds: tuple[int, int] = (0, 0)
    seconds: float = 3600.0
    is_first: bool = False
    is_whole: bool = False
    known: tuple[Finding, ...] = ()
    most_findings: int = 1
    trees: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """For random programs, the most threads and the most operations of each."""
        return self.suite_options.shape or _SHAPE

    @property
    def type(self) -> str:
        """The name of the type of the target."""
        return self.suite_options.kind


def encode_batch(batch: Batch) -> Data:
    """Return a batch as JSON."""
    data = asdict(replace(batch, programs=(), known=()))
    codec = target_type_named(batch.type).codec
    data["programs"] = [codec.encode_program(program) for program in batch.programs]
    data["known"] = [encode_finding(finding, codec) for finding in batch.known]
    data["suite_options"] = encode_options(batch.suite_options)
    return data


def decode_batch(data: Data) -> Batch:
    """Invert :func:`encode_batch`."""
    fields: Data = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    options = {**data["options"], "granularity": Granularity(data["options"]["granularity"])}
    fields["options"] = ExploreOptions(**options)
    fields["suite_options"] = decode_options(data["suite_options"])
    codec = target_type_named(fields["suite_options"].kind).codec
    fields["programs"] = tuple(map(codec.decode_program, data["programs"]))
    fields["known"] = tuple(decode_finding(finding, codec) for finding in data["known"])
    return Batch(**fields)


def encode_tally(tally: Tally, type: str = DEFAULT_TYPE) -> Data:
    """Return a tally of targets of a type as JSON."""
    codec = target_type_named(type).codec
    return {
        **vars(tally),
        "audited": tally.audited.to_json(),
        "sources": sorted(tally.sources),
        "type": type,
        "findings": [encode_finding(finding, codec) for finding in tally.findings],
        "calls": by_call(tally.calls),
    }


def decode_tally(data: Data) -> Tally:
    """Invert :func:`encode_tally`."""
    fields = dict(data)
    codec = target_type_named(fields.pop("type")).codec
    fields["findings"] = tuple(decode_finding(finding, codec) for finding in fields["findings"])
    fields["audited"] = Audited.from_json(fields["audited"])
    fields["calls"] = counted_calls(fields["calls"])
    fields["notes"], fields["sources"] = tuple(fields["notes"]), frozenset(map(tuple, fields["sources"]))
    return Tally(**fields)


def run_batch(data: Data, on_tally: Callable[[Tally], None] = lambda _: None) -> Data:
    """Explore the programs of a batch in a child process; return a tally as JSON.

    Args:
        data: the batch as JSON.
        on_tally: called with the sum so far.

    Raises:
        TargetError: the target cannot be loaded.
        HarnessError: the harness failed.
    """
    batch = decode_batch(data)
    return encode_tally(run_in_child(batch, f"{__name__}:_batch_job", on_tally), batch.type)


def run_in_child(batch: Batch, job: str, on_tally: Callable[[Tally], None] = lambda _: None) -> Tally:
    """Work on a batch in a child process, which may hang or crash.

    Args:
        batch: the batch.
        job: ``module:function`` of the work in the child; it sends tallies and findings.
        on_tally: called with the sum so far.

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

    def is_over(_: float) -> bool:
        is_late = time.monotonic() - began > _MOST_BUDGET * batch.seconds + _LEAST_SECONDS
        return is_late and (tally.programs > 0 or bool(findings))

    try:
        end = run_job(
            job,
            {"batch": {**encode_batch(batch), "began": time.time()}},
            on_event=on_event,
            deadline_seconds=STARTUP_SECONDS + 2 * (batch.seconds + batch.options.minimise_seconds),
            patience_seconds=batch.suite_options.patience_seconds,
            hash_seed=hash_seed(batch.options.seed),
            is_over=is_over,
        )
    except Interrupted:
        return replace(tally.merged(Tally(findings=tuple(findings[-1:]))), is_interrupted=True)
    raise_if_failed(end)
    if end.how != "done":
        if not findings and end.how == "over":
            return tally
        if not findings or KnownFindings().adding_all(tally.findings).has(findings[-1]):
            target_type, patience = target_type_named(batch.type), batch.suite_options.patience_seconds
            stopped = execution_stopped(target_type, batch.target, end, batch.suite_options)
            again = None if end.outside else repeated_alone(stopped, target_type, batch.target, patience)
            if again is None:
                why = f"a call waits for {end.outside}" if end.outside else RETURNED
                return replace(tally, notes=(*tally.notes, why))
            findings.append(again)
        tally = tally.merged(Tally(findings=tuple(findings[-1:])))
    return tally


def programs_of(batch: Batch, exploration_target: ExplorationTarget[Any, Any]) -> Iterable[Any]:
    """Return the programs of a batch; random programs are created on demand."""
    if batch.programs:
        return batch.programs
    first, count = batch.seeds
    exploring, target = exploring_of(batch.type), exploration_target.target
    numbers = range(first, first + count)
    drawn = (exploring.random_program(target, number, batch.shape, batch.suite_options) for number in numbers)
    return itertools.islice(itertools.chain(exploring.lonely_calls(target), drawn), count) if batch.is_first else drawn


def exploring_of(name: str) -> Exploring:
    """Return the exploring functions of a target type.

    Raises:
        TargetError: its programs cannot be explored one by one.
    """
    target_type = target_type_named(name)
    if target_type.exploring is None:
        raise TargetError(f"only kcache check explores targets of type {name}")
    return target_type.exploring


def describe(
    target: str, instrument: tuple[str, ...], granularity: Granularity, type: str = DEFAULT_TYPE
) -> Description:
    """Load a target in a child process and describe it.

    Raises:
        TargetError: it cannot be loaded.
        HarnessError: the harness failed.
    """
    descriptions: list[Description] = []

    def on_event(event: Data) -> None:
        if event["event"] == "description":
            data: Data = event["description"]
            fields: Data = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
            fields["loaded"] = frozenset(map(tuple, data["loaded"]))
            descriptions.append(Description(**fields))

    end = run_job(
        f"{__name__}:_describe_job",
        {"target": target, "instrument": list(instrument), "granularity": granularity.value, "type": type},
        on_event=on_event,
        deadline_seconds=STARTUP_SECONDS,
        patience_seconds=STARTUP_SECONDS,
    )
    if end.how == "target_error":
        raise TargetError(end.message)
    if not descriptions:
        raise HarnessError(end.message or f"the target could not be loaded: {end.how}")
    return descriptions[0]


def _describe_job(outlet: Outlet, target: str, instrument: list[str], granularity: str, type: str) -> None:
    try:
        exploration_target = exploring_of(type).exploration_target(target, tuple(instrument), Granularity(granularity))
    except CannotExploreError as error:
        description = Description(refused=str(error))
    else:
        observed = exploration_target.sandbox.seen
        description = Description(
            tuple(sorted(exploration_target.target.unsupported)),
            "",
            tuple(name.removeprefix(TARGET_PREFIX) for name in observed.instrumented),
            observed.virtual,
            tuple(sorted({*observed.opaque, *observed.native})),
            tuple(f"{unit} ({parts_in_c(unit)[0]})" for unit in observed.native if parts_in_c(unit)),
            target_type_named(type).not_tested(exploration_target.target) if type.startswith(PREFIX) else (),
            digests_of({**loaded_modules(), **exploration_target.sandbox.sources}),
            describe_tested(target),
            target_type_named(type).calls(exploration_target.target),
        )
    outlet.send({"event": "description", "description": {**vars(description), "loaded": sorted(description.loaded)}})


@dataclass(frozen=True)
class BatchJob:
    """A batch in the child process that explores it.

    Attributes:
        batch: the batch.
        exploration_target: the target to explore.
        deadline: when to stop, on the clock of ``time.monotonic``.
        watch: receives each program, and each execution.
        on_finding: called with a finding before it is made smaller.
        on_tally: called with the sum so far, as often as wanted.
    """

    batch: Batch
    exploration_target: ExplorationTarget[Any, Any]
    deadline: float
    watch: ProgressListener
    on_finding: Callable[[Finding], None]
    on_tally: Callable[[Tally], None]


def work_on(outlet: Outlet, data: Data, work: Callable[[BatchJob], Tally]) -> None:
    """Run the work of a child process on a batch: ``work`` explores the programs and returns the sum."""
    passed = min(max(0.0, time.time() - data["began"]), STARTUP_SECONDS)  # its start belongs to its time
    batch = decode_batch({name: value for name, value in data.items() if name != "began"})
    began = sent = time.monotonic() - passed
    codec = target_type_named(batch.type).codec

    def send(tally: Tally) -> None:
        timed = replace(tally, seconds=time.monotonic() - began, sources=digests_of(exploration_target.sandbox.sources))
        outlet.send({"event": "tally", "tally": encode_tally(timed, batch.type)})

    def on_tally(tally: Tally) -> None:
        nonlocal sent
        if time.monotonic() - sent > _REPORT_SECONDS:
            sent = time.monotonic()
            send(tally)

    def on_finding(finding: Finding) -> None:
        outlet.send({"event": "finding", "finding": encode_finding(finding, codec)})

    try:
        exploration_target = exploring_of(batch.type).exploration_target(
            batch.target, batch.suite_options.instrument, batch.options.granularity
        )
        outcome = work(BatchJob(batch, exploration_target, began + batch.seconds, outlet.watch, on_finding, on_tally))
    except CannotExploreError as error:
        outlet.send({"event": "tally", "tally": encode_tally(Tally(refused=str(error)), batch.type)})
        return
    send(outcome)


def _batch_job(outlet: Outlet, batch: Data) -> None:
    work_on(outlet, batch, _explored)


def _explored(job: BatchJob) -> Tally:
    tally, batch = Tally(), job.batch
    known = KnownFindings().adding_all(batch.known)
    codec = target_type_named(batch.type).codec

    def on_executions(more: int) -> None:
        job.on_tally(replace(tally, executions=tally.executions + more))

    watch = ExecutionCounter(job.watch, on_executions)
    for program in programs_of(batch, job.exploration_target):
        beside = max(_LEAST_SECONDS, job.deadline - time.monotonic())
        options = replace(
            batch.options,
            seconds=min(batch.options.seconds, job.deadline - time.monotonic() if batch.is_whole else beside),
            whole_seconds=min(batch.options.whole_seconds, beside),
            minimise_seconds=min(batch.options.minimise_seconds, beside),
        )
        if known.findings and not batch.programs:
            options = replace(options, executions=min(options.executions, _BEHIND_EXECUTIONS))
        executions, known_findings = 0, known
        watch.reset()
        while True:  # after a known finding, the search of the same program continues
            explored = explore_for_more(
                Search(job.exploration_target, program, options), known_findings, watch, job.on_finding
            )
            executions += explored.executions
            if explored.finding is not None:
                known_findings = known_findings.adding(explored.finding)
            remaining = job.deadline - time.monotonic()
            if explored.finding is None or len(known_findings.findings) >= batch.most_findings or remaining <= 0:
                break
            most = options.executions if batch.programs else _BEHIND_EXECUTIONS
            options = replace(
                options, seconds=min(options.seconds, remaining), executions=min(options.executions, most)
            )
        is_cut = known_findings is known and not explored.is_exhausted and remaining <= 0
        if is_cut and batch.is_whole:
            break
        new, known = known_findings.findings[len(known.findings) :], known_findings
        tally = tally.plus(replace(explored, executions=executions, finding=None)).merged(Tally(findings=new))
        if batch.trees and explored.is_exhausted:
            ChoiceTrees(Path(batch.trees)).add(codec.encode_program(program), explored.tree)
        is_stuck = job.exploration_target.sandbox.scheduler.is_stuck
        if len(known.findings) >= batch.most_findings or is_stuck or remaining <= 0:
            break
        job.on_tally(tally)
    return tally
