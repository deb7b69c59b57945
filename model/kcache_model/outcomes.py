"""Outcomes of calls: values, errors and waiting, as plain data that can be compared."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .places import Frames

Value: TypeAlias = Any
"""Plain, immutable data: ``None``, a truth value, a number, a text, or a tuple of such data. An Indexer's value is
``None``, one stamp (or resource version), or a tuple of stamps or keys. If the order of a result is unspecified, the
tuple is sorted; the order of ``index_keys`` is kept."""


class ErrorKind(enum.StrEnum):
    """The reasons why a call of an Indexer fails."""

    KEY_FUNC = "key_func"
    INDEX_FUNC = "index_func"
    INDEX_NOT_FOUND = "index_not_found"
    INDEXER_CONFLICT = "indexer_conflict"
    INDEXERS_RUNNING = "indexers_running"
    TRANSACTION = "transaction"
    OTHER = "other"
    """An exception that kcache does not define: the message contains its type."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A value, an error, or the fact that the call waits. Comparisons ignore the message and place of an error.

    Attributes:
        value: the value that the call returned.
        error: the kind of error, as its target type defines it; ``None`` if the call did not fail.
        waits: whether the call waits until another thread acts.
        message: the message of the error.
        where: the place in the target that raised the error, ``FILE:LINE in FUNCTION``.
        frames: the frames of the traceback, if ``where`` could not be determined yet.
    """

    value: Value = None
    error: str | None = None
    waits: bool = False
    message: str = field(default="", compare=False)
    where: str = field(default="", compare=False)
    frames: Frames = field(default=(), compare=False, repr=False)

    def __hash__(self) -> int:
        return hash((self.value, self.error))  # if waits is true, both are None; the judges hash millions of outcomes

    @property
    def is_told(self) -> bool:
        """Whether the value or error was recorded."""
        return True

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:
        """Whether this outcome matches the expected one; unless ``strict_errors``, any error matches an error."""
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
"""The call waits until another thread acts."""
WAITED: Final = "waited forever"
"""The end of such a call where calls are counted by their ends."""


class _Untold(Outcome):
    """The outcome of a call that returned a value which was not recorded."""

    __slots__ = ()

    @property
    def is_told(self) -> bool:
        return False

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:  # noqa: ARG002
        return expected.error is None and not expected.waits

    def __str__(self) -> str:
        return "not recorded"


UNTOLD = _Untold()
"""The call returned; its value was not recorded."""


class _Anything(Outcome):
    """The expected outcome that every returned value and every error match."""

    __slots__ = ()

    @property
    def is_told(self) -> bool:
        return False

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:  # noqa: ARG002
        return not expected.waits

    def __str__(self) -> str:
        return "anything"


ANYTHING = _Anything()
"""The call may return or raise anything: its outcome differs from run to run after the same calls."""


class _Ended(Outcome):
    """The outcome of a call that the environment has cut short; its error is a sentence about it.

    It agrees with no response of the object: a pending call with this outcome has had no effect.
    """

    __slots__ = ()

    def agrees_with(self, expected: Outcome, *, strict_errors: bool = False) -> bool:  # noqa: ARG002
        return False

    def __str__(self) -> str:
        return str(self.error)


CANCELLED: Final = _Ended(error="was cancelled")
"""The call was cancelled from outside: it may or may not have taken effect."""

NOT_BEGUN: Final = _Ended(error="was not made, as the call before was cancelled")
"""The call was not made, because an earlier call of its thread was cancelled."""


def with_short_floats(value: Value) -> Value:
    """Round floats to 15 digits, in tuples too: ``12.3`` for ``12.300000000000001``, a sum of decimal fractions."""
    if type(value) is float:
        return float(f"{value:.15g}")
    return tuple(map(with_short_floats, value)) if type(value) is tuple else value


def with_article(name: str) -> str:
    """Return a name with its indefinite article: ``an int``, ``a list``."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def error_text(error: BaseException) -> str:
    """Return ``Type: message`` with at most 300 characters of the message, whose ``str`` may itself raise."""
    try:
        message = str(error)[:300]
    except BaseException:
        message = "(its message cannot be read)"
    return f"{type(error).__name__}: {message}"


def returned(value: Value = None) -> Outcome:
    """Return the outcome of a call that returned ``value``."""
    return Outcome(value=value)


def raised(error: str, message: str = "") -> Outcome:
    """Return the outcome of a call that raised an error."""
    return Outcome(error=error, message=message)


def unexplained_text(call: str) -> str:
    """Return a sentence that reports the impossible result of ``call``, which is written as Python code."""
    return f"no sequential order of the calls explains the result of {call}"
