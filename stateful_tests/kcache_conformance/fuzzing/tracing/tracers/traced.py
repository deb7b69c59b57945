"""Objects that contain tracers; their dicts record missing keys, and comparisons of their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .notes import KEY, Notes, Path
from .number import TracingNumber
from .text import TracingText


class TracingDict(dict[str, Any]):
    """A dict with text keys that records lookups of missing keys."""

    def __init__(self, entries: dict[str, Any], notes: Notes, path: Path) -> None:
        super().__init__(entries)
        self._notes, self._path = notes, path

    def _note_access(self, key: Any) -> None:
        if isinstance(key, str) and not dict.__contains__(self, key):
            for value in ("", "a", "true"):
                self._notes.wish((*self._path, str.__str__(key)), value)

    def get(self, key: Any, default: Any = None, /) -> Any:
        """Record a missing key, then call ``dict.get``."""
        self._note_access(key)
        return dict.get(self, key, default)

    def __getitem__(self, key: Any) -> Any:
        self._note_access(key)
        return dict.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        self._note_access(key)
        return dict.__contains__(self, key)

    def _tracer(self, key: str) -> str:
        return TracingText(key, self._notes, (*self._path, KEY + key), key) if type(key) is str else key

    def __iter__(self) -> Iterator[str]:
        return (self._tracer(key) for key in dict.__iter__(self))

    def keys(self) -> Any:
        """Return the keys as tracers."""
        return dict.fromkeys(self).keys()

    def items(self) -> Any:
        """Return the entries, with tracers as keys."""
        return {self._tracer(key): value for key, value in dict.items(self)}.items()


def traced(tree: Any, notes: Notes, path: Path = ()) -> Any:
    """Return a copy of the tree whose texts and integers are tracers; it can be decoded like any tree."""
    if isinstance(tree, str):
        return TracingText(tree, notes, path, tree)
    if isinstance(tree, int) and not isinstance(tree, bool):
        return TracingNumber(tree, notes, {path: (1, tree)})
    if isinstance(tree, list):
        return [traced(item, notes, (*path, number)) for number, item in enumerate(tree)]
    if isinstance(tree, dict):
        if "$" not in tree:
            return {key: traced(value, notes, (*path, key)) for key, value in tree.items()}
        if "fields" in tree:
            fields = tree["fields"]
            inner = {key: traced(value, notes, (*path, "fields", key)) for key, value in fields.items()}
            return {**tree, "fields": inner}
    return tree


def watched(obj: Any, notes: Notes, path: Path = ()) -> Any:
    """Replace the plain dicts in a decoded object by :class:`TracingDict`, unless an object rejects that."""
    if type(obj) is dict:
        return TracingDict({key: watched(value, notes, (*path, key)) for key, value in obj.items()}, notes, path)
    if type(obj) is list:
        return [watched(item, notes, (*path, number)) for number, item in enumerate(obj)]
    fields = None if isinstance(obj, (str, int, type)) else getattr(obj, "__dict__", None)
    if isinstance(fields, dict):
        for name, value in list(fields.items()):
            if type(value) in (dict, list) or (hasattr(value, "__dict__") and not isinstance(value, (str, int))):
                try:
                    object.__setattr__(obj, name, watched(value, notes, (*path, "fields", name)))
                except (AttributeError, TypeError):
                    continue
    return obj
