"""``kcache targets``: the shipped faulty and correct examples."""

from __future__ import annotations

import os

import click
from rich.text import Text

from kcache_conformance.targets.gallery import Example
from kcache_conformance.targets.target_type import TargetType
from kcache_model.errors import TargetError

from .console import stdout_console
from .exits import clear_errors
from .options import type_option, type_text

_HEADINGS = {
    "sequential": "Faulty, even in one thread",
    "concurrent": "Faulty, only with several threads",
    "plain": "Faulty functions",
    "hard": "Faulty functions with faults that are hard to find",
    "design": "Correct, each of another design",
}


@click.command()
@type_option("The type of the examples:")
@click.option("--paths", is_flag=True, help="Print only the targets for `kcache check`, one per line.")
def targets(target_type: TargetType, paths: bool) -> None:
    """List the shipped examples: faulty ones, each with one realistic bug, and correct ones."""
    console = stdout_console()
    with clear_errors():
        examples = target_type.examples()
        if not examples:
            raise TargetError(f"kcache has no examples of --type {target_type.name}")
        if paths:
            for example in examples:
                click.echo(_target(example))
            return
        for shows, heading in _HEADINGS.items():
            selected = [example for example in examples if example.kind == shows]
            if not selected:
                continue
            console.print(Text(heading, style="bold"))
            for example in selected:
                source = f" ({example.source})" if example.source else ""
                strict = ", for --strict" if example.is_strict else ""
                console.print(f"  {example.name:28} {example.summary}{source}{strict}", soft_wrap=True)
            console.print()
        option = type_text(target_type)
        first = next(example for example in examples if not example.is_correct and not example.is_strict)
        console.print(f"Try one: kcache check {option}{_target(first)}", soft_wrap=True)


def _target(example: Example) -> str:
    relative = os.path.relpath(example.path)
    return f"{example.path if relative.startswith('..') else relative}:{example.factory}"
