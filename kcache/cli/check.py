"""``kcache check``: the main job."""

from __future__ import annotations

import sys

import click

from kcache import Semantics
from kcache_conformance.report.run_report import RunReport
from kcache_conformance.suite import run_suite
from kcache_conformance.suite_options import SuiteOptions, phase_ids
from kcache_conformance.target_type import TargetType

from .console import TerminalProgress, print_result, stdout_console
from .exits import EXIT_CODES, clear_errors
from .options import (
    chosen_target,
    duration,
    instrument_option,
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


@click.command()
@target_argument
@type_option("What TARGET makes:")
@click.option(
    "--budget",
    callback=duration,
    metavar="DURATION",
    default="30s",
    show_default=True,
    help="Time for everything; a finding ends it early.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Decides everything random.")
@semantics_option
@strict_errors_option
@strict_option
@click.option(
    "--only",
    "phases",
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
@instrument_option
@patience_option
@outputs_option
def check(
    target: str | None,
    is_reference: bool,
    target_type: TargetType,
    budget: float,
    seed: int,
    semantics: str,
    strict_errors: bool,
    strict: bool,
    phases: tuple[str, ...],
    without: tuple[str, ...],
    instrument: tuple[str, ...],
    patience: float,
    outputs: Outputs,
) -> None:
    """Check TARGET: smoke test, recorded client-go behaviour, state machine, explorer, stress with real threads.

    Stops at the first violation and shows the smallest example of it.
    """
    offered = tuple(target_type.phases)
    phases, without = phase_ids(phases, offered), phase_ids(without, offered)
    if not {*phases, *without} <= set(offered):
        raise click.UsageError(f"the phases of --type {target_type.name} are: {', '.join(offered)}")
    chosen = tuple(phase for phase in phases or offered if phase not in without)
    if not chosen:
        raise click.UsageError("--without leaves no phase to run")
    require_known(target_type, semantics=semantics, strict=strict)
    target = chosen_target(target, is_reference, target_type.reference)
    options = SuiteOptions(
        semantics=Semantics(semantics),
        strict_errors=strict_errors,
        strict=strict,
        seed=seed,
        budget_seconds=budget,
        patience_seconds=patience,
        phases=chosen,
        kind=target_type.name,
        instrument=instrument,
    )
    console = stdout_console()
    with clear_errors():
        outputs.touch()
        generation = f"semantics {semantics}, " if "semantics" in target_type.knows else ""
        title = f"kcache check {type_text(target_type)}{target} ({generation}seed {seed}, budget {budget:g} s)"
        console.print(title, soft_wrap=True)
        with TerminalProgress(console) as listener:
            result = run_suite(target, options, listener)
        print_result(console, result, target, strict_errors=strict_errors)
        outputs.write(RunReport("check", title, target, options, result))
    sys.exit(EXIT_CODES[result.status])
