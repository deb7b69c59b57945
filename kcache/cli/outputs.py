"""The files that a command writes its outcome to: ``--json``, ``--junit``, ``--html`` and other formats."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from kcache_conformance.report.formats import formats
from kcache_conformance.report.run_report import RunReport

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Outputs:
    """Where reports go.

    Attributes:
        files: name of a format -> file.
    """

    files: Mapping[str, Path]

    def touch(self) -> None:
        """Fails before the run, not after it, if a file cannot be written.

        Raises:
            OSError: it cannot.
        """
        for file in self.files.values():
            file.touch()

    def write(self, report: RunReport, *, without: str = "") -> None:
        """Write a report to each of the files, but for the format ``without``."""
        for name, file in self.files.items():
            if name != without:
                formats()[name].write(report, file)


def outputs_option(function: F, summaries: Mapping[str, str] | None = None) -> F:
    """An option for each format; the command gets them as ``outputs``.

    Args:
        function: the command.
        summaries: name -> help text, of commands that write files of their own; by default those of all formats.
    """
    texts = dict(summaries or {name: found.summary for name, found in formats().items()})

    @functools.wraps(function)
    def with_outputs(*arguments: Any, **options: Any) -> Any:
        files = {name: options.pop(_parameter(name)) for name in texts}
        outputs = Outputs({name: file for name, file in files.items() if file is not None})
        return function(*arguments, outputs=outputs, **options)

    decorated: Any = with_outputs
    for name in reversed(texts):
        file = click.Path(dir_okay=False, path_type=Path)
        decorated = click.option(f"--{name}", _parameter(name), type=file, metavar="FILE", help=texts[name])(decorated)
    chosen: F = decorated
    return chosen


def _parameter(name: str) -> str:
    return f"{name.replace('-', '_')}_file"
