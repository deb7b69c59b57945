"""``kcache init``: it writes the files that a project needs to check its class."""

from __future__ import annotations

from pathlib import Path

import click
from rich.text import Text

from kcache.adapting_calls import TAKES, Operation
from kcache_conformance.indexers.scaffold import Scaffold, planned_scaffold, with_declarations
from kcache_conformance.runs.suite import run_suite
from kcache_model.errors import TargetError

from .console import stdout_console
from .exits import clear_errors


@click.command()
@click.argument("spec", metavar="CLASS")
@click.option(
    "--method",
    "methods",
    metavar="OPERATION=METHOD[:TAKES]",
    multiple=True,
    callback=lambda _context, _option, texts: dict(map(_operation, texts)),
    help="The method of CLASS for an operation of an Indexer, if its name does not show that, for example add=shelve. "
    "If its parameters do not show it, add what it takes: object, key or key_value. May be repeated.",
)
@click.option("--name", help="Name of the target and its files; by default the name of CLASS.")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="Folder for the files; by default the current directory.",
)
def init(spec: str, methods: dict[str, Operation], name: str | None, folder: Path) -> None:
    """Write an adapter, a test and the configuration for CLASS, and declare what it does otherwise.

    CLASS is package.module:Class or path/to/file.py:Class; a function that makes a cache will do, too. Nothing that
    exists is overwritten.
    """
    with clear_errors():
        scaffold = planned_scaffold(spec, folder, name, methods)
        existing = [path for path in (scaffold.adapter, scaffold.test) if path.exists()]
        if existing:
            raise TargetError(f"{existing[0]} exists: delete it, or choose another --name")
        configuration = scaffold.configuration_text()
        scaffold.adapter.write_text(scaffold.adapter_text(), encoding="utf-8")
        try:
            scaffold, count = with_declarations(scaffold, run_suite)
        except BaseException:
            scaffold.adapter.unlink()
            raise
        scaffold.adapter.write_text(scaffold.adapter_text(), encoding="utf-8")
        scaffold.test.write_text(scaffold.test_text(), encoding="utf-8")
        scaffold.configuration.write_text(configuration, encoding="utf-8")
        _print(scaffold, count)


def _operation(text: str) -> tuple[str, Operation]:
    """Parse OPERATION=METHOD[:TAKES] into the operation and its method."""
    operation, _, call = text.partition("=")
    method, _, takes = call.partition(":")
    if not method.isidentifier() or (takes and takes not in TAKES):
        raise click.BadParameter(
            f'"{text}" is not OPERATION=METHOD or OPERATION=METHOD:TAKES; TAKES: {", ".join(TAKES)}'
        )
    return operation, (method, takes) if takes else method


def _print(scaffold: Scaffold, count: int) -> None:
    console = stdout_console()

    def line(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    line(f"Written: {scaffold.adapter}, {scaffold.test}, and the target {scaffold.name} in {scaffold.configuration}.")
    console.print()
    console.print(Text("Operations", style="bold"))
    for operation, call in scaffold.calls.items():
        line(f"  {operation:22} {call.source}{f' ({call.takes})' if call.takes else ''}")
    if scaffold.lacking:
        line(f"  {'none for':22} {', '.join(scaffold.lacking)}")
    if scaffold.declared:
        console.print()
        console.print(
            Text("Declared, because CLASS does this; if it is a mistake, delete the line in the adapter", style="bold")
        )
        for declaration, reason in scaffold.declared.items():
            line(f"  {declaration:22} {reason}")
    console.print()
    if count:
        line(f"{count} {'violation' if count == 1 else 'violations'} found on the way: `kcache check` shows them.")
    before = f"PYTHONPATH={scaffold.python_path} " if scaffold.python_path else ""
    line(f"Next: kcache check {scaffold.name}; {before}pytest {scaffold.test}")
