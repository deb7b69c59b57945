"""Dicts that note which keys they lack, and what their keys are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .notes import KEY, Notes, Path
from .text import TracingText


class TracingDict(dict[str, Any]):
    """A dict of texts that notes which keys it lacks."""

    def __init__(self, entries: dict[str, Any], notes: Notes, path: Path) -> None:
        super().__init__(entries)
        self._notes, self._path = notes, path

    def _asked(self, key: Any) -> None:
        if isinstance(key, str) and not dict.__contains__(self, key):
            for value in ("", "a", "true"):
                self._notes.wish((*self._path, str.__str__(key)), value)

    def get(self, key: Any, default: Any = None, /) -> Any:
        """Notes a missing key."""
        self._asked(key)
        return dict.get(self, key, default)

    def __getitem__(self, key: Any) -> Any:
        self._asked(key)
        return dict.__getitem__(self, key)

    def __contains__(self, key: object) -> bool:
        self._asked(key)
        return dict.__contains__(self, key)

    def _tracer(self, key: str) -> str:
        return TracingText(key, self._notes, (*self._path, KEY + key), key) if type(key) is str else key

    def __iter__(self) -> Iterator[str]:
        return (self._tracer(key) for key in dict.__iter__(self))

    def keys(self) -> Any:
        """Keys that are tracers."""
        return dict.fromkeys(self).keys()

    def items(self) -> Any:
        """Entries whose keys are tracers."""
        return {self._tracer(key): value for key, value in dict.items(self)}.items()
