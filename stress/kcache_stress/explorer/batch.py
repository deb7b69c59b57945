"""The unit of work that is spread over processes and machines: plain data in, plain data out.

:func:`run_batch` can be handed to any ``concurrent.futures.Executor``. It runs its programs in a child process of its
own, which may hang or crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from kcache_model.codec import decode_finding, decode_program, encode_finding, encode_program
from kcache_model.finding import Finding, FindingKind
from kcache_model.items import Semantics
from kcache_model.program import Program, hash_seed
from kcache_model.target import TargetError

from ..isolation import STARTUP_SECONDS, HarnessError, JobEnd, raise_if_failed, run_job
from ..isolation.worker import Outlet
from ..loading import TARGET_PREFIX
from .explore import Explored, ExploreOptions, StrategyName, explore
from .findings import PHASE
from .granularity import Granularity
from .programs.random_programs import ExplorerShape, explorer_program
from .sandbox import CannotExploreError
from .subject import Subject, load_subject

Data = dict[str, Any]

_REPORT_SECONDS = 0.5


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
        instrument: further packages to instrument.
        seconds: where to stop.
        patience_seconds: how long one execution may take.
    """

    target: str
    options: ExploreOptions
    programs: tuple[Program, ...] = ()
    seeds: tuple[int, int] = (0, 0)
    shape: tuple[int, int] = (2, 2)
    semantics: Semantics = Semantics.CLASSIC
    instrument: tuple[str, ...] = ()
    seconds: float = 3600.0
    patience_seconds: float = 3.0


@dataclass(frozen=True)
class Tally:
    """What exploring some programs gave.

    Attributes:
        programs: how many were explored.
        exhausted: of how many all interleavings were covered.
        executions: how many executions it took.
        seconds: how long, of one process.
        finding: the first thing found wrong.
        refused: why the target cannot be explored; empty if it can.
        note: why some search was no proof, if the strategy could tell.
        audited: how many executions at opcodes the exhaustive searches were compared with.
    """

    programs: int = 0
    exhausted: int = 0
    executions: int = 0
    seconds: float = 0.0
    finding: Finding | None = None
    refused: str = ""
    note: str = ""
    audited: int = 0

    def plus(self, explored: Explored) -> Tally:
        """With one more program."""
        return replace(
            self,
            programs=self.programs + 1,
            exhausted=self.exhausted + explored.is_exhausted,
            executions=self.executions + explored.executions,
            finding=self.finding or explored.finding,
            note=self.note or explored.note,
            audited=self.audited + explored.audited,
        )

    def merged(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            self.programs + other.programs,
            self.exhausted + other.exhausted,
            self.executions + other.executions,
            self.seconds + other.seconds,
            self.finding or other.finding,
            self.refused or other.refused,
            self.note or other.note,
            self.audited + other.audited,
        )


def encode_batch(batch: Batch) -> Data:
    """A batch as JSON."""
    data = asdict(replace(batch, programs=()))
    data["programs"] = [encode_program(program) for program in batch.programs]
    data["semantics"] = batch.semantics.value
    return data


def decode_batch(data: Data) -> Batch:
    """The inverse of :func:`encode_batch`."""
    options = dict(data["options"])
    options["strategy"] = StrategyName(options["strategy"])
    options["granularity"] = Granularity(options["granularity"])
    return Batch(
        target=data["target"],
        options=ExploreOptions(**options),
        programs=tuple(map(decode_program, data["programs"])),
        seeds=tuple(data["seeds"]),
        shape=tuple(data["shape"]),
        semantics=Semantics(data["semantics"]),
        instrument=tuple(data["instrument"]),
        seconds=data["seconds"],
        patience_seconds=data["patience_seconds"],
    )


def encode_tally(tally: Tally) -> Data:
    """A tally as JSON."""
    return {**vars(tally), "finding": None if tally.finding is None else encode_finding(tally.finding)}


def decode_tally(data: Data) -> Tally:
    """The inverse of :func:`encode_tally`."""
    finding = data["finding"]
    return Tally(**{**data, "finding": None if finding is None else decode_finding(finding)})


