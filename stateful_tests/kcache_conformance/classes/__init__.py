"""Any class as a target: its own behaviour in one thread, or a plain model's, is its specification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

CLASS: Final = "class"
"""What ``--type`` takes for any class."""

PREFIX: Final = f"{CLASS}="
"""How the names of the types of single classes begin."""

BETWEEN: Final = "=="
"""Between the class and its model in such a name; a single one may stand in its arguments."""


LEAVE_OUT: Final = "~~"
"""Before the names of the methods that a user leaves out; no file and no argument has two tildes in a row."""


class ClassTypeName(NamedTuple):
    """The parts of the name of the type of one class.

    Attributes:
        target: ``package.module:Class`` or ``path/to/file.py:Class``.
        model: a class with the same methods that returns what is right, or the name of a specification; empty for what
            the class itself does in one thread.
        leave_out: the methods that are never called, because the user says so.
    """

    target: str
    model: str = ""
    leave_out: tuple[str, ...] = ()


def class_type_name(target: str, model: str = "", leave_out: Iterable[str] = ()) -> str:
    """The name of the type of one class; see :class:`ClassTypeName`."""
    names = ",".join(dict.fromkeys(leave_out))
    compared = f"{BETWEEN}{model}" if model else ""
    return f"{PREFIX}{target}{compared}{LEAVE_OUT if names else ''}{names}"


def parse_class_type_name(name: str) -> ClassTypeName:
    """The inverse of :func:`class_type_name`."""
    whole, _, names = name.removeprefix(PREFIX).partition(LEAVE_OUT)
    target, _, model = whole.partition(BETWEEN)
    return ClassTypeName(target, model, tuple(filter(None, names.split(","))))
