"""``kcache stress``: the stress phase alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kcache import Semantics
from kcache_conformance.events import SuiteResult
from kcache_conformance.suite import SuiteOptions, run_suite
from kcache_stress.report.coverage_table import coverage_table
from kcache_stress.report.page import write_page

from .console import ProgressListener, print_result, stdout_console
from .exits import EXIT_CODES, clear_errors
from .options import (
    chosen_target,
    duration,
    json_option,
    patience_option,
    semantics_option,
    strict_errors_option,
    strict_option,
    target_argument,
)
from .pages import html_option, page_of_result, touch
from .reports import write_json

_MOST_THREADS = 64


@click.command()
@target_argument
@click.option(
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
@json_option("result")
@html_option
def stress(
    target: str | None,
    is_reference: bool,
    seconds: float,
    threads: int | None,
    seed: int,
    semantics: str,
    strict_errors: bool,
    strict: bool,
    patience: float,
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """Run TARGET under real threads, in a child process, and judge what they see while they run.

    Ends with a table of what was called, how it ended, and how often it really overlapped a call of another thread.
    """
    target = chosen_target(target, is_reference)
    options = SuiteOptions(
        semantics=Semantics(semantics),
        strict_errors=strict_errors,
        strict=strict,
        seed=seed,
        budget_seconds=seconds,
        patience_seconds=patience,
        phases=("stress",),
        threads=threads,
    )
    with clear_errors():
        touch(json_file, html_file)
        result = _run(target, options)
        if json_file is not None:
            write_json(json_file, target, options, result)
        if html_file is not None:
            page = page_of_result(result, target, title=_title(target, options), strict_errors=strict_errors)
            write_page(html_file, page)
    sys.exit(EXIT_CODES[result.status])


def _title(target: str, options: SuiteOptions) -> str:
    number = "2 to 4 threads" if options.threads is None else f"{options.threads} threads"
    settings = f"{number}, semantics {options.semantics.value}, seed {options.seed}, {options.budget_seconds:g} s"
    return f"kcache stress {target} ({settings})"


def _run(target: str, options: SuiteOptions) -> SuiteResult:
    """Run it and show what it gave."""
    console = stdout_console()
    console.print(_title(target, options), soft_wrap=True)
    with ProgressListener(console) as listener:
        result = run_suite(target, options, listener)
    for phase in result.phases:
        console.print()
        console.print(coverage_table(phase.coverage, phase.overlapped))
    print_result(console, result, target, strict_errors=options.strict_errors)
    return result
