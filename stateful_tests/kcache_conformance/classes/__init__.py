"""Any class as a target: its own behaviour in one thread, or a plain model's, is its specification."""

from __future__ import annotations

from typing import Final

CLASS: Final = "class"
"""What ``--type`` takes for any class."""

PREFIX: Final = f"{CLASS}="
"""How the names of the types of single classes begin."""

BETWEEN: Final = "=="
"""Between the class and its model in such a name; a single one may stand in its arguments."""


def class_type_name(target: str, model: str = "") -> str:
    """The name of the type of one class.

    Args:
        target: ``package.module:Class`` or ``path/to/file.py:Class``.
        model: a class with the same methods that gives what is right; empty for what the class itself does in one
            thread.
    """
    return f"{PREFIX}{target}{BETWEEN}{model}" if model else f"{PREFIX}{target}"
