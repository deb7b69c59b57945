"""Wishes: values of parts of the object with which a comparison would have the opposite result."""

from __future__ import annotations

from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int | tuple[int, int], ...]
"""The path of a part in the tree of the object; for a part of a text, the last item is its start and end."""

Wish: TypeAlias = tuple[Path, Any]
"""The path of a part, and its replacement."""

KEY = "\0key "
"""A prefix of a name in a path: the path refers to the key itself, not to its value."""

_MOST_WISHES = 400


class Notes:
    """The wishes that are recorded while the function runs."""

    def __init__(self) -> None:
        self.wishes: dict[tuple[Path, str], Wish] = {}
        self.texts: dict[Path, str] = {}

    def wish(self, path: Path, value: Any) -> None:
        """Record that a comparison has the opposite result if the part at ``path`` is ``value``."""
        if path and isinstance(path[-1], tuple):
            (start, end), path = path[-1], path[:-1]
            value = f"{self.texts[path][:start]}{value}{self.texts[path][end:]}"
        elif path in self.texts:
            value = str(value)
        if len(self.wishes) < _MOST_WISHES:
            self.wishes.setdefault((path, repr(value)), (path, value))
