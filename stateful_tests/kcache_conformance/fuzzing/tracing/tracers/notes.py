"""Values that a function would have to be given for a comparison to go the other way."""

from __future__ import annotations

from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Where a part stands in the tree of the object."""

Wish: TypeAlias = tuple[Path, Any]
"""A part, and what to put in its place."""

KEY = "\0key "
"""Before the name of a key, in a path: the key itself, not what stands under it."""

_MOST_WISHES = 400


class Notes:
    """Collects wishes while the function runs."""

    def __init__(self) -> None:
        self.wishes: dict[tuple[Path, str], Wish] = {}

    def wish(self, path: Path, value: Any) -> None:
        """``value`` would make a comparison go the other way."""
        if len(self.wishes) < _MOST_WISHES:
            self.wishes.setdefault((path, repr(value)), (path, value))
