"""Places of findings in files, and versions of the tools: for machine-readable reports."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path

import kcache
from kcache_model.finding import Finding
from kcache_stress import interpreter

_PLACE = re.compile(r"(.+?):(\d+)(?: in .*)?")


@dataclass(frozen=True)
class Place:
    """A line of a file.

    Attributes:
        file: its path; empty if nothing is known.
        line: its number, from 1 on.
    """

    file: str
    line: int


def place_of_finding(finding: Finding, target: str) -> Place:
    """Return where the target raised, or was interrupted; otherwise the first line of the file in its name."""
    location = finding.location
    if not location and finding.interleaving is not None:
        location = finding.interleaving.interrupted_at
    match = _PLACE.fullmatch(location)
    if match is not None:
        return Place(match[1], int(match[2]))
    file = target.rpartition(":")[0]
    return Place(file, 1) if file.endswith(".py") and Path(file).is_file() else Place("", 1)


def versions() -> dict[str, str]:
    """Return the versions of kcache, Python and the platform."""
    return {
        "kcache": kcache.__version__,
        "python": interpreter.version(),
        "implementation": platform.python_implementation(),
        "platform": platform.system(),
    }
