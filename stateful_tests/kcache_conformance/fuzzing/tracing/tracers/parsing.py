"""Replacement of ``int`` in the traced code: if it parses a part of a traced text, the number is traced, too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from .notes import Notes
from .number import TracingNumber
from .text import part_of

_DIGITS = ("0", "7")


class _Numbers(type):
    """The metaclass of the replacement of ``int``; ``isinstance`` accepts the instances of ``int``."""

    notes: Notes

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, int)

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        argument = arguments[0] if len(arguments) == 1 and not keywords else None
        if isinstance(argument, TracingNumber):
            return argument
        part = part_of(argument, cls.notes) if isinstance(argument, str) else None
        try:
            number = int(*arguments, **keywords)
        except ValueError:
            if part is not None:
                for digits in _DIGITS:
                    cls.notes.wish(part.place, digits)
            raise
        return number if part is None else TracingNumber(number, cls.notes, {part.place: (1, number)})


@contextlib.contextmanager
def parsing_traced(tables: Sequence[dict[str, Any]], notes: Notes) -> Iterator[None]:
    """Replace ``int`` in the globals of modules while the context is entered, so that parsed numbers are traced."""
    changed = [table for table in tables if "int" not in table]
    traced = _Numbers("int", (int,), {"notes": notes})
    for table in changed:
        table["int"] = traced
    try:
        yield
    finally:
        for table in changed:
            table.pop("int", None)
