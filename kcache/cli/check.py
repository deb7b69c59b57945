"""``kcache check``: the main job."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from kcache import Semantics
from kcache_conformance.kinds import INDEXER, KIND_NAMES, KINDS
from kcache_conformance.phases import PHASES
from kcache_conformance.suite import SuiteOptions, run_suite
from kcache_stress.loading import REFERENCE
from kcache_stress.report.page import write_page

from .console import ProgressListener, print_result, stdout_console
from .exits import EXIT_CODES, clear_errors
from .options import duration, json_option, patience_option, semantics_option, strict_errors_option
from .pages import html_option, page_of_result, touch
from .reports import write_json, write_junit


@click.command()
@click.argument("target", required=False)
@click.option(
    "--kind",
    type=click.Choice(KIND_NAMES),
    default=INDEXER,
    show_default=True,
    help="What TARGET makes. By default, TARGET is kcache's own of that kind.",
)
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
@click.option(
    "--only",
    "phases",
    type=click.Choice(list(dict.fromkeys([*PHASES, *(phase for kind in KINDS.values() for phase in kind.phases)]))),
    multiple=True,
    help="Run only this phase; may be repeated. By default all run.",
)
@patience_option
@json_option("result")
@click.option(
    "--junit", "junit_file", type=click.Path(dir_okay=False, path_type=Path), help="Write a JUnit report to a file."
)
@html_option
def check(
    target: str | None,
    kind: str,
    budget: float,
    seed: int,
    semantics: str,
    strict_errors: bool,
    phases: tuple[str, ...],
    patience: float,
    json_file: Path | None,
    junit_file: Path | None,
    html_file: Path | None,
) -> None:
    """Check TARGET: smoke test, recorded client-go behaviour, state machine, explorer, stress with real threads.

    Stops at the first violation and shows the smallest example of it.
    """
    offered = PHASES if kind == INDEXER else KINDS[kind].phases
    if not set(phases) <= set(offered):
        raise click.UsageError(f"the phases of --kind {kind} are: {', '.join(offered)}")
    if kind != INDEXER and semantics != Semantics.CLASSIC.value:
        raise click.UsageError("--semantics is for Indexers")
    target = target or (REFERENCE if kind == INDEXER else KINDS[kind].reference)
    options = SuiteOptions(
        semantics=Semantics(semantics),
        strict_errors=strict_errors,
        seed=seed,
        budget_seconds=budget,
        patience_seconds=patience,
        phases=phases or offered,
        kind=kind,
    )
    console = stdout_console()
    with clear_errors():
        touch(json_file, junit_file, html_file)
        title = f"kcache check {target} (semantics {semantics}, seed {seed}, budget {budget:g} s)"
        if kind != INDEXER:
            title = f"kcache check --kind {kind} {target} (seed {seed}, budget {budget:g} s)"
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
