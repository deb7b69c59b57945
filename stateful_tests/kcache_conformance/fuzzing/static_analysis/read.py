"""Facts about the code of a function: names, texts, numbers and patterns."""

from __future__ import annotations

import dis
import enum
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .reachable import Reachable, nested

_LONGEST_TEXT = 300
_REFLECTION = frozenset({"vars", "dir", "__dict__", "asdict", "to_dict", "model_dump", "dumps"})
_PATTERN_SIGNS = re.compile(r"[\\^$*+?\[\](){}|]")
_MOST_LENGTH = 100_000
_LARGEST_NUMBER = 2**70


@dataclass(frozen=True)
class Reading:
    """The facts about the code of a function and of the functions that it calls.

    Attributes:
        names: all attribute names and all texts: a superset of the fields that are read by name.
        attributes: the names that are read as attributes.
        texts: the texts that may be operands of comparisons, or keys of lookups.
        numbers: the numbers, each with its neighbours.
        patterns: regular expressions.
        is_reflective: whether the code may read fields without naming them.
    """

    names: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    patterns: tuple[str, ...] = ()
    is_reflective: bool = False

    @property
    def separators(self) -> tuple[str, ...]:
        """The texts with which the code probably splits or joins other texts."""
        return tuple(text for text in self.texts if 0 < len(text) <= 2 and not text.isalnum())

    @property
    def lengths(self) -> tuple[int, ...]:
        """The numbers that may be lengths or counts."""
        return tuple(number for number in self.numbers if 0 <= number <= _MOST_LENGTH)

    def reads(self, *names: str) -> bool:
        """Whether a field with one of these names may be read."""
        return any(name in self.names for name in names)

    def enriched(self, texts: Iterable[str], numbers: Iterable[int]) -> Reading:
        """Return a copy with further texts and numbers, which were recorded while the code ran."""
        return replace(
            self,
            texts=tuple(dict.fromkeys((*self.texts, *texts))),
            numbers=tuple(dict.fromkeys((*self.numbers, *_with_neighbours(numbers)))),
        )


def read(function: Callable[..., Any]) -> Reading:
    """Read the code of ``function`` and of what it calls in its own package; O(size of that code)."""
    reachable = Reachable(function)
    texts: dict[str, None] = {}
    numbers: dict[int, None] = {}
    patterns: dict[str, None] = {}
    for value in reachable.values:
        for scalar in nested(value):
            constant = scalar.value if isinstance(scalar, enum.Enum) else scalar
            if isinstance(constant, str) and len(constant) <= _LONGEST_TEXT:
                texts[constant] = None
            elif isinstance(constant, bytes) and len(constant) <= _LONGEST_TEXT:
                texts[constant.decode("latin-1")] = None
            elif isinstance(constant, (int, float)) and not isinstance(constant, bool):
                if abs(constant) < _LARGEST_NUMBER and constant == int(constant):
                    numbers[int(constant)] = None
            elif isinstance(constant, re.Pattern):
                patterns[constant.pattern if isinstance(constant.pattern, str) else ""] = None
    names = {name for code in reachable.codes for name in code.co_names}
    attributes = {name for code in reachable.codes for name in _attributes(code)}
    for text in texts:
        if _PATTERN_SIGNS.search(text) and len(text) > 2 and _compiles(text) and "re" in names:
            patterns[text] = None
    split = {part for text in texts if len(text) <= 80 for part in re.split(r"[^A-Za-z0-9_-]+", text)}
    return Reading(
        names=frozenset(names | set(texts) | split),
        attributes=frozenset(attributes),
        texts=tuple(texts),
        numbers=_with_neighbours(numbers),
        patterns=tuple(pattern for pattern in patterns if pattern),
        is_reflective=bool(_REFLECTION & names),
    )


def _attributes(code: Any) -> Iterable[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(instruction.argval, str):
            yield instruction.argval


def _with_neighbours(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(near for number in numbers for near in (number, number - 1, number + 1)))


def _compiles(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
