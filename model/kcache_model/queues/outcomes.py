"""What a call of a queue gave, as plain data that can be compared."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TypeAlias

Value: TypeAlias = bool | int | str | tuple[str, ...] | None
"""Of a ``pop``, what was handed out: one text for each change, ``initial`` before them if they belong to the first
replacement, ``raised`` after them if what the process function raised came out."""


class ErrorKind(enum.StrEnum):
    """Why a call failed."""

    KEY_FUNC = "key_func"
    TRANSFORMER = "transformer"
    CLOSED = "closed"
    OTHER = "other"
    """An exception that is none of kcache's: the message says which."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A value, an error, or that the call waits. The message of an error takes no part in comparisons."""

    value: Value = None
    error: ErrorKind | None = None
    waits: bool = False
    message: str = field(default="", compare=False)

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:
        """Whether it is what the model expects; an error of any type will do unless ``strict_errors``."""
        if expected.error is None or strict_errors:
            return self == expected
        return self.error is not None

    def __str__(self) -> str:
        if self.waits:
            return "waits"
        if self.error is not None:
            return f"{self.error.value} error" + (f" ({self.message})" if self.message else "")
        if isinstance(self.value, tuple):
            return f"[{', '.join(self.value)}]"
        return str(self.value)


WAITS = Outcome(waits=True)
"""The call waits until another thread does something."""


def returned(value: Value = None) -> Outcome:
    """The call returned ``value``."""
    return Outcome(value)


def raised(error: ErrorKind, message: str = "") -> Outcome:
    """The call raised."""
    return Outcome(error=error, message=message)
