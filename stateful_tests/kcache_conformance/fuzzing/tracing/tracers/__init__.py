"""Texts, numbers and dicts that note what they are compared with, and from which part of the object they come.

Source: the idea is input-to-state correspondence (Aschermann et al., "REDQUEEN", NDSS 2019): what a part of the input
is compared with is a good value for that part.
"""

from __future__ import annotations

from .notes import KEY, Notes, Path, Wish
from .parsing import parsing_traced
from .traced import traced, watched

__all__ = ["KEY", "Notes", "Path", "Wish", "parsing_traced", "traced", "watched"]
