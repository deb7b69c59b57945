"""Values that a function would have to be given for a comparison to go the other way."""

from __future__ import annotations

from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int | tuple[int, int], ...]
"""Where a part stands in the tree of the object; a part of a text ends with where it begins and ends in it."""

Wish: TypeAlias = tuple[Path, Any]
"""A part, and what to put in its place."""

KEY = "\0key "
"""Before the name of a key, in a path: the key itself, not what stands under it."""

_MOST_WISHES = 400


class Notes:
    """Collects wishes while the function runs."""

    def __init__(self) -> None:
        self.wishes: dict[tuple[Path, str], Wish] = {}
        self.texts: dict[Path, str] = {}

    def wish(self, path: Path, value: Any) -> None:
        """``value`` would make a comparison go the other way."""
        if path and isinstance(path[-1], tuple):
            (start, end), path = path[-1], path[:-1]
            value = f"{self.texts[path][:start]}{value}{self.texts[path][end:]}"
        elif path in self.texts:
            value = str(value)
        if len(self.wishes) < _MOST_WISHES:
            self.wishes.setdefault((path, repr(value)), (path, value))
