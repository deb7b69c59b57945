"""``kcache report``: the results of several runs in one table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kcache_conformance.runs.overview import OVERVIEWS
from kcache_conformance.runs.written_runs import read_run

from .exits import clear_errors
from .outputs import STDOUT, Outputs

_SUMMARIES = {
    "markdown": "Write the table as Markdown (the default).",
    "html": "Write the table as a page that can be read offline.",
    "badge": "Write a badge in SVG: the number of violations, in the colour of the worst outcome.",
}


def _form_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for name, text in reversed(_SUMMARIES.items()):
        function = click.option(f"--{name}", "form", flag_value=name, default=None, help=text)(function)
    return function


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULT.json...")
@_form_options
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    default=STDOUT,
    metavar="FILE",
    help="File for the table; by default standard output.",
)
def report(results: tuple[Path, ...], form: str | None, output: Path) -> None:
    """Sum up what check, explore, verify, stress, fuzz, judge and replay have written with --json, in one table.

    Nothing is run. Exit code 0 means that the report was written, whatever is in it.
    """
    with clear_errors():
        text = OVERVIEWS[form or "markdown"]([read_run(result) for result in results])
        Outputs({"report": output}).write_file(
            "report", lambda file: file.write_text(text, encoding="utf-8", newline="\n", errors="backslashreplace")
        )
