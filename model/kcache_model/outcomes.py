"""What a call gave: a value or an error, as plain data that can be compared."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

Value = None | str | tuple[str, ...]
"""Nothing, one stamp (or resource version), or several stamps or keys. Where the order of a result is unspecified it
is sorted; the order of ``index_keys`` is kept."""


class ErrorKind(enum.StrEnum):
    """Why a call failed."""

    KEY_FUNC = "key_func"
    INDEX_FUNC = "index_func"
    INDEX_NOT_FOUND = "index_not_found"
    INDEXER_CONFLICT = "indexer_conflict"
    INDEXERS_RUNNING = "indexers_running"
    TRANSACTION = "transaction"
    OTHER = "other"
    """An exception that is none of kcache's: the message says which."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A value, or an error. The message of an error takes no part in comparisons."""

    value: Value = None
    error: ErrorKind | None = None
    message: str = field(default="", compare=False)

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:
        """Whether it is what the model expects; an error of any type will do unless ``strict_errors``."""
        if expected.error is None or strict_errors:
            return self == expected
        return self.error is not None


def error_text(error: BaseException) -> str:
    """``Type: message``, kept short; the message of an exception may itself fail."""
    try:
        message = str(error)[:300]
    except BaseException:
        message = "(its message cannot be read)"
    return f"{type(error).__name__}: {message}"


def returned(value: Value = None) -> Outcome:
    """The call returned ``value``."""
    return Outcome(value=value)


def raised(error: ErrorKind, message: str = "") -> Outcome:
    """The call raised."""
    return Outcome(error=error, message=message)
