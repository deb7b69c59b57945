"""One version: what the code says, the changelog and the citation repeat."""

from __future__ import annotations

import re
from pathlib import Path

from kcache import __version__

ROOT = Path(__file__).resolve().parents[1]


def test_the_changelog_begins_with_the_version() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.fullmatch(rf"{re.escape(__version__)} \((not released yet|\d{{4}}-\d\d-\d\d)\)", headings[0])


def test_the_citation_has_the_version() -> None:
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
