"""The formats of reports: a registry by name. Other packages add their own by entry points.

The writer of a format is imported on demand: every command line names all formats, and few runs write any.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..targets.imported_late import imported_late

if TYPE_CHECKING:
    from .run_report import RunReport

ENTRY_POINTS: Final = "kcache.formats"
"""The group of entry points under which other packages offer formats."""


@dataclass(frozen=True)
class Format:
    """One way of writing a report to a file.

    Attributes:
        summary: the help text of ``--NAME FILE``.
        write: writes a report.
    """

    summary: str
    write: Callable[[RunReport, Path], None]


FORMATS: Final[Mapping[str, Format]] = {
    "text": Format("Write the findings as plain text.", imported_late(f"{__package__}.ci_formats:write_text")),
    "json": Format("Write the result as JSON to a file.", imported_late(f"{__package__}.machine_formats:write_json")),
    "junit": Format("Write a JUnit report to a file.", imported_late(f"{__package__}.machine_formats:write_junit")),
    "html": Format(
        "Write the outcome as a page that can be read offline: the calls over time, and the first wrong call.",
        imported_late(f"{__package__}.html_format:write_html"),
    ),
    "sarif": Format(
        "Write the findings as SARIF 2.1.0, for code scanning.", imported_late(f"{__package__}.ci_formats:write_sarif")
    ),
    "github": Format("Write annotations for GitHub Actions.", imported_late(f"{__package__}.ci_formats:write_github")),
    "markdown": Format("Write the outcome as Markdown.", imported_late(f"{__package__}.ci_formats:write_markdown")),
}
"""Name -> format, for the formats that come with kcache."""


@functools.cache
def formats() -> Mapping[str, Format]:
    """Return all formats by name: kcache's own, and formats of installed packages."""
    offered = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    return {**{name: point.load() for name, point in offered.items()}, **FORMATS}
