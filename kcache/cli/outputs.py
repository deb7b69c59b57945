"""Outputs of a command: ``--json FILE`` and similar options, ``--format NAME --output FILE``."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from kcache_conformance.report.formats import formats
from kcache_conformance.report.run_report import RunReport
from kcache_stress.interruption import scratch_folder

from .console import TAKEN, show_brief

F = TypeVar("F", bound=Callable[..., Any])

STDOUT: Final = Path("-")
"""The file name that means standard output."""

STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""The environment variable with the file of the step summary that GitHub Actions shows."""

_OTHERS: Final = ("text", "sarif", "github", "markdown")
"""The formats without their own option; all others, including formats of installed packages, have ``--NAME FILE``."""


@dataclass(frozen=True)
class Outputs:
    """The files for reports.

    Attributes:
        files: name of a format -> file; :data:`STDOUT` for standard output.
    """

    files: Mapping[str, Path]

    def touch(self) -> None:
        """Create the files, to fail before the run if a file cannot be written; files that stay empty are removed.

        Raises:
            OSError: a file cannot be written.
        """
        for file in self.files.values():
            if file != STDOUT and not file.exists():
                file.touch()
                click.get_current_context().call_on_close(functools.partial(_remove_empty, file))
            elif file != STDOUT:
                file.touch()

    def named(self, name: str) -> Outputs:
        """Return the outputs for one of several targets: its name is appended to the stems of the files."""

        def renamed(file: Path) -> Path:
            return file if file == STDOUT else file.with_stem(f"{file.stem}-{name}")

        return Outputs({one: renamed(file) for one, file in self.files.items()})

    def write(self, report: RunReport, *, without: Collection[str] = ()) -> None:
        """Write a report to the files, except the formats in ``without``, and to GitHub's step summary if there is one.

        With ``-q``, also print the one-line result.
        """
        show_brief(report)
        for name in self.files:
            if name not in without:
                self.write_file(name, functools.partial(formats()[name].write, report))
        summary = os.environ.get(STEP_SUMMARY)
        if summary:
            from kcache_conformance.report.ci_formats import markdown

            with Path(summary).open("a", encoding="utf-8") as stream:
                stream.write(markdown(report))

    def write_file(self, name: str, write: Callable[[Path], object]) -> None:
        """Call ``write`` with the file of a format; for standard output, with a temporary file that is then printed."""
        if self.files[name] != STDOUT:
            write(self.files[name])
            return
        with scratch_folder() as folder:
            file = Path(folder) / name
            write(file)
            click.echo(file.read_text(encoding="utf-8"), nl=False)


def outputs_option(function: F) -> F:
    """Add the options for files; the command receives them as ``outputs``."""
    texts = {name: one.summary for name, one in formats().items() if name not in _OTHERS}

    @functools.wraps(function)
    def with_outputs(*arguments: Any, **options: Any) -> Any:
        paths = {name: options.pop(_parameter(name)) for name in texts}
        files = {name: file for name, file in paths.items() if file is not None}
        files |= _paired(options.pop("format_names"), options.pop("output_files"))
        to_stdout = [name for name, file in files.items() if file == STDOUT]
        if len(to_stdout) > 1:
            raise click.UsageError(
                f"{' and '.join(to_stdout)} both go to standard output; write --output for one of them"
            )
        click.get_current_context().meta[TAKEN] = bool(to_stdout)
        return function(*arguments, outputs=Outputs(files), **options)

    decorated: Any = with_outputs
    file = click.Path(dir_okay=False, path_type=Path, allow_dash=True)
    decorated = click.option(
        "--output",
        "output_files",
        type=file,
        multiple=True,
        metavar="FILE",
        help="File for the --format at the same position; by default standard output.",
    )(decorated)
    decorated = click.option(
        "--format",
        "format_names",
        type=click.Choice([*texts, *_OTHERS]),
        multiple=True,
        help="Write the outcome in this format; may be repeated.",
    )(decorated)
    for name in reversed(texts):
        decorated = click.option(f"--{name}", _parameter(name), type=file, metavar="FILE", help=texts[name])(decorated)
    chosen: F = decorated
    return chosen


def _remove_empty(file: Path) -> None:
    if file.exists() and not file.stat().st_size:
        file.unlink()


def _paired(names: Sequence[str], files: Sequence[Path]) -> dict[str, Path]:
    if len(files) > len(names):
        raise click.UsageError("each --output needs a --format before it")
    return dict(zip(names, (*files, *[STDOUT] * (len(names) - len(files))), strict=True))


def _parameter(name: str) -> str:
    return f"{name.replace('-', '_')}_file"
