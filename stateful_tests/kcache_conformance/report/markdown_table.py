"""Tables in Markdown, safe for any texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kcache_model.render import printable_line

_MARKUP = re.compile(r"[\\`*_\[\]<>&|~]")


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines; cells come from :func:`text_cell` and :func:`code_cell`."""
    lines = (columns, ["---"] * len(columns), *rows)
    return [f"| {' | '.join(cells)} |" for cells in lines]


def text_cell(text: str) -> str:
    """Return a text in which nothing is markup."""
    return _MARKUP.sub(r"\\\g<0>", printable_line(text))


def code_cell(text: str) -> str:
    """Return a text as code, to be copied."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    blank = " " * (len(fence) > 1)
    return f"{fence}{blank}{printable_line(text)}{blank}{fence}".replace("|", "\\|") if text else ""
