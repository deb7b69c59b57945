"""The files that a command writes its outcome to: ``--json``, ``--junit``, ``--html`` and other formats."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
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
        touch(self.files.values())

    def without(self, name: str) -> Outputs:
        """The others."""
        return Outputs({other: file for other, file in self.files.items() if other != name})

    def write(self, report: RunReport) -> None:
        """Write a report to each of the files."""
        for name, file in self.files.items():
            formats()[name].write(report, file)


def touch(files: Iterable[Path | None]) -> None:
    """Fails before a run, not after it, if a file cannot be written.

    Raises:
        OSError: it cannot.
    """
    for file in files:
        if file is not None:
            file.touch()


def outputs_option(function: F) -> F:
    """An option for each format; the command gets them as ``outputs``."""

    @functools.wraps(function)
    def with_outputs(*arguments: Any, **options: Any) -> Any:
        files = {name: options.pop(_parameter(name)) for name in formats()}
        outputs = Outputs({name: file for name, file in files.items() if file is not None})
        return function(*arguments, outputs=outputs, **options)

    decorated: Any = with_outputs
    for name, found in reversed([*formats().items()]):
        decorated = file_option(name, found.summary)(decorated)
    chosen: F = decorated
    return chosen


def file_option(name: str, summary: str) -> Callable[[F], F]:
    """``--NAME FILE``."""
    return click.option(
        f"--{name}",
        _parameter(name),
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help=summary,
    )


def _parameter(name: str) -> str:
    return f"{name.replace('-', '_')}_file"
