"""``kcache check``: the main job."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from kcache_conformance.report.run_report import RunReport
from kcache_conformance.suite_options import phase_ids

from .console import run_and_print, stdout_console
from .exits import EXIT_CODES, clear_errors
from .options import (
    Asked,
    budget_option,
    contract_option,
    instrument_option,
    patience_option,
    seed_option,
    semantics_option,
    strict_errors_option,
    takes_asked,
    target_argument,
    type_option,
    type_text,
)
from .outputs import outputs_option


@click.command()
@target_argument
@type_option("What TARGET makes:")
@budget_option("30s", "Time for everything.")
@seed_option("Decides everything random.")
@semantics_option
@strict_errors_option
@contract_option
@click.option(
    "--only",
    metavar="PHASE",
    multiple=True,
    help="Run only this phase; may be repeated. By default all run.",
)
@click.option(
    "--without",
    metavar="PHASE",
    multiple=True,
    help="Leave out this phase; may be repeated. Where the explorer cannot do its work, nothing is ok but without it.",
)
@click.option("-x", "first", is_flag=True, help="Stop at the first violation.")
@instrument_option
@patience_option
@outputs_option
@takes_asked
def check(asked: Asked, only: tuple[str, ...], without: tuple[str, ...], first: bool) -> None:
    """Check TARGET: smoke test, recorded client-go behaviour, state machine, explorer, stress with real threads.

    Shows one finding for each distinct symptom, with its smallest example: first what breaks the contract, then advice.
    """
    target_type = asked.target_type
    offered = tuple(target_type.phases)
    only, without = phase_ids(only, offered), phase_ids(without, offered)
    if not {*only, *without} <= set(offered):
        raise click.UsageError(f"the phases of --type {target_type.name} are: {', '.join(offered)}")
    chosen = tuple(phase for phase in only or offered if phase not in without)
    if not chosen:
        raise click.UsageError("--without leaves no phase to run")
    target, options = asked.resolved(*chosen)
    if first:
        options = replace(options, most_findings=1)
    console = stdout_console()
    with clear_errors():
        asked.outputs.touch()
        generation = f"semantics {options.semantics.value}, " if "semantics" in target_type.knows else ""
        settings = f"{generation}seed {options.seed}, budget {options.budget_seconds:g} s"
        title = f"kcache check {type_text(target_type)}{target} ({settings})"
        result = run_and_print(console, title, target, options)
        asked.outputs.write(RunReport("check", title, target, options, result))
    sys.exit(EXIT_CODES[result.status])
