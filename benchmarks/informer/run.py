"""Measures queues and informers: ``python benchmarks/informer/run.py``."""

from __future__ import annotations

import logging
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import click
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.informer.tables import TABLES, Effort
from benchmarks.sheet import shown

TINY = Effort(repetitions=1, events=50, memory_events=10_000)


@click.command(help=__doc__)
@click.option("--only", multiple=True, type=click.Choice([*TABLES]), help="Only this table; may be repeated.")
@click.option("--repetitions", default=Effort.repetitions, show_default=True, help="Turns of each subject.")
@click.option("--tiny", is_flag=True, help="As little as possible: shows that it runs.")
def main(only: tuple[str, ...], repetitions: int, tiny: bool) -> None:
    effort = TINY if tiny else Effort(repetitions=repetitions)
    # To stop a client is to cut its connection, which it logs as an error.
    logging.disable(logging.CRITICAL)
    console, progress = Console(width=max(Console().width, 120)), Console(stderr=True)
    console.print(f"CPython {platform.python_version()}, kubernetes {version('kubernetes')}")
    with progress.status("Measuring") as status:
        for name in only or TABLES:
            status.update(f"Measuring: {name}")
            console.print(shown(TABLES[name](effort)))


if __name__ == "__main__":
    main()
