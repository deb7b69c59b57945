"""Phases and programs as jobs: in a child process, or in a thread of this one."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kcache_model.codec import (
    decode_finding,
    decode_program,
    dump_history,
    encode_finding,
    encode_program,
    load_history,
)
from kcache_model.finding import Finding
from kcache_model.items import Semantics
from kcache_model.operations import INDEX_OPERATIONS
from kcache_model.program import Program, hash_seed
from kcache_model.target import INDEXES, Target, TargetError
from kcache_model.verdict import Status
from kcache_model.watch import Watch
from kcache_stress.isolation import STARTUP_SECONDS, JobEnd, run_job
from kcache_stress.isolation.journal import MemoryJournal
from kcache_stress.isolation.watchdog import Watchdog
from kcache_stress.isolation.worker import Outlet
from kcache_stress.loading import load_target
from kcache_stress.probing import probe
from kcache_stress.stress import StressOptions, StressReport, repeat

from .events import Event, FindingMade, Listener, PhaseFinished, PhaseProgress, PhaseStarted, TargetLoaded
from .phases import PhaseContext, PhaseOutcome, run_phase
from .sequential import run_program
from .turns import Turn, turns

Arguments = Mapping[str, Any]
"""The fields of :class:`.suite.SuiteOptions`, as JSON."""


def run_phases_in_child(spec: str, arguments: Arguments, listener: Listener) -> JobEnd:
    """Run phases in a child process."""
    return in_child(f"{__name__}:_phases_job", spec, arguments, listener, hash_seed(arguments["seed"]))


def in_child(job: str, spec: str, arguments: Arguments, listener: Listener, hash_seed: int = 0) -> JobEnd:
    """Run the phases' job, ``module:function``, in a child process; how it ended."""
    return run_job(
        job,
        {"spec": spec, "arguments": dict(arguments)},
        on_event=lambda data: listener(decode_event(data)),
        deadline_seconds=STARTUP_SECONDS + 2 * arguments["budget_seconds"],
        patience_seconds=arguments["patience_seconds"],
        hash_seed=hash_seed,
    )


def run_phases_in_thread(target: Target, arguments: Arguments, listener: Listener) -> JobEnd:
    """Run phases in a thread of this process; a thread that hangs stays behind."""
    return in_thread(lambda watch: _run_phases(target, None, arguments, watch, listener), arguments["patience_seconds"])


def in_thread(job: Callable[[Watch], None], patience_seconds: float) -> JobEnd:
    """Do a job in a thread of this process; how it ended, or that it hangs."""
    ends: queue.Queue[JobEnd] = queue.Queue()
    journal = MemoryJournal()

    def work() -> None:
        watch = Watchdog(
            journal,
            patience_seconds,
            lambda stacks: ends.put(JobEnd("hang", stacks, journal.program, journal.text)),
        )
        try:
            job(watch)
            ends.put(JobEnd("done"))
        except TargetError as error:
            ends.put(JobEnd("target_error", str(error)))
        except BaseException:
            ends.put(JobEnd("harness_error", traceback.format_exc()))

    threading.Thread(target=work, name="kcache phases", daemon=True).start()
    return ends.get()


def run_program_in_child(
    spec: str,
    program: Program,
    *,
    seconds: float = 5.0,
    patience_seconds: float = 3.0,
    strict_errors: bool = False,
    strict: bool = False,
    on_finding: Callable[[Finding], None] = lambda _: None,
    on_round: Callable[[int], None] = lambda _: None,
) -> JobEnd:
    """Run one program in a child process: once if it is sequential, else again and again for ``seconds``.

    Args:
        spec: the name of the target.
        program: what to run.
        seconds: how long to try a concurrent program.
        patience_seconds: how long one call may take.
        strict_errors: ask for kcache's error types.
        strict: ask for more than client-go promises.
        on_finding: told what is wrong.
        on_round: told how often a concurrent program has run.
    """

    def on_event(data: dict[str, Any]) -> None:
        if data["event"] == "finding":
            on_finding(decode_finding(data["finding"]))
        elif data["event"] == "rounds":
            on_round(data["rounds"])

    return run_job(
        f"{__name__}:_program_job",
        {
            "spec": spec,
            "program": encode_program(program),
            "seconds": seconds,
            "patience_seconds": patience_seconds,
            "strict_errors": strict_errors,
            "strict": strict,
        },
        on_event=on_event,
        deadline_seconds=STARTUP_SECONDS + 2 * seconds,
        patience_seconds=patience_seconds,
        hash_seed=program.hash_seed,
    )


def _phases_job(outlet: Outlet, spec: str, arguments: Arguments) -> None:
    with outlet.loading(spec):
        target = load_target(spec)
    _run_phases(target, spec, arguments, outlet.watch, lambda event: outlet.send(encode_event(event)))


