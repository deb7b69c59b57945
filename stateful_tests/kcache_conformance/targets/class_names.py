"""Class names: the names of the types of single classes, which contain the class and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

CLASS: Final = "class"
"""The value of ``--type`` for any class."""

PREFIX: Final = f"{CLASS}="
"""The prefix of the names of types of single classes."""

BETWEEN: Final = "=="
"""The separator of class and model in such a name; a single ``=`` may occur in the arguments of the class."""


LEAVE_OUT: Final = "~~"
"""The separator before the methods that a user leaves out; no file and no argument has two tildes in a row."""


class ClassTypeName(NamedTuple):
    """The parts of the name of the type of one class.

    Attributes:
        target: ``package.module:Class`` or ``path/to/file.py:Class``.
        model: a class with the same methods and correct results, or the name of a specification; empty if the class is
            compared with its own behaviour in one thread.
        leave_out: the methods that the user excludes from all calls.
    """

    target: str
    model: str = ""
    leave_out: tuple[str, ...] = ()


def class_type_name(target: str, model: str = "", leave_out: Iterable[str] = ()) -> str:
    """Return the name of the type of one class; see :class:`ClassTypeName`."""
    names = ",".join(dict.fromkeys(leave_out))
    compared = f"{BETWEEN}{model}" if model else ""
    return f"{PREFIX}{target}{compared}{LEAVE_OUT if names else ''}{names}"


def parse_class_type_name(name: str) -> ClassTypeName:
    """Invert :func:`class_type_name`."""
    whole, _, names = name.removeprefix(PREFIX).partition(LEAVE_OUT)
    target, _, model = whole.partition(BETWEEN)
    return ClassTypeName(target, model, tuple(filter(None, names.split(","))))
