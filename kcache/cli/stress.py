"""``kcache stress``: the stress phase alone."""

from __future__ import annotations

import sys

import click

from kcache import Semantics
from kcache_conformance.events import SuiteResult
from kcache_conformance.report.coverage_table import coverage_table
from kcache_conformance.report.run_report import RunReport
from kcache_conformance.suite import run_suite
from kcache_conformance.suite_options import SuiteOptions
from kcache_conformance.target_type import TargetType

from .console import TerminalProgress, print_result, stdout_console
from .exits import EXIT_CODES, clear_errors
from .options import (
    chosen_target,
    duration,
    patience_option,
    require_known,
    semantics_option,
    strict_errors_option,
    strict_option,
    target_argument,
    type_option,
    type_text,
)
from .outputs import Outputs, outputs_option

_MOST_THREADS = 64


@click.command()
@target_argument
@type_option("What TARGET makes:")
@click.option(
    "--budget",
    "--duration",
    "seconds",
    callback=duration,
    metavar="DURATION",
    default="30s",
    show_default=True,
    help="How long to search; a finding ends it early.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, _MOST_THREADS),
    help="How many threads run at the same time. By default two to four.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Decides what the threads do.")
@semantics_option
@strict_errors_option
@strict_option
@patience_option
@outputs_option
def stress(
    target: str | None,
    is_reference: bool,
    target_type: TargetType,
    seconds: float,
    threads: int | None,
    seed: int,
    semantics: str,
    strict_errors: bool,
    strict: bool,
    patience: float,
    outputs: Outputs,
) -> None:
    """Run TARGET under real threads, in a child process, and judge what they see while they run.

    Ends with a table of what was called, how it ended, and how often it really overlapped a call of another thread.
    """
    require_known(target_type, semantics=semantics, strict=strict)
    if threads is not None and "threads" not in target_type.knows:
        raise click.UsageError(f"--threads is not for --type {target_type.name}: its programs say how many there are")
    target = chosen_target(target, is_reference, target_type.reference)
    options = SuiteOptions(
        semantics=Semantics(semantics),
        strict_errors=strict_errors,
        strict=strict,
        seed=seed,
        budget_seconds=seconds,
        patience_seconds=patience,
        phases=("stress",),
        threads=threads,
        kind=target_type.name,
    )
    title = _title(target, target_type, options)
    with clear_errors():
        outputs.touch()
        result = _run(target, title, options)
        outputs.write(RunReport("stress", title, target, options, result))
    sys.exit(EXIT_CODES[result.status])


def _title(target: str, target_type: TargetType, options: SuiteOptions) -> str:
    number = "2 to 4 threads" if options.threads is None else f"{options.threads} threads"
    known = f"{number}, semantics {options.semantics.value}, " if "semantics" in target_type.knows else ""
    settings = f"{known}seed {options.seed}, {options.budget_seconds:g} s"
    return f"kcache stress {type_text(target_type)}{target} ({settings})"


def _run(target: str, title: str, options: SuiteOptions) -> SuiteResult:
    """Run it and show what it gave."""
    console = stdout_console()
    console.print(title, soft_wrap=True)
    with TerminalProgress(console) as listener:
        result = run_suite(target, options, listener)
    for phase in result.phases:
        if phase.coverage:
            console.print()
            console.print(coverage_table(phase.coverage, phase.overlapped))
    print_result(console, result, target, strict_errors=options.strict_errors)
    return result
