"""Conversion of recordings of other tools to calls on an object with a standard specification."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..errors import FormatError
from ..history import Call, RecordedThread
from ..object_types.plain import MethodCall, known_call, known_methods, plain_value
from ..outcomes import UNTOLD, Outcome, returned
from ..standard_specifications import Specifies
from .edn import edn_events
from .foreign_calls import ForeignCall, calls_of
from .jepsen_text import is_event, text_events

_MOST_BEFORE_EVENTS: Final = 200
"""Number of lines at the beginning of a log that must contain an event."""

_STEPS: Final[Mapping[str, str]] = {"r": "read", "w": "write", "read": "read", "write": "write"}


class ForeignFormat(enum.StrEnum):
    """A format of another tool."""

    EDN = "EDN"
    JEPSEN_TEXT = "Jepsen log"


def format_of(lines: Iterable[str]) -> ForeignFormat | None:
    """Detect the format of a recording by its first lines; ``None`` if it is JSON lines or empty.

    Raises:
        FormatError: the format is unknown.
    """
    beginning = list(itertools.islice(filter(str.strip, lines), _MOST_BEFORE_EVENTS))
    if not beginning:
        return None
    first = beginning[0].strip()
    if first.startswith(("[", "(", ";", "#", "{:")) or first == "{":
        return ForeignFormat.EDN
    if first.startswith("{"):
        return None
    if any(map(is_event, beginning)):
        return ForeignFormat.JEPSEN_TEXT
    raise FormatError(
        "line 1: neither JSON lines ({...}), nor EDN ([{:process 0, :type :invoke, ...} ...]), nor a Jepsen log "
        "(0  :invoke  :read  nil)"
    )


@dataclass(frozen=True)
class ForeignRecording:
    """The calls that were read from a recording.

    Attributes:
        calls: the calls that happened or may have happened, in the order of their invocations; times are the positions
            of events.
        lines: for each call, the line of its invocation and the line of its end; ``None`` if it has no end.
    """

    calls: tuple[Call[MethodCall], ...]
    lines: tuple[tuple[int, int | None], ...]


def read_foreign(lines: Iterable[str], foreign_format: ForeignFormat, specification: Specifies) -> ForeignRecording:
    """Read the calls of a recording.

    A call is pending if it ended with ``:info`` or has no end. A call that ended with ``:fail`` did not happen. The
    exception is a ``:cas`` in a log: there, ``:fail`` means that the register had another value, so the call happened
    and changed nothing.

    Args:
        lines: the recording.
        foreign_format: the format of the recording.
        specification: the specification of the object on which the calls ran.

    Raises:
        FormatError: the recording cannot be read; the message names the line.
    """
    is_text = foreign_format is ForeignFormat.JEPSEN_TEXT
    events = text_events(lines) if is_text else edn_events("".join(lines))
    translator = _Translator(specification, is_text)
    calls, places = [], []
    for foreign in calls_of(events):
        try:
            call = translator.call(foreign)
        except FormatError as error:
            raise FormatError(f"line {foreign.begin.line}: {error}") from None
        if call is not None:
            calls.append(call)
            places.append((foreign.begin.line, None if foreign.end is None else foreign.end.line))
    return ForeignRecording(tuple(calls), tuple(places))


class _Translator:
    def __init__(self, specification: Specifies, is_text: bool) -> None:
        self._specification = specification
        self._is_text = is_text
        self._known = known_methods(specification.vocabulary)
        self._is_keyed = ("txn", 1) in self._known or ("put", 2) in self._known

    def call(self, foreign: ForeignCall) -> Call[MethodCall] | None:
        """The call; ``None`` if it did not happen, or if it is a pending read, which may be left out."""
        begin, end = foreign.begin, foreign.end
        is_failed = end is not None and end.type == "fail"
        is_unequal = is_failed and self._is_text and begin.f == "cas" and isinstance(end and end.value, tuple)
        if is_failed and not is_unequal:
            return None
        value = None if end is None else end.value
        operation, value = self._operation(begin.f, begin.key, begin.value, value)
        refusal = self._specification.refusal(operation)
        if refusal:
            raise FormatError(f"{operation}: {refusal}")
        thread = RecordedThread(begin.process)
        if foreign.is_pending:
            return Call(thread, operation, foreign.invoked, None, None) if operation.is_write else None
        outcome = returned(False) if is_unequal else self._outcome(operation, begin.value, value)
        return Call(thread, operation, foreign.invoked, foreign.returned, outcome)

    def _operation(self, f: str, key: Any, argument: Any, value: Any) -> tuple[MethodCall, Any]:
        """The called operation, and its result without the key."""
        name = self._specification.also_called.get(f, f)
        if name == "txn" and ("txn", 1) in self._known:
            return _transaction(argument, value)
        takes = [number for known, number in self._known if known == name]
        keys = () if key is None else (plain_value(key),)
        if not keys and self._is_keyed and takes and isinstance(argument, tuple) and len(argument) == 2:
            keys, argument = (plain_value(argument[0]),), argument[1]
            if isinstance(value, tuple) and len(value) == 2 and plain_value(value[0]) == keys[0]:
                value = value[1]
        wanted = takes[0] - len(keys) if takes else 0
        rest: tuple[Any, ...] = ()
        if wanted == 1:
            rest = (argument,)
        elif wanted > 1:
            rest = argument if isinstance(argument, tuple) else (argument,)
        return known_call(self._known, name, (*keys, *map(plain_value, rest))), value

    def _outcome(self, operation: MethodCall, argument: Any, result: Any) -> Outcome:
        name = operation.name
        value = plain_value(result)
        if name in self._specification.may_be_null:
            return returned(value)
        if name not in self._specification.never_null:
            return returned()
        is_echo = bool(operation.arguments) and name != "txn" and not isinstance(result, bool)
        if is_echo and value == plain_value(argument):
            return returned(True) if name == "cas" else UNTOLD
        return UNTOLD if value is None or (name == "acquire" and value is not True) else returned(value)


def _transaction(argument: Any, result: Any) -> tuple[MethodCall, Any]:
    """The call for a transaction, and its result; a transaction of one step becomes a plain read or write.

    Raises:
        FormatError: the transaction has steps other than reads and writes.
    """
    steps = []
    for step in argument if isinstance(argument, tuple) else (argument,):
        if not isinstance(step, tuple) or len(step) != 3 or step[0] not in _STEPS:
            kind = step[0] if isinstance(step, tuple) and step else step
            raise FormatError(
                f"a transaction consists of [:r KEY nil] and [:w KEY VALUE], not of {kind!s}"
                + "; histories of list-append cannot be read" * (kind == "append")
            )
        name, key, value = _STEPS[step[0]], plain_value(step[1]), plain_value(step[2])
        steps.append(("read", key) if name == "read" else ("write", key, value))
    result_steps = result if isinstance(result, tuple) and len(result) == len(steps) else None
    values = (
        None
        if result_steps is None
        else [plain_value(step[2]) for step, own in zip(result_steps, steps, strict=True) if own[0] == "read"]
    )
    if len(steps) == 1:
        name, *arguments = steps[0]
        return MethodCall(name, tuple(arguments), name == "write"), values[0] if values else None
    return MethodCall("txn", (tuple(steps),)), None if values is None else tuple(values)
