"""Tracers: texts, numbers and dicts that record the values of comparisons, and their own part of the object.

Source: input-to-state correspondence (Aschermann et al., "REDQUEEN", NDSS 2019): if a part of the input is compared
with a value, that value is a good value for the part.
"""

from __future__ import annotations

from .notes import KEY, Notes, Path, Wish
from .parsing import parsing_traced
from .traced import traced, watched

__all__ = ["KEY", "Notes", "Path", "Wish", "parsing_traced", "traced", "watched"]
