"""Suggestions for mistyped names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_MOST: Final = 3


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean this or that?"`` with known names similar to ``word``; empty if there are none."""
    close = difflib.get_close_matches(word, list(known), n=_MOST)
    return f"; did you mean {' or '.join(close)}?" if close else ""
