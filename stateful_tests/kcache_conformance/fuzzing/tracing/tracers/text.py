"""Texts that record the values of comparisons."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from .notes import Notes, Path

_MOST_PARTS = 5


class TracingText(str):
    """A text that records the values of comparisons; so do texts that are derived from it."""

    _notes: Notes
    _path: Path
    _whole: str
    _start: int

    def __new__(cls, text: str, notes: Notes, path: Path, whole: str, start: int | None = None) -> TracingText:
        """Create a tracer for ``text``, derived from the text ``whole`` at ``path``, or its part at ``start``."""
        tracer = super().__new__(cls, text)
        tracer._notes, tracer._path, tracer._whole = notes, path, whole
        tracer._start = start if start is not None else whole.find(text) if text else -1
        notes.texts.setdefault(path, whole)
        return tracer

    @property
    def place(self) -> Path:
        """The path of this text as a part of the whole text; the path of the whole text if the part is unknown."""
        return self._path if self._start < 0 else (*self._path, (self._start, self._start + len(self)))

    def _tracer(self, text: str, at: int | None = None) -> TracingText:
        start = None if at is None or self._start < 0 else self._start + at
        return TracingText(text, self._notes, self._path, self._whole, start)

    def _wish(self, wanted: str) -> None:
        """Wish for ``wanted`` in place of this text."""
        self._notes.wish(self.place, wanted)

    def _wish_whole(self, wanted: str) -> None:
        self._notes.wish(self._path, wanted)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str) and str.__ne__(self, other):
            self._wish(str.__str__(other))
            if isinstance(other, TracingText):
                other._wish(str.__str__(self))
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __contains__(self, item: str) -> bool:  # type: ignore[override]
        if not str.__contains__(self, item):
            self._wish_whole(f"{self._whole}{item}")
            self._wish_whole(f"a{item}b")
        return str.__contains__(self, item)

    def startswith(self, prefix: Any, *rest: Any) -> bool:
        """Record the prefix, then call ``str.startswith``."""
        for one in prefix if isinstance(prefix, tuple) else (prefix,):
            if not str.startswith(self, one):
                self._wish(f"{one}{str.__str__(self)}")
        return str.startswith(self, prefix, *rest)

    def endswith(self, suffix: Any, *rest: Any) -> bool:
        """Record the suffix, then call ``str.endswith``."""
        for one in suffix if isinstance(suffix, tuple) else (suffix,):
            if not str.endswith(self, one):
                self._wish(f"{str.__str__(self)}{one}")
        return str.endswith(self, suffix, *rest)

    def __getitem__(self, key: Any) -> TracingText:
        return self._tracer(str.__getitem__(self, key))

    def __add__(self, other: str) -> TracingText:
        return self._tracer(str.__add__(self, other))

    def split(self, *arguments: Any, **keywords: Any) -> list[str]:
        """Parts that are tracers; notes the separator."""
        self._separated(arguments)
        return self._all(str.split(self, *arguments, **keywords))

    def rsplit(self, *arguments: Any, **keywords: Any) -> list[str]:
        """Parts that are tracers; notes the separator."""
        self._separated(arguments)
        return self._all(str.rsplit(self, *arguments, **keywords))

    def partition(self, separator: str, /) -> tuple[str, str, str]:
        """Parts that are tracers; notes the separator."""
        self._separated((separator,))
        one, by, two = str.partition(self, separator)
        return self._tracer(one, 0), by, self._tracer(two, len(one) + len(by))

    def rpartition(self, separator: str, /) -> tuple[str, str, str]:
        """Parts that are tracers; notes the separator."""
        self._separated((separator,))
        one, by, two = str.rpartition(self, separator)
        return self._tracer(one, 0), by, self._tracer(two, len(one) + len(by))

    def _separated(self, arguments: tuple[Any, ...]) -> None:
        separator = arguments[0] if arguments else None
        if not isinstance(separator, str) or not separator:
            return
        if not str.__contains__(self, separator):
            self._wish_whole(f"{self._whole}{separator}")
            self._wish_whole(f"{self._whole}{separator}a{separator}1")
        if str.count(self, separator) < _MOST_PARTS - 1:
            self._wish_whole(f"{self._whole}{separator}1")

    def _all(self, parts: Iterable[str]) -> list[str]:
        tracers: list[str] = []
        at = 0
        for part in parts:
            at = str.find(self, part, at)
            tracers.append(self._tracer(part, at))
            at += len(part) + (not part)  # an empty part is followed by a separator
        return tracers


def part_of(text: str, notes: Notes) -> TracingText | None:
    """Return a tracer for a text that C code (a regular expression) took from a traced text; never half a number."""
    if isinstance(text, TracingText):
        return text
    for path, whole in notes.texts.items() if text else ():
        match = re.search(rf"(?<![0-9]){re.escape(text)}(?![0-9])", whole)
        if match is not None:
            return TracingText(text, notes, path, whole, match.start())
    return None


def _tracing(method: Callable[..., str]) -> Callable[..., TracingText]:
    @functools.wraps(method)
    def traced(self: TracingText, *arguments: Any, **keywords: Any) -> TracingText:
        return self._tracer(method(self, *arguments, **keywords))

    return traced


for _name in ("lower", "upper", "casefold", "strip", "replace", "removeprefix", "removesuffix"):
    setattr(TracingText, _name, _tracing(getattr(str, _name)))
