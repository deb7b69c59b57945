"""Rendering of operations, outcomes and calls as short texts."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from .history import FINAL_THREAD, Call, thread_text
from .outcomes import ErrorKind, Outcome, with_article, with_short_floats

LONGEST_NAME = 40
"""The maximum number of characters of a name; longer names are cut."""

_MOST_RESULTS = 60
CLOSEST = "Closest: "
"""The beginning of the sentence that names the closest order."""

_MOST_IN_ORDER = 12
"""The maximum number of calls of a sequential order that a sentence lists; readers cannot follow more."""


def operation_text(operation: object) -> str:
    """Return the call as Python code: its ``str``, on one line."""
    return printable_line(str(operation))


def outcome_text(outcome: Outcome | None) -> str:
    """Return an outcome as text: a stamp, ``[v1, v2]``, ``None``, or the error."""
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


def result_text(outcome: Outcome | None, text: Callable[[Outcome], str] = outcome_text, *, is_past: bool = True) -> str:
    """Return a verb with the outcome: ``returned 2``, ``raised KeyError: 'a'``, ``would wait``."""
    if outcome is None or outcome.waits:
        return "would wait"
    if outcome.error is None:
        return f"return{'ed' if is_past else 's'}" + (f" {text(outcome)}" if outcome.is_told else "")
    error, message = outcome.error, printable_line(outcome.message)
    if message and (error is ErrorKind.OTHER or message.startswith(error)):
        raised = message
    else:
        raised = f"{with_article(error)} error" if isinstance(error, enum.StrEnum) else error
        raised += f" ({message})" if message else ""
    return f"raise{'d' if is_past else 's'} {raised}"


def no_order_text(
    call: Call[Any], order: Sequence[Call[Any]], expected: Outcome, text: Callable[[Outcome], str] = outcome_text
) -> str:
    """Return sentences with an outcome that no sequential order explains, and the outcome in the closest order.

    Args:
        call: the call that no order explains.
        order: the calls before it in the order that explains the most calls.
        expected: the outcome of the call in that order.
        text: returns the value of an outcome as text.
    """
    if call.outcome is not None and text(call.outcome) == text(expected):  # they differ only in digits that are cut
        text = _in_full
    who = "After the threads" if call.thread == FINAL_THREAD else thread_text(call.thread).capitalize()
    who = f"{who}: " if call.thread >= 0 or call.thread == FINAL_THREAD else ""
    called, before = brief_text(call.operation), [brief_text(other.operation) for other in order[-_MOST_IN_ORDER:]]
    if len(order) > _MOST_IN_ORDER:
        before[0] = f"{len(order) - _MOST_IN_ORDER} other calls, {before[0]}"
    closest = f"{', '.join(before)}, then {called}" if before else f"{called} first"
    return (
        f"{who}{called} {result_text(call.outcome, text)}. No sequential order of these calls gives that. "
        f"{CLOSEST}{closest}, which {result_text(expected, text, is_past=False)}."
    )


def printable_line(text: str) -> str:
    """Return ``text`` on one line, escaped as :func:`printable` does."""
    return printable(text).replace("\n", "\\n")


def printable(text: str) -> str:
    """Escape control characters except newlines: texts of an implementation must not control the terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else character.encode("unicode_escape").decode()
        for character in text
    )


def call_text(call: Call) -> str:
    """Return the call as text, without its outcome and without details that do not matter among other calls."""
    return operation_text(getattr(call.operation, "plain", call.operation))


def brief_text(operation: object) -> str:
    """Return the shortest text of a call, for sentences; see :func:`operation_text`."""
    return operation_text(getattr(operation, "brief", operation))


def name_text(text: str) -> str:
    """Return ``text``, cut if it is long; quoted and escaped unless it has only ASCII letters, digits and ``/-_.=``."""
    text = cut_short(text)
    plain = text.replace("/", "").replace("-", "").replace("_", "").replace(".", "").replace("=", "")
    return text if plain.isascii() and plain.isalnum() else repr(text)


def quoted(text: str) -> str:
    """Return ``text`` if it is printable and has no outer spaces, else quoted and escaped; texts are never cut."""
    return text if text.isprintable() and text.strip() == text and text else repr(text)


def cut_short(text: str) -> str:
    """Return ``text``, cut to at most ``LONGEST_NAME`` characters."""
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..."


def _in_full(outcome: Outcome) -> str:
    return printable_line(repr(outcome.value))


def _listed(values: tuple[Any, ...]) -> str:
    more = f", and {len(values) - _MOST_RESULTS} more" if len(values) > _MOST_RESULTS else ""
    return ", ".join(map(_value_text, values[:_MOST_RESULTS])) + more


def _value_text(value: Any) -> str:
    return name_text(value) if isinstance(value, str) else printable_line(str(with_short_floats(value)))
