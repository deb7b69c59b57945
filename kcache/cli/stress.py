"""``kcache stress``: the stress phase alone."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from kcache_conformance.report.run_report import RunReport

from .console import run_and_print, stdout_console
from .exits import clear_errors, exit_code
from .options import (
    CommandRequest,
    budget_option,
    contract_option,
    leave_out_option,
    patience_option,
    programs_option,
    seed_option,
    semantics_option,
    strict_errors_option,
    takes_request,
    target_argument,
    type_option,
    type_text,
    verbosity_options,
)
from .outputs import outputs_option

_MOST_THREADS = 64


@click.command()
@target_argument
@type_option("The type of TARGET:")
@budget_option("30s", "Time for the search, which ends early at a finding.", "--duration")
@programs_option
@click.option(
    "--threads",
    type=click.IntRange(1, _MOST_THREADS),
    help="Number of threads. By default two to four.",
)
@seed_option("Seed of the calls and the noise.")
@semantics_option
@strict_errors_option
@contract_option
@leave_out_option
@patience_option
@verbosity_options
@outputs_option
@takes_request
def stress(request: CommandRequest) -> None:
    """Run TARGET under real threads, in a child process, and judge what they see while they run.

    Ends with a table of what was called, how it ended, and how often it really overlapped a call of another thread.
    """
    target, options = request.resolved("stress")
    options = replace(options, most_findings=1).within(request.typed)
    threads = "2 to 4 threads" if options.threads is None else f"{options.threads} threads"
    known = f"{threads}, semantics {options.semantics.value}, " if "semantics" in request.target_type.knows else ""
    settings = f"{known}seed {options.seed}, {options.budget_text}"
    title = f"kcache stress {type_text(request.target_type)}{target} ({settings})"
    with clear_errors():
        request.outputs.touch()
        result = run_and_print(stdout_console(), title, target, options, is_coverage_shown=True)
        request.outputs.write(RunReport("stress", title, target, options, result))
    sys.exit(exit_code(result.status, is_interrupted=result.is_interrupted))
