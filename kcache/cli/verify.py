"""``kcache verify``: small-scope verification."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.run_report import RunReport, report_of_one_phase
from kcache_conformance.results.exploration_outcomes import Certificate
from kcache_conformance.verification.certificate_check import check_certificate
from kcache_conformance.verification.verify import verify as run_verification
from kcache_model.bound import Bound, parse_bound
from kcache_model.errors import TargetError
from kcache_model.verdict import Status
from kcache_stress.engine.granularity import Granularity
from kcache_stress.target.explore import ExploreOptions

from .console import show_finding, stdout_console
from .exits import clear_errors, exit_code
from .explorer_report import print_certificate, progress
from .options import (
    CommandRequest,
    budget_option,
    cancel_options,
    executor,
    explorer_options,
    takes_request,
    target_argument,
    type_option,
    type_text,
    verbosity_options,
)
from .outputs import STDOUT, outputs_option


def _bound(_context: click.Context, _parameter: click.Parameter, value: str) -> Bound:
    try:
        return parse_bound(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@target_argument
@type_option("The type of TARGET:")
@click.option(
    "--bound",
    callback=_bound,
    default="2x1",
    show_default=True,
    metavar="THREADSxOPERATIONS",
    help="All programs of at most THREADS threads with at most OPERATIONS operations each.",
)
@click.option(
    "--granularity",
    type=click.Choice([Granularity.FREE.value, Granularity.GIL.value]),
    default=Granularity.FREE.value,
    show_default=True,
    help="Where threads are switched.",
)
@budget_option("1h", "Time for everything.")
@click.option(
    "--executions",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    help="The most executions of one program. If a program needs more, the bound is not verified.",
)
@click.option(
    "--resume",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Continue the run that wrote FILE with --json: skip the programs that it has explored.",
)
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Also write the choice trees of all programs to FILE, for --check; compressed if its name ends in .gz.",
)
@click.option(
    "--check",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Explore nothing: check FILE, which an earlier run wrote with --certificate, and run its executions again.",
)
@cancel_options
@explorer_options
@verbosity_options
@outputs_option
@takes_request
def verify(
    request: CommandRequest,
    bound: Bound,
    granularity: str,
    executions: int,
    resume: Path | None,
    certificate: Path | None,
    check: Path | None,
    jobs: int,
    dask: str | None,
) -> None:
    """Explore every interleaving of every small program on TARGET, and print a certificate.

    Exit code 0 means: all programs of the bound, all interleavings of each, nothing wrong.
    """
    if check is not None:
        _check(check)
    if certificate is not None and (resume or dask or granularity != Granularity.FREE):
        raise click.UsageError("--certificate cannot be combined with --resume, --dask or --granularity gil")
    target, suite_options = request.resolved("explorer")
    target_type = request.target_type
    console = stdout_console()
    options = ExploreOptions(
        granularity=Granularity(granularity),
        executions=executions,
        seconds=suite_options.budget_seconds,
        widens=True,
    )
    with clear_errors():
        request.outputs.touch()
        with progress(console, suite_options.budget_seconds) as show, executor(dask) as pool:
            result = run_verification(
                target,
                bound,
                suite_options,
                options,
                jobs=jobs,
                executor=pool,
                resume=resume,
                certificate=certificate,
                on_progress=show,
            )
        if result.description.refused:
            raise TargetError(f"{target} cannot be explored: {result.description.refused}")
        print_certificate(console, result, target_type)
        if certificate is not None and result.status is Status.OK:
            command = f"kcache verify --check {shlex.quote(str(certificate))}"
            console.print(f"  choice trees written; to check them: {command}", soft_wrap=True)
        if result.is_continuable:
            file = request.outputs.files.get("json", STDOUT)
            how = "--json FILE keeps it" if file == STDOUT else f"--resume {shlex.quote(str(file))}"
            console.print(f"  a later run can continue: {how}", soft_wrap=True)
        title = f"kcache verify {type_text(target_type)}{target} (bound {bound}, granularity {granularity})"
        request.outputs.write(_report(result, title, suite_options))
    finding = result.tally.finding
    if finding is not None:
        console.print()
        show_finding(console, finding, target)
    sys.exit(exit_code(result.status, is_interrupted=result.tally.is_interrupted))


def _check(file: Path) -> None:
    """Check a file of choice trees, print the result, and exit."""
    console = stdout_console()
    with clear_errors():
        checked = check_certificate(file)
    if checked.refused:
        console.print(f"refused: {checked.refused}", soft_wrap=True)
        sys.exit(exit_code(Status.VIOLATION))
    covered, total = checked.covered, checked.programs
    console.print(f"  {covered} of {total} programs: for each race, the tree has the other order, too")
    for reason, count in checked.unchecked.items():
        console.print(f"  not checked: {count} programs, because {reason}", soft_wrap=True)
    again = "all" if checked.replayed == checked.executions else f"{checked.replayed:,}"
    console.print(f"  {again} of {checked.executions:,} executions were run again: the same events, and nothing wrong")
    console.print("the certificate holds" if covered == total else "the certificate holds for these programs")
    sys.exit(exit_code(Status.OK if covered == total else Status.UNKNOWN))


def _report(certificate: Certificate, title: str, options: SuiteOptions) -> RunReport:
    """Return the certificate as a report, for the output files."""
    tally, total = certificate.tally, certificate.programs
    counts = {
        "programs": tally.programs,
        "executions": tally.executions,
        "exhausted": tally.exhausted,
        "audited": tally.audited.executions,
        **({} if total is None else {"of": total}),
    }
    is_verified = certificate.status is Status.OK
    headline = "Verified: no interleaving of any program of the bound fails." if is_verified else ""
    return report_of_one_phase(
        RunReport("verify", title, certificate.target, options, headline=headline, certificate=certificate),
        certificate.status,
        tally.findings,
        counts,
        certificate.missing if tally.finding is None else "",
        no_proof=tally.note,
        assumes=tally.assumes,
        not_tested=(*certificate.description.unsupported, *certificate.description.left_out),
        seconds=certificate.seconds,
        is_interrupted=tally.is_interrupted,
        tested=certificate.description.tested,
    )
