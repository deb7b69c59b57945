"""Outcomes of calls: values, errors and waiting, as plain data that can be compared."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .places import Frames

Value: TypeAlias = Any
"""Plain, immutable data: nothing, a truth value, a number, a text, or a tuple of such. Of an Indexer nothing, one stamp
(or resource version), or several stamps or keys: where the order of a result is unspecified it is sorted; the order of
``index_keys`` is kept."""


class ErrorKind(enum.StrEnum):
    """Why a call of an Indexer failed."""

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
    """A value, an error, or that the call waits. The message and place of an error take no part in comparisons.

    Attributes:
        value: what the call returned.
        error: why it failed: a kind of error of its target type.
        waits: whether it waits until another thread does something.
        message: of the error.
        where: in the target it came from, ``FILE:LINE in FUNCTION``.
        frames: through which it came, where nobody could ask yet which of them is the target's.
    """

    value: Value = None
    error: str | None = None
    waits: bool = False
    message: str = field(default="", compare=False)
    where: str = field(default="", compare=False)
    frames: Frames = field(default=(), compare=False, repr=False)

    def __hash__(self) -> int:
        return hash((self.value, self.error))  # what waits has neither; the judges hash millions of these

    @property
    def is_told(self) -> bool:
        """Whether it was recorded."""
        return True

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:
        """Whether it is what the specification expects; an error of any type will do unless ``strict_errors``."""
        if expected is ANYTHING:
            return not self.waits
        if expected.error is None or strict_errors:
            return self == expected
        return self.error is not None

    def __str__(self) -> str:
        if self.waits:
            return "waits"
        if self.error is not None:
            return f"{self.error} error" + (f" ({self.message})" if self.message else "")
        value = with_short_floats(self.value)
        return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


WAITS = Outcome(waits=True)
"""The call waits until another thread does something."""


class _Untold(Outcome):
    """What a call gave that ended well, where nobody wrote it down."""

    __slots__ = ()

    @property
    def is_told(self) -> bool:
        return False

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:  # noqa: ARG002
        return expected.error is None and not expected.waits

    def __str__(self) -> str:
        return "not recorded"


UNTOLD = _Untold()
"""The call returned, but what is not recorded."""


class _Anything(Outcome):
    """Whatever a call gives that returns or raises."""

    __slots__ = ()

    @property
    def is_told(self) -> bool:
        return False

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:  # noqa: ARG002
        return not expected.waits

    def __str__(self) -> str:
        return "anything"


ANYTHING = _Anything()
"""The call may return or raise anything: it does not give the same each time after the same calls."""


def with_short_floats(value: Value) -> Value:
    """``12.3`` for ``12.300000000000001``, in tuples too: the digits that a sum of decimal fractions gets right."""
    if type(value) is float:
        return float(f"{value:.15g}")
    return tuple(map(with_short_floats, value)) if type(value) is tuple else value


def with_article(name: str) -> str:
    """``an int``, ``a list``."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


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


def raised(error: str, message: str = "") -> Outcome:
    """The call raised."""
    return Outcome(error=error, message=message)


def unexplained_text(call: str) -> str:
    """A sentence about a call whose result is impossible, as Python would write it."""
    return f"no sequential order of the calls explains what {call} gave"
