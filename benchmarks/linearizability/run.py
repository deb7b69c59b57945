"""Measures the judge of long histories: ``python benchmarks/linearizability/run.py``."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.linearizability import tables
from benchmarks.linearizability.specified import specified
from benchmarks.linearizability.tables import Effort
from benchmarks.sheet import Sheet, shown

WIDTH = 120
"""Columns that the widest table needs."""

TINY = Effort(calls=400, repetitions=1, search_calls=40, search_seconds=0.2)

TABLES: dict[str, Callable[[Effort], Sheet]] = {
    "speed": tables.speed,
    "growth": tables.growth,
    "memory": tables.memory,
    "stream": tables.stream,
    "by-key": tables.by_key,
    "generic": tables.generic,
    "evidence": tables.evidence,
    "specified": specified,
}


@click.command(help=__doc__)
@click.option("--only", multiple=True, type=click.Choice([*TABLES]), help="Only this table; may be repeated.")
@click.option("--calls", default=Effort.calls, show_default=True, help="In the longest history.")
@click.option("--tiny", is_flag=True, help="As little as possible: shows that it runs.")
def main(only: tuple[str, ...], calls: int, tiny: bool) -> None:
    effort = TINY if tiny else Effort(calls=calls)
    console, progress = Console(width=max(Console().width, WIDTH)), Console(stderr=True)
    console.print(f"CPython {platform.python_version()}")
    with progress.status("Measuring") as status:
        for name in only or TABLES:
            status.update(f"Measuring: {name}")
            console.print(shown(TABLES[name](effort)))


if __name__ == "__main__":
    main()
