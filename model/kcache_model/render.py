"""Operations, outcomes and calls as short text."""

from __future__ import annotations

from typing import Any

from .history import Call
from .outcomes import ErrorKind, Outcome

LONGEST_NAME = 40
"""Characters; longer names are cut."""

_MOST_RESULTS = 60


def operation_text(operation: object) -> str:
    """The call as Python would write it: its ``str``, on one line."""
    return printable_line(str(operation))


def outcome_text(outcome: Outcome | None) -> str:
    """What a call gave: a stamp, ``[v1, v2]``, ``None``, or the error."""
    if outcome is None:
        return "(no answer)"
    if outcome.error is not None:
        message = printable_line(outcome.message)
        if outcome.error is ErrorKind.OTHER and message:
            return message
        return f"{outcome.error} error" + (f" ({message})" if message else "")
    if outcome.waits:
        return str(outcome)
    if isinstance(outcome.value, tuple):
        return f"[{_listed(outcome.value)}]"
    return _value_text(outcome.value)


def printable_line(text: str) -> str:
    """As :func:`printable`, in one line."""
    return printable(text).replace("\n", "\\n")


def printable(text: str) -> str:
    """``text`` with control characters escaped: what an implementation says must not steer a terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else character.encode("unicode_escape").decode()
        for character in text
    )


def call_text(call: Call) -> str:
    """The call without its outcome, without what is of no interest among other calls."""
    return operation_text(getattr(call.operation, "plain", call.operation))


def brief_text(operation: object) -> str:
    """As :func:`operation_text`, as short as it can be: for sentences."""
    return operation_text(getattr(operation, "brief", operation))


def name_text(text: str) -> str:
    """``text`` itself if it reads well, else quoted and with escapes; long texts are cut."""
    text = cut_short(text)
    plain = text.replace("/", "").replace("-", "").replace("_", "").replace(".", "").replace("=", "")
    return text if plain.isascii() and plain.isalnum() else repr(text)


def quoted(text: str) -> str:
    """``text`` itself if it can be read as it is, else quoted and with escapes; never cut."""
    return text if text.isprintable() and text.strip() == text and text else repr(text)


def cut_short(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..."


def _listed(values: tuple[Any, ...]) -> str:
    more = f", and {len(values) - _MOST_RESULTS} more" if len(values) > _MOST_RESULTS else ""
    return ", ".join(map(_value_text, values[:_MOST_RESULTS])) + more


def _value_text(value: Any) -> str:
    return name_text(value) if isinstance(value, str) else printable_line(str(value))
