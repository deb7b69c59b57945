"""Reader of EDN, Clojure's notation of data, as far as recordings use it: https://github.com/edn-format/edn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ..errors import FormatError
from .foreign_calls import ForeignEvent

_TOKEN: Final = re.compile(
    r"""(?P<blank>[\s,]+|;[^\n]*)
    |"(?P<text>(?:\\.|[^"\\])*)"
    |(?P<open>\#\{|[\[({])
    |(?P<close>[\])}])
    |(?P<discard>\#_)
    |\#(?P<tag>[^\s,;"\[\](){}]+)
    |\\(?P<character>newline|return|space|tab|u[0-9a-fA-F]{4}|.)
    |(?P<atom>[^\s,;"\[\](){}]+)""",
    re.VERBOSE | re.DOTALL,
)
_CLOSES: Final = {"[": "]", "(": ")", "{": "}", "#{": "}"}
_CONSTANTS: Final = {"nil": None, "true": True, "false": False}
_INTEGER: Final = re.compile(r"[+-]?\d+N?")
_FLOAT: Final = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?M?")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CHARACTERS: Final = {"newline": "\n", "return": "\r", "space": " ", "tab": "\t"}
_DEEPEST: Final = 100
_FIELDS: Final = ("type", "process", "f")


class Keyword(str):
    """A keyword, without its colon."""

    __slots__ = ()


def edn_value(text: str) -> Any:
    """Return the first value of a text: vectors and lists as tuples, sets as frozensets, without tags.

    Raises:
        FormatError: there is no value, or it has no end, or it cannot be read.
    """
    for _, value in _Reader(text).values():
        return value
    raise FormatError("there is no value")


def edn_events(text: str) -> Iterator[ForeignEvent]:
    """Yield the events of a history: a sequence of maps, or one vector or list of maps.

    Events of processes without a number are left out.

    Raises:
        FormatError: the text is not a history; the message names the line.
    """
    for line, value in _Reader(text).values(is_flat=True):
        if not isinstance(value, dict):
            raise FormatError(f"line {line}: an event must be a map such as {{:process 0, :type :invoke, :f :read}}")
        missing = [name for name in _FIELDS if name not in value]
        if missing:
            raise FormatError(f"line {line}: an event needs :{', :'.join(missing)}")
        process = value["process"]
        if isinstance(process, int) and not isinstance(process, bool):
            key = value.get("key")
            yield ForeignEvent(line, process, str(value["type"]), str(value["f"]), key, value.get("value"))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line, self._counted = 1, 0

    def values(self, *, is_flat: bool = False) -> Iterator[tuple[int, Any]]:
        """Yield each value with the line where it begins; if ``is_flat``, replace vectors and lists by their items."""
        closing: str | None = None
        while (token := self._next()) is not None:
            kind, text, line = token
            if kind == "open" and is_flat and closing is None and text in "[(":
                closing = _CLOSES[text]
            elif kind == "close" and text == closing:
                closing = None
            elif kind == "discard":
                self._value(self._needed(), 0)
            else:
                yield line, self._value(token, 0)
        if closing is not None:
            raise FormatError(f"line {self._line}: the history ends without {closing}; is the file cut off?")

    def _next(self) -> tuple[str, str, int] | None:
        while self._at < len(self._text):
            match = _TOKEN.match(self._text, self._at)
            if match is None:
                raise FormatError(f"line {self._line_at(self._at)}: not EDN, or a text without an end")
            begin, self._at = self._at, match.end()
            kind = str(match.lastgroup)
            if kind != "blank":
                return kind, match[kind], self._line_at(begin)
        self._line_at(self._at)
        return None

    def _line_at(self, at: int) -> int:
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self._line

    def _needed(self) -> tuple[str, str, int]:
        token = self._next()
        if token is None:
            raise FormatError(f"line {self._line}: the text ends within a value; is the file cut off?")
        return token

    def _value(self, token: tuple[str, str, int], depth: int) -> Any:
        kind, text, line = token
        if depth > _DEEPEST:
            raise FormatError(f"line {line}: values are nested more than {_DEEPEST} deep")
        if kind == "open":
            return self._collection(text, line, depth)
        if kind == "tag":
            return self._value(self._needed(), depth + 1)
        if kind == "text":
            return _ESCAPE.sub(_escaped, text)
        if kind == "character":
            return chr(int(text[1:], 16)) if len(text) == 5 and text[0] == "u" else _CHARACTERS.get(text, text)
        if kind == "atom":
            return _atom(text)
        raise FormatError(f"line {line}: {text} closes no bracket")

    def _collection(self, begin: str, line: int, depth: int) -> Any:
        items = []
        while True:
            token = self._needed()
            if token[0] == "close":
                break
            value = self._value(self._needed() if token[0] == "discard" else token, depth + 1)
            if token[0] != "discard":
                items.append(value)
        if token[1] != _CLOSES[begin]:
            raise FormatError(
                f"line {token[2]}: expected {_CLOSES[begin]} for the {begin} of line {line}, not {token[1]}"
            )
        try:
            if begin == "#{":
                return frozenset(items)
            if begin == "{":
                if len(items) % 2:
                    raise FormatError(f"line {line}: a map has a key without a value")
                return dict(zip(items[::2], items[1::2], strict=True))
        except TypeError:
            raise FormatError(f"line {line}: maps and sets as keys, or in a set, cannot be read") from None
        return tuple(items)


def _escaped(match: re.Match[str]) -> str:
    escape = match[1]
    return chr(int(escape[1:], 16)) if len(escape) == 5 else _ESCAPED.get(escape, escape)


def _atom(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text.startswith(":"):
        return Keyword(text[1:])
    if _INTEGER.fullmatch(text):
        return int(text.rstrip("N"))
    if _FLOAT.fullmatch(text):
        return float(text.rstrip("M"))
    return text
