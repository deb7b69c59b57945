"""``kcache targets``: the shipped faulty and correct examples."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from kcache_conformance.gallery import Example, gallery, informer_gallery, queue_gallery
from kcache_conformance.kinds import INDEXER, KIND_NAMES

from .console import stdout_console
from .exits import clear_errors

_HEADINGS = {
    "sequential": "Faulty, as one thread can show",
    "concurrent": "Faulty, as only several threads can show",
    "design": "Correct, each of another design",
}


@click.command()
@click.option(
    "--kind", type=click.Choice(KIND_NAMES), default=INDEXER, show_default=True, help="What the examples make."
)
@click.option("--paths", is_flag=True, help="Print only what to pass to `kcache check`, one a line.")
def targets(kind: str, paths: bool) -> None:
    """List the shipped examples: faulty ones, each with one realistic bug, and correct ones."""
    console = stdout_console()
    with clear_errors():
        examples, factory = _examples(kind)
        if paths:
            for example in examples:
                click.echo(_target(example.path, factory))
            return
        for shows, heading in _HEADINGS.items():
            console.print(Text(heading, style="bold"))
            for example in examples:
                if example.kind == shows:
                    source = f" ({example.source})" if example.source else ""
                    strict = ", for --strict" if example.is_strict else ""
                    console.print(f"  {example.name:28} {example.summary}{source}{strict}", soft_wrap=True)
            console.print()
        option = "" if kind == INDEXER else f"--kind {kind} "
        first = next(example for example in examples if not example.is_correct and not example.is_strict)
        console.print(f"Try one: kcache check {option}{_target(first.path, factory)}", soft_wrap=True)


def _examples(kind: str) -> tuple[Sequence[Example], str]:
    """The examples of a kind, and the name of the factory in each of them."""
    if kind == INDEXER:
        return gallery(), "new_indexer"
    if kind == "informer":
        return informer_gallery(), "make"
    return [queue for queue in queue_gallery() if queue.makes == kind], "new_queue"


def _target(path: Path, factory: str) -> str:
    relative = os.path.relpath(path)
    return f"{path if relative.startswith('..') else relative}:{factory}"
