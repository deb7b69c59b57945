"""``kcache check``: the main job."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kcache import Semantics
from kcache_conformance.suite import run_suite
from kcache_conformance.suite_options import DEFAULT_TYPE, SuiteOptions
from kcache_conformance.target_types import TARGET_TYPES
from kcache_stress.report.page import write_page

from .console import ProgressListener, print_result, stdout_console
from .exits import EXIT_CODES, clear_errors
from .options import (
    chosen_target,
    duration,
    instrument_option,
    json_option,
    patience_option,
    semantics_option,
    strict_errors_option,
    strict_option,
    target_argument,
    type_option,
)
from .pages import html_option, page_of_result, touch
from .reports import write_json, write_junit

_PHASES = click.Choice(list(dict.fromkeys(phase for found in TARGET_TYPES.values() for phase in found.phases)))


@click.command()
@target_argument
@type_option("What TARGET makes.")
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
    type=_PHASES,
    multiple=True,
    help="Run only this phase; may be repeated. By default all run.",
)
@click.option(
    "--without",
    type=_PHASES,
    multiple=True,
    help="Leave out this phase; may be repeated. Where the explorer cannot do its work, nothing is ok but without it.",
)
@instrument_option
@patience_option
@json_option("result")
@click.option(
    "--junit", "junit_file", type=click.Path(dir_okay=False, path_type=Path), help="Write a JUnit report to a file."
)
@html_option
def check(
    target: str | None,
    is_reference: bool,
    kind: str,
    budget: float,
    seed: int,
    semantics: str,
    strict_errors: bool,
    strict: bool,
    phases: tuple[str, ...],
    without: tuple[str, ...],
    instrument: tuple[str, ...],
    patience: float,
    json_file: Path | None,
    junit_file: Path | None,
    html_file: Path | None,
) -> None:
    """Check TARGET: smoke test, recorded client-go behaviour, state machine, explorer, stress with real threads.

    Stops at the first violation and shows the smallest example of it.
    """
    target_type = TARGET_TYPES[kind]
    offered = tuple(target_type.phases)
    if not {*phases, *without} <= set(offered):
        raise click.UsageError(f"the phases of --kind {kind} are: {', '.join(offered)}")
    chosen = tuple(phase for phase in phases or offered if phase not in without)
    if not chosen:
        raise click.UsageError("--without leaves no phase to run")
    given = {"semantics": semantics != Semantics.CLASSIC.value, "strict": strict}
    for name in (name for name, is_given in given.items() if is_given and name not in target_type.knows):
        raise click.UsageError(f"--{name} is not for --kind {kind}")
    target = chosen_target(target, is_reference, target_type.reference)
    options = SuiteOptions(
        semantics=Semantics(semantics),
        strict_errors=strict_errors,
        strict=strict,
        seed=seed,
        budget_seconds=budget,
        patience_seconds=patience,
        phases=chosen,
        kind=kind,
        instrument=instrument,
    )
    console = stdout_console()
    with clear_errors():
        touch(json_file, junit_file, html_file)
        option = "" if kind == DEFAULT_TYPE else f"--kind {kind} "
        generation = f"semantics {semantics}, " if "semantics" in target_type.knows else ""
        title = f"kcache check {option}{target} ({generation}seed {seed}, budget {budget:g} s)"
        console.print(title, soft_wrap=True)
        with ProgressListener(console) as listener:
            result = run_suite(target, options, listener)
        print_result(console, result, target, strict_errors=strict_errors)
        if json_file is not None:
            write_json(json_file, target, options, result)
        if junit_file is not None:
            write_junit(junit_file, target, result)
        if html_file is not None:
            write_page(html_file, page_of_result(result, target, title=title, strict_errors=strict_errors))
    sys.exit(EXIT_CODES[result.status])
