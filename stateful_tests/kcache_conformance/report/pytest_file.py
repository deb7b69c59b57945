"""Pytest files that hold a finding: they fail as long as it can be reproduced, and tell what happens."""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path
from typing import Any, Final

from kcache_model.finding import Finding
from kcache_stress.explorer.replay_token import ReplayToken

from .capturing import captured
from .finding_text import print_finding

_WIDTH: Final = 100


def pytest_file(file: Path, word: str, token: ReplayToken[Any], finding: Finding | None) -> str:
    """The source of a test.

    Args:
        file: where it goes; the test looks for its target from today's working directory, as seen from there.
        word: the replay token.
        token: what it holds.
        finding: what it shows, which is told in comments; ``None`` if it shows nothing any more.
    """
    lines = "\n".join(f'    "{piece}"' for piece in textwrap.wrap(word, _WIDTH, break_on_hyphens=False))
    name = re.sub(r"\W+", "_", token.target.rpartition("/")[2].partition(":")[0].removesuffix(".py")).strip("_")
    by = "The explorer of kcache" if token.schedule else "kcache"
    folder = Path(os.path.relpath(Path.cwd(), file.absolute().parent)).as_posix()
    seen_from = "Path(__file__).parent" if folder == "." else f'Path(__file__).parent / "{folder}"'
    return (
        f'"""{by} found: {token.kind.value} in {token.target}. Fails as long as it is there."""\n\n'
        "from pathlib import Path\n\n"
        "from kcache.testing import replay\n\n"
        f"{_story(finding, token.target)}"
        f"_WORD = (\n{lines}\n)\n\n\n"
        f"def test_{name}_{token.kind.value}(monkeypatch) -> None:\n"
        f"    monkeypatch.chdir({seen_from})\n"
        "    replay(_WORD)\n"
    )


def _story(finding: Finding | None, target: str) -> str:
    """The finding as comments, without the command that shows it again: that is the test."""
    if finding is None:
        return ""
    told = captured(lambda console: print_finding(console, finding, target)).partition("Run it again:")[0]
    return "".join(f"# {line}".rstrip() + "\n" for line in told.strip().splitlines())