def _program_job(
    outlet: Outlet,
    spec: str,
    program: dict[str, Any],
    seconds: float,
    patience_seconds: float,
    strict_errors: bool,
    strict: bool,
) -> None:
    decoded = decode_program(program)
    target = probe(replace(load_target(spec), is_strict=strict), decoded.semantics)
    if decoded.is_sequential:
        finding = run_program(target, decoded, strict_errors=strict_errors, watch=outlet.watch)
    else:
        options = StressOptions(seconds=seconds, strict_errors=strict_errors, patience_seconds=patience_seconds)

        def on_round(report: StressReport) -> None:
            if report.rounds % 50 == 0:
                outlet.send({"event": "rounds", "rounds": report.rounds})

        report = repeat(target, decoded, options, outlet.watch, on_round)
        outlet.send({"event": "rounds", "rounds": report.rounds})
        finding = report.finding
    if finding is not None:
        outlet.send({"event": "finding", "finding": encode_finding(finding)})


def _run_phases(target: Target, spec: str | None, arguments: Arguments, watch: Watch, listener: Listener) -> None:
    semantics = Semantics(arguments["semantics"])
    target = probe(replace(target, is_strict=arguments["strict"]), semantics)
    listener(TargetLoaded(_not_tested(target)))

    def run(turn: Turn) -> PhaseOutcome:
        return run_phase(turn.phase, _context(target, spec, semantics, arguments, turn, watch, listener))

    run_turns(arguments, run, listener)


def run_turns(arguments: Arguments, run: Callable[[Turn], PhaseOutcome], listener: Listener) -> None:
    """Run the phases by turns within the budget, until the first finding."""
    outcomes: dict[str, PhaseOutcome] = {}
    for turn in turns(arguments["phases"], arguments["budget_seconds"]):
        listener(PhaseStarted(turn.phase, turn.seconds))
        outcome = run(turn)
        if turn.phase in outcomes:
            outcome = outcomes[turn.phase].merged(outcome)
        outcomes[turn.phase] = outcome
        is_over = outcome.finding is not None and outcome.finding.status is Status.VIOLATION
        if turn.is_last or is_over:
            listener(_finished(turn.phase, outcome))
        if is_over:
            return


def _not_tested(target: Target) -> tuple[str, ...]:
    """What the target does not support; ``indexes`` stands for all the operations on indices."""
    names = set(target.unsupported)
    if INDEXES in names:
        names -= {operation.value for operation in INDEX_OPERATIONS}
    return tuple(sorted(names))


def _context(
    target: Target,
    spec: str | None,
    semantics: Semantics,
    arguments: Arguments,
    turn: Turn,
    watch: Watch,
    listener: Listener,
) -> PhaseContext:
    return PhaseContext(
        target=target,
        semantics=semantics,
        spec=spec,
        strict_errors=arguments["strict_errors"],
        seed=2 * arguments["seed"] + turn.is_last,
        seconds=turn.seconds,
        threads=arguments.get("threads"),
        instrument=tuple(arguments.get("instrument", ())),
        patience_seconds=arguments["patience_seconds"],
        watch=watch,
        on_progress=lambda fraction, counts: listener(PhaseProgress(turn.phase, fraction, dict(counts))),
        on_finding=lambda finding: listener(FindingMade(finding)),
    )


def _finished(phase: str, outcome: PhaseOutcome) -> PhaseFinished:
    return PhaseFinished(
        phase,
        dict(outcome.counts),
        _by_operation(outcome.coverage),
        outcome.skipped,
        outcome.inconclusive,
        outcome.finding,
        outcome.refused,
        _by_operation(outcome.overlapped),
        outcome.sample,
        outcome.no_proof,
    )


def _by_operation(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (operation, result), count in sorted(counts.items()):
        nested.setdefault(operation, {})[result] = count
    return nested


_EVENTS: Mapping[str, type[Event]] = {
    kind.__name__: kind for kind in (TargetLoaded, PhaseStarted, PhaseProgress, FindingMade, PhaseFinished)
}


def encode_event(event: Event) -> dict[str, Any]:
    """An event as plain JSON."""
    data = dict(vars(event))
    if data.get("finding") is not None:
        data["finding"] = encode_finding(data["finding"])
    if data.get("sample") is not None:
        data["sample"] = list(dump_history(data["sample"]))
    return {"event": type(event).__name__, **data}


def decode_event(data: dict[str, Any]) -> Event:
    """The inverse of :func:`encode_event`."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    kind = _EVENTS[fields.pop("event")]
    if fields.get("finding") is not None:
        fields["finding"] = decode_finding(fields["finding"])
    if fields.get("sample") is not None:
        fields["sample"] = load_history(fields["sample"])
    return kind(**fields)
