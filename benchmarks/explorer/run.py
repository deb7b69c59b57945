"""Measures the explorer, and other tools beside it: ``python benchmarks/explorer/run.py``."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.explorer import tables
from benchmarks.explorer.sctbench import table as sctbench_table
from benchmarks.explorer.tables import Effort
from benchmarks.sheet import Sheet, shown

WIDTH = 200
"""Columns that the widest table needs."""

TINY = Effort(seconds=0.01, repetitions=1, executions=4, seeds=1, faults=2, search_seconds=0.2)

Tables = dict[str, Callable[[Effort, Callable[[str], None]], Iterable[Sheet]]]

TABLES: Tables = {
    "speed": lambda effort, _: [tables.speed(effort)],
    "exhaustion": lambda effort, _: [tables.exhaustion(effort)],
    "detection": lambda effort, _: [tables.detection(effort)],
    "gallery": tables.found_in_gallery,
    "sctbench": sctbench_table.searched,
    "verify": lambda effort, _: [tables.verification(effort)],
}


@click.command(help=__doc__)
@click.option("--only", multiple=True, type=click.Choice([*TABLES]), help="Only this table; may be repeated.")
@click.option("--seeds", default=Effort.seeds, show_default=True, help="Of the gallery.")
@click.option("--tiny", is_flag=True, help="As little as possible: shows that it runs.")
@click.option("--profile", is_flag=True, help="Only show where the time of an execution goes.")
def main(only: tuple[str, ...], seeds: int, tiny: bool, profile: bool) -> None:
    effort = TINY if tiny else Effort(seeds=seeds)
    console, progress = Console(width=max(Console().width, WIDTH)), Console(stderr=True)
    console.print(f"CPython {platform.python_version()}")
    if profile:
        console.print(shown(tables.profiles(effort)))
        return
    with progress.status("Measuring") as status:
        for name in only or TABLES:
            status.update(f"Measuring: {name}")
            for sheet in TABLES[name](effort, status.update):
                console.print(shown(sheet))


if __name__ == "__main__":
    main()
