"""Short names for the keys, values and stamps of a program, so that a person can follow it."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator
from dataclasses import replace

from .items import Item, Values
from .operations import Operation
from .program import Program


def with_short_names(program: Program) -> Program:
    """Return the program with keys a, b, ...; values n1, n2, ...; stamps v1, v2, ... in order of appearance.

    The renamed program may behave differently: an implementation may depend on the sort order of names, or on
    unusual names.
    """
    names = _Names()
    return replace(
        program,
        prefix=tuple(map(names.operation, program.prefix)),
        threads=tuple(tuple(map(names.operation, thread)) for thread in program.threads),
    )


class _Names:
    def __init__(self) -> None:
        self._keys = _Numbering(itertools.chain(string.ascii_lowercase, _numbered("k")))
        self._values = _Numbering(_numbered("n"))
        self._stamps = _Numbering(_numbered("v"))

    def operation(self, operation: Operation) -> Operation:
        return replace(
            operation.with_items(self._item),
            key=None if operation.key is None else self._keys[operation.key],
            value=None if operation.value is None else self._values[operation.value],
            values=None if operation.values is None else self._all_values(operation.values),
        )

    def _item(self, item: Item) -> Item:
        return replace(
            item,
            key=None if item.key is None else self._keys[item.key],
            stamp=self._stamps[item.stamp],
            values=self._all_values(item.values),
        )

    def _all_values(self, values: Values) -> Values:
        return {
            index: None if texts is None else tuple(self._values[value] for value in texts)
            for index, texts in values.items()
        }


class _Numbering(dict[str, str]):
    """Old name -> new name; the lookup of an unknown old name assigns the next new name."""

    def __init__(self, names: Iterator[str]) -> None:
        super().__init__()
        self._names = names

    def __missing__(self, old: str) -> str:
        self[old] = next(self._names)
        return self[old]


def _numbered(prefix: str) -> Iterator[str]:
    return (f"{prefix}{number}" for number in itertools.count(1))
