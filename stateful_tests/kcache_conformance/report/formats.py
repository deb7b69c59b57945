"""The formats of reports: a registry by name. Other packages add their own by entry points."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from .ci_formats import write_github, write_markdown, write_sarif, write_text
from .html_format import write_html
from .machine_formats import write_json, write_junit
from .run_report import RunReport

ENTRY_POINTS: Final = "kcache.formats"
"""The group of entry points under which other packages offer formats."""


@dataclass(frozen=True)
class Format:
    """One way of writing a report to a file.

    Attributes:
        summary: what is written, for the help of ``--NAME FILE``.
        write: writes it.
    """

    summary: str
    write: Callable[[RunReport, Path], None]


FORMATS: Final[Mapping[str, Format]] = {
    "text": Format("Write the findings as plain text.", write_text),
    "json": Format("Write the result as JSON to a file.", write_json),
    "junit": Format("Write a JUnit report to a file.", write_junit),
    "html": Format(
        "Write the outcome as a page that can be read offline: the calls in time, and the first that is wrong.",
        write_html,
    ),
    "sarif": Format("Write the findings as SARIF 2.1.0, for code scanning.", write_sarif),
    "github": Format("Write annotations for GitHub Actions.", write_github),
    "markdown": Format("Write the outcome as Markdown.", write_markdown),
}
"""Name -> format, of those that come with kcache."""


@functools.cache
def formats() -> Mapping[str, Format]:
    """All formats by name: kcache's own, and those of installed packages."""
    offered = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    return {**{name: point.load() for name, point in offered.items()}, **FORMATS}
