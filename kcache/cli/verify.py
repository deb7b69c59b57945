"""``kcache verify``: small-scope verification."""

from __future__ import annotations

import sys

import click

from kcache import Semantics
from kcache_model.target import TargetError
from kcache_stress.explorer.explore import ExploreOptions
from kcache_stress.explorer.granularity import Granularity
from kcache_stress.explorer.programs.small_scope import Bound, parse_bound
from kcache_stress.explorer.verify import verify as run_verification

from .console import stdout_console
from .exits import EXIT_CODES, clear_errors
from .explorer_report import print_certificate, print_explorer_finding, progress
from .options import chosen_target, duration, executor, explorer_options, target_argument


def _bound(_context: click.Context, _parameter: click.Parameter, value: str) -> Bound:
    try:
        return parse_bound(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@target_argument
@click.option(
    "--bound",
    callback=_bound,
    default="2x1",
    show_default=True,
    metavar="THREADSxOPERATIONS",
    help="All programs with at most so many threads of at most so many operations.",
)
@click.option(
    "--granularity",
    type=click.Choice([Granularity.FREE.value, Granularity.GIL.value]),
    default=Granularity.FREE.value,
    show_default=True,
    help="Where threads are switched.",
)
@click.option(
    "--budget", callback=duration, metavar="DURATION", default="1h", show_default=True, help="Time for everything."
)
@click.option(
    "--executions",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    help="The most executions of one program; one that needs more is not verified.",
)
@explorer_options
def verify(
    target: str | None,
    is_reference: bool,
    bound: Bound,
    granularity: str,
    budget: float,
    executions: int,
    instrument: tuple[str, ...],
    semantics: str,
    strict_errors: bool,
    jobs: int,
    dask: str | None,
    patience: float,
) -> None:
    """Explore every interleaving of every small program on TARGET, and print a certificate.

    Exit code 0 means: all programs of the bound, all interleavings of each, nothing wrong.
    """
    target = chosen_target(target, is_reference)
    console = stdout_console()
    options = ExploreOptions(
        granularity=Granularity(granularity), executions=executions, seconds=budget, strict_errors=strict_errors
    )
    with clear_errors():
        with progress(console) as show, executor(dask) as pool:
            certificate = run_verification(
                target,
                bound,
                options,
                semantics=Semantics(semantics),
                instrument=instrument,
                jobs=jobs,
                executor=pool,
                seconds=budget,
                patience_seconds=patience,
                on_progress=show,
            )
        if certificate.description.refused:
            raise TargetError(f"{target} cannot be explored: {certificate.description.refused}")
        print_certificate(console, certificate)
    if certificate.tally.finding is not None:
        print_explorer_finding(console, certificate.tally.finding, target)
    sys.exit(EXIT_CODES[certificate.status])
