"""Runs asyncio programs under kcache and under other testers: ``python benchmarks/asyncio_testers/run.py``."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.asyncio_testers import programs

Answer = tuple[bool, bool, int]
"""Whether a failure was found, whether the tester says that it has run everything, and the number of executions."""

MOST = 20_000
"""Executions of one program, of testers that search systematically."""
SEEDS = 1_000
"""Executions of one program by simloop, which only samples: its README proposes this number for CI."""
DELAYS = 3
"""Bound of the systematic searches of simloom and detangle: the READMEs of both propose it."""
SECONDS = 60.0


def ask_kcache(_: Any, name: str) -> Answer:
    # Imported for kcache only: simloom and simloop collect garbage after each execution, which takes longer if more is
    # imported.
    from kcache_model.interleaved_program import InterleavedProgram
    from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
    from kcache_stress.target.explore import ExploreOptions, explore

    options = ExploreOptions(strategy="dpor", executions=MOST, seconds=SECONDS, whole_seconds=SECONDS)
    target = BodyExplorationTarget(f"{Path(__file__).with_name('programs.py')}:{name}")
    explored = explore(target, InterleavedProgram(), options)
    if explored.refused:
        raise RuntimeError(explored.refused)
    return explored.finding is not None, explored.is_exhausted, explored.executions


def ask_simloom(simloom: Any, name: str) -> Answer:
    # What @simloom.test(systematic=True, max_delays=3) does, but for shrinking.
    result = simloom.explore_systematic(
        getattr(programs, name), max_delays=DELAYS, max_schedules=MOST, virtual_time=True
    )
    return result.failed, result.proven_correct, result.schedules


def ask_simloop(simloop: Any, name: str) -> Answer:
    report = simloop.explore(getattr(programs, name), range(SEEDS))
    return report is not None, False, SEEDS if report is None else report.seeds_passed + 1


def ask_detangle(detangle: Any, name: str, **options: Any) -> Answer:
    strategy = detangle.DFS(max_delays=DELAYS)
    try:
        stats = detangle.explore(
            getattr(programs, name), strategy=strategy, runs=MOST, shrink=False, database=False, **options
        )
    except detangle.BugFound as found:
        return True, False, found.report.runs
    return False, stats.exhausted, stats.runs


def ask_detangle_in_order(detangle: Any, name: str) -> Answer:
    # Its README: reorder=False "keeps strict asyncio order". A step costs as much as the timers of the programs take.
    return ask_detangle(detangle, name, reorder=False, step_cost=0.001)


TESTERS: dict[str, tuple[str, str, Callable[[Any, str], Answer]]] = {
    "kcache": ("kcache", "kcache_stress.interleaved.body_exploration", ask_kcache),
    "simloom": ("simloom", "simloom", ask_simloom),
    "simloop": ("simloop", "simloop", ask_simloop),
    "detangle": ("detangle", "detangle", ask_detangle),
    "detangle, in order": ("detangle", "detangle", ask_detangle_in_order),
}
"""Column -> package, module to import before the clock starts, and function that gets it and the name of a program."""


def version_of(package: str) -> str:
    """Return the installed version of a package; empty if it is not installed."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return ""


def cell_of(tester: str, name: str) -> str:
    """Return the cell of a tester and a program: run in a process of its own, and compared with the truth."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", tester, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"refused: {done.stderr.strip().splitlines()[-1]}"
    (is_found, is_complete, executions), seconds = json.loads(done.stdout.splitlines()[-1])
    _, can_fail, _ = programs.TRUTHS[name]
    verdict = ("found" if can_fail else "accused") if is_found else "proven" if is_complete else "nothing"
    is_wrong = verdict == "accused" or (verdict == "proven" and can_fail)
    return f"{f'**{verdict}**' if is_wrong else verdict}, {executions:,}, {seconds:.3f} s"


@click.command(help=__doc__)
@click.option("--one", nargs=2, help="Print the answer of one tester about one program as JSON.")
@click.option(
    "--only", multiple=True, type=click.Choice([*programs.TRUTHS]), help="Only this program; may be repeated."
)
def main(one: tuple[str, str] | None, only: tuple[str, ...]) -> None:
    if one is not None:
        _, module_name, ask = TESTERS[one[0]]
        module, began = importlib.import_module(module_name), process_time()
        answer = ask(module, one[1])
        print(json.dumps((answer, process_time() - began)))
        return
    versions = {package: version_of(package) for package, *_ in TESTERS.values()}
    testers = ", ".join(f"{package} {version or '(not installed)'}" for package, version in versions.items())
    print(f"CPython {platform.python_version()}; {testers}. Cells: verdict, executions, CPU seconds.\n")
    print(f"| program | truth | {' | '.join(TESTERS)} |\n| --- | --- |{' --- |' * len(TESTERS)}")
    for name in only or programs.TRUTHS:
        title, can_fail, _ = programs.TRUTHS[name]
        cells = [
            cell_of(tester, name) if versions[package] else "not installed" for tester, (package, *_) in TESTERS.items()
        ]
        print(f"| {title} | {'fails' if can_fail else 'holds'} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
