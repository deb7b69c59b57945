"""Run of one program on an Indexer in a child process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kcache_conformance.isolation import STARTUP_SECONDS, JobEnd, run_job
from kcache_model.codec import decode_finding, encode_finding
from kcache_model.finding import Finding
from kcache_model.indexers.codec import INDEXERS, decode_program, encode_program
from kcache_model.indexers.probing import probe
from kcache_model.indexers.program import Program
from kcache_model.indexers.restrictions import restricted_program
from kcache_model.indexers.target import Target
from kcache_stress.indexers.target_loading import load_target

from ..phases.budget_slices import work_steps
from .diagnosis import diagnosed
from .sequential import run_program

if TYPE_CHECKING:
    from kcache_conformance.isolation.worker import Outlet

_LEAST_RUNS: Final = 20
"""Minimum number of runs of a sequential program, even if the time is over; never more than requested."""


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
    runs: int = 1,
) -> JobEnd:
    """Run one program in a child process: up to ``runs`` times if it is sequential, else until the time is over.

    Args:
        spec: the name of the target.
        program: the program.
        seconds: limit of wall-clock time for the runs.
        patience_seconds: limit of wall-clock time for one call.
        strict_errors: require kcache's error types.
        strict: test for more than client-go promises.
        on_finding: called with the finding.
        on_round: called with the number of runs so far.
        runs: maximum number of runs of a sequential program; at least one run takes place.
    """

    def on_event(data: dict[str, Any]) -> None:
        if data["event"] == "finding":
            on_finding(decode_finding(data["finding"], INDEXERS))
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
            "runs": runs,
        },
        on_event=on_event,
        deadline_seconds=STARTUP_SECONDS + 2 * seconds,
        patience_seconds=patience_seconds,
        hash_seed=program.hash_seed,
    )


def _program_job(
    outlet: Outlet,
    spec: str,
    program: dict[str, Any],
    seconds: float,
    patience_seconds: float,
    strict_errors: bool,
    strict: bool,
    runs: int,
) -> None:
    decoded = decode_program(program)
    target = probe(replace(load_target(spec), is_strict=strict), decoded.semantics)
    if decoded.is_sequential:

        def run(program: Program, judged: Target = target) -> Finding | None:
            return run_program(judged, program, strict_errors=strict_errors, watch=outlet.watch)

        finding: Finding | None = None
        for number, _ in enumerate(work_steps(seconds, runs, least=_LEAST_RUNS), 1):
            finding = run(decoded)
            if number % 50 == 0 or number == runs:
                outlet.send({"event": "rounds", "rounds": number})
            if finding is not None:
                finding = diagnosed(finding, target, run)  # the same diagnosis as in the run that reported it
                break
    else:
        from kcache_stress.indexers.stress import StressOptions, StressReport, repeat

        options = StressOptions(seconds=seconds, strict_errors=strict_errors, patience_seconds=patience_seconds)

        def on_round(report: StressReport) -> None:
            if report.rounds % 50 == 0:
                outlet.send({"event": "rounds", "rounds": report.rounds})

        report = repeat(target, restricted_program(decoded, target), options, outlet.watch, on_round)
        outlet.send({"event": "rounds", "rounds": report.rounds})
        finding = report.finding
    if finding is not None:
        outlet.send({"event": "finding", "finding": encode_finding(finding, INDEXERS)})