def run_batch(data: Data) -> Data:
    """Explore the programs of a batch in a child process; a tally as JSON.

    Raises:
        TargetError: the target cannot be loaded.
        HarnessError: the harness failed.
    """
    return encode_tally(run_in_child(decode_batch(data), f"{__name__}:_batch_job"))


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

    def on_event(event: Data) -> None:
        nonlocal tally
        if event["event"] == "tally":
            tally = decode_tally(event["tally"])
            on_tally(tally)
        elif event["event"] == "finding":
            findings.append(decode_finding(event["finding"]))

    end = run_job(
        job,
        {"batch": encode_batch(batch)},
        on_event=on_event,
        deadline_seconds=STARTUP_SECONDS + 2 * (batch.seconds + batch.options.minimise_seconds),
        patience_seconds=batch.patience_seconds,
        hash_seed=hash_seed(batch.options.seed),
    )
    raise_if_failed(end)
    if end.how != "done" and tally.finding is None:
        tally = replace(tally, finding=findings[-1] if findings else stopped(end))
    return tally


def stopped(end: JobEnd) -> Finding:
    """The finding for an execution that never ended, or that ended the process."""
    kind = FindingKind.HANG if end.how == "hang" else FindingKind.CRASH
    how = "an execution did not end" if end.how == "hang" else "an execution ended the process"
    hint = (
        "; it waits for something real, or spins without touching anything shared (`while True: pass`); if that is in "
        "another package, name it with --instrument"
    )
    summary = how + (hint if end.how == "hang" else "")
    return Finding(kind, PHASE, summary, end.program, detail=end.message)


def programs_of(batch: Batch, subject: Subject) -> Iterable[Program]:
    """The programs of a batch, random ones made as they are needed."""
    if batch.programs:
        return batch.programs
    first, count = batch.seeds
    threads, operations = batch.shape
    shape = ExplorerShape(threads=(2, threads), operations=(1, operations))
    return (explorer_program(first + number, subject.target, batch.semantics, shape) for number in range(count))


@dataclass(frozen=True)
class Description:
    """What is known of a target before it is explored.

    Attributes:
        unsupported: operations that it does not offer.
        refused: why it cannot be explored; empty if it can.
        instrumented: the modules that are rewritten: each of their accesses is seen.
        virtual: the packages that run on virtual threads and locks as they are: nothing else of them is seen.
        opaque: other packages that it reaches, without or with Python source: nothing of them is seen.
    """

    unsupported: tuple[str, ...] = ()
    refused: str = ""
    instrumented: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()


def describe(target: str, instrument: tuple[str, ...], granularity: Granularity) -> Description:
    """Load a target in a child process and tell what it is.

    Raises:
        TargetError: it cannot be loaded.
        HarnessError: the harness failed.
    """
    found: list[Description] = []

    def on_event(event: Data) -> None:
        if event["event"] == "description":
            unsupported, refused, *seen = event["description"].values()
            found.append(Description(tuple(unsupported), refused, *map(tuple, seen)))

    end = run_job(
        f"{__name__}:_describe_job",
        {"target": target, "instrument": list(instrument), "granularity": granularity.value},
        on_event=on_event,
        deadline_seconds=STARTUP_SECONDS,
        patience_seconds=STARTUP_SECONDS,
    )
    if end.how == "target_error":
        raise TargetError(end.message)
    if not found:
        raise HarnessError(end.message or f"the target could not be loaded: {end.how}")
    return found[0]


def _describe_job(outlet: Outlet, target: str, instrument: list[str], granularity: str) -> None:
    try:
        subject = load_subject(target, instrument=instrument, granularity=Granularity(granularity))
    except CannotExploreError as error:
        description = Description(refused=str(error))
    else:
        seen = subject.sandbox.seen
        description = Description(
            tuple(sorted(subject.target.unsupported)),
            "",
            tuple(name.removeprefix(TARGET_PREFIX) for name in seen.instrumented),
            seen.virtual,
            tuple(sorted({*seen.opaque, *seen.native})),
        )
    outlet.send({"event": "description", "description": vars(description)})


def _batch_job(outlet: Outlet, batch: Data) -> None:
    decoded = decode_batch(batch)
    began = time.monotonic()
    tally = Tally()

    def send() -> None:
        timed = replace(tally, seconds=time.monotonic() - began)
        outlet.send({"event": "tally", "tally": encode_tally(timed)})

    try:
        subject = load_subject(decoded.target, instrument=decoded.instrument, granularity=decoded.options.granularity)
    except CannotExploreError as error:
        tally = Tally(refused=str(error))
        send()
        return
    sent = began
    for program in programs_of(decoded, subject):
        explored = explore(
            subject,
            program,
            decoded.options,
            outlet.watch,
            lambda finding: outlet.send({"event": "finding", "finding": encode_finding(finding)}),
        )
        tally = tally.plus(explored)
        now = time.monotonic()
        if tally.finding is not None or subject.sandbox.scheduler.is_stuck or now - began > decoded.seconds:
            break
        if now - sent > _REPORT_SECONDS:
            sent = now
            send()
    send()
