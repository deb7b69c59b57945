"""``kcache targets``: the shipped faulty and correct examples."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.text import Text

from kcache_conformance.gallery import gallery

from .console import stdout_console
from .exits import clear_errors

_HEADINGS = {
    "sequential": "Faulty, as one thread can show",
    "concurrent": "Faulty, as only several threads can show",
    "design": "Correct, each of another design",
}


@click.command()
@click.option("--paths", is_flag=True, help="Print only what to pass to `kcache check`, one a line.")
def targets(paths: bool) -> None:
    """List the shipped example Indexers: faulty ones, each with one realistic bug, and correct ones."""
    console = stdout_console()
    with clear_errors():
        entries = gallery()
        if paths:
            for entry in entries:
                click.echo(_shown(entry.path))
            return
        for kind, heading in _HEADINGS.items():
            console.print(Text(heading, style="bold"))
            for entry in entries:
                if entry.kind == kind:
                    source = f" ({entry.source})" if entry.source else ""
                    console.print(f"  {entry.name:28} {entry.summary}{source}", soft_wrap=True)
            console.print()
        console.print(f"Try one: kcache check {_shown(entries[0].path)}", soft_wrap=True)


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return f"{path if relative.startswith('..') else relative}:new_indexer"
