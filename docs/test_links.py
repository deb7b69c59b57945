"""Links lead somewhere: every relative link of every page, and every anchor; without a network."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    page
    for folder in ("", "docs", "benchmarks", "examples", "model", "stress", "stateful_tests")
    for page in sorted(ROOT.glob(f"{folder}/**/*.md" if folder else "*.md"))
]
_CODE = re.compile(r"^( *)```.*?^\1```|``.+?``|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def prose(page: Path) -> str:
    return _CODE.sub("``", page.read_text(encoding="utf-8"))


@functools.cache
def anchors(page: Path) -> set[str]:
    """What GitHub makes of headings; the second of two equal ones is numbered."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        shown = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        is_outside = "://" in link or link.startswith("mailto:")
        if not is_outside and not (target.exists() and (not anchor or anchor in anchors(target))):
            broken.append(link)
    assert broken == []


def test_broken_links_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b` c\n\n## Twice\n\n## Twice\n\n[x](nowhere.md) [y](#a-b-c) `[z](no.md)`\n", encoding="utf-8")
    assert _LINK.findall(prose(page)) == ["nowhere.md", "#a-b-c"]
    assert anchors(page) == {"a-b-c", "twice", "twice-1"}


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = (ROOT / "docs" / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.parent.name == "docs" and f": docs/{page.name}\n" not in menu] == []


def test_the_site_is_built(tmp_path: Path, run_command: Callable[..., CompletedProcess[str]]) -> None:
    pytest.importorskip("material", reason="make docs installs what builds the site")
    command = ("mkdocs", "build", "--strict", "--config-file", "docs/site/mkdocs.yml", "--site-dir", str(tmp_path))
    done = run_command(ROOT, *command, NO_MKDOCS_2_WARNING="1")
    assert done.returncode == 0, done.stderr
    assert "Reading a finding" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = {ROOT / "README.md"}, [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        for link in _LINK.findall(prose(page)):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert [page.name for page in PAGES if page.parent.name == "docs" and page not in reached] == []
