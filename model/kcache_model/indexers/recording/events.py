"""Invocations and responses as lines of JSON, in the order of time, as a recorder writes them; and calls of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from ...codec import encode_outcome
from ...decoding import Json, fields_of, is_integer, shown
from ...errors import FormatError
from ...history import FINAL_THREAD, PREFIX_THREAD, Call
from ...outcomes import Outcome
from ..codec import decode_operation, decode_outcome, encode_operation
from ..operations import Operation
from ..program import History

EVENTS_SCHEMA: Final = "kcache/events/1"


@dataclass(frozen=True, slots=True)
class Begin:
    """A call is invoked.

    Attributes:
        at: when, on an integer clock that all threads share.
        thread: which thread makes it, counted from 0; a thread makes one call at a time. Lines count from 1.
        operation: what is called.
        line: where that stands in the recording, counted from 1.
    """

    at: int
    thread: int
    operation: Operation
    line: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """The open call of a thread responds.

    Attributes:
        at: when.
        thread: which thread made it.
        outcome: what it gave.
        line: where that stands in the recording.
    """

    at: int
    thread: int
    outcome: Outcome
    line: int = 0


Event = Begin | End


class Lines(NamedTuple):
    """Where a call stands in a recording, counted from 1.

    Attributes:
        begin: the line where it begins.
        end: the line where it returns; ``None`` if it does not.
    """

    begin: int
    end: int | None


LocatedCall = tuple[Lines, Call]


def assembled(
    events: Iterable[Event], *, until: int | None = None, keep: Callable[[int], bool] = lambda _: True
) -> list[LocatedCall]:
    """The calls in the order of their invocations; those that do not return are pending.

    Args:
        events: well-formed: each thread has at most one open call.
        until: read no further than to the response of the call at this position.
        keep: which calls to keep, by their positions.
    """
    calls: dict[int, LocatedCall] = {}
    open_calls: dict[int, int] = {}
    position = -1
    for event in events:
        if isinstance(event, Begin):
            position += 1
            open_calls[event.thread] = position
            if keep(position):
                call = Call(event.thread, event.operation, event.at, None, None)
                calls[position] = Lines(event.line, None), call
            continue
        at = open_calls.pop(event.thread)
        if at in calls:
            lines, call = calls[at]
            call = replace(call, returned=event.at, outcome=event.outcome)
            calls[at] = lines._replace(end=event.line), call
        if at == until:
            break
    return list(calls.values())


_ALONE: Final = {PREFIX_THREAD: "before", FINAL_THREAD: "after"}
"""What calls are marked with that are made while no thread runs."""


_TIMES: Final = frozenset({"at", "thread"})
_EITHER: Final = frozenset({"invoke", "return"})


def decode_event(data: object, line: int = 0) -> Event:
    """An event from its JSON document.

    Raises:
        FormatError: ``data`` is no event.
    """
    fields = fields_of(data, "an event", _TIMES, _EITHER)
    at, thread = fields["at"], _decode_thread(fields["thread"])
    if not is_integer(at):
        raise FormatError(f'an event needs an integer as "at": {shown(data)}')
    if ("invoke" in fields) == ("return" in fields):
        raise FormatError(f'an event needs either "invoke" or "return": {shown(data)}')
    if "invoke" in fields:
        return Begin(at, thread, decode_operation(fields["invoke"]), line)
    if not isinstance(fields["return"], dict):
        raise FormatError(f'"return" must be {{"result": ...}} or {{"error": ...}}, not {shown(fields["return"])}')
    return End(at, thread, in_any_order(decode_outcome(fields["return"])), line)


def in_any_order(outcome: Outcome) -> Outcome:
    """The same whatever the order of a list: it says nothing about linearizability."""
    if not isinstance(outcome.value, tuple):
        return outcome
    ordered = tuple(sorted(outcome.value))
    return outcome if ordered == outcome.value else replace(outcome, value=ordered)


def encode_thread(thread: int) -> int | str:
    """The number of a thread as it stands in a recording: counted from 1, or "before" or "after"."""
    return _ALONE.get(thread, thread + 1)


def thread_text(thread: int) -> str:
    """What messages call a thread."""
    return f"thread {encode_thread(thread)}"


def _decode_thread(data: Any) -> int:
    if is_integer(data) and data >= 1:
        return int(data) - 1
    for thread, name in _ALONE.items():
        if data == name:
            return thread
    raise FormatError(f'"thread" must be an integer from 1 on, or "before" or "after", not {shown(data)}')


def encode_event(event: Event) -> Json:
    """The inverse of :func:`decode_event`."""
    data: Json = {"at": event.at, "thread": encode_thread(event.thread)}
    if isinstance(event, Begin):
        return {**data, "invoke": encode_operation(event.operation)}
    return {**data, "return": encode_outcome(event.outcome)}


def dump_events(history: History) -> Iterator[str]:
    """The lines of a history as events, without line ends.

    Raises:
        ValueError: a thread makes two calls at once, which events cannot express.
    """
    yield json.dumps({"schema": EVENTS_SCHEMA, "semantics": history.semantics.value, "indexes": list(history.indexes)})
    ends: dict[int, float] = {}
    events: list[tuple[tuple[int, int, int, int], Event]] = []
    for position, call in enumerate(sorted(history.calls, key=lambda call: call.invoked)):
        if ends.get(call.thread, float("-inf")) > call.invoked:
            raise ValueError(f"{thread_text(call.thread)} makes two calls at once at {call.invoked}")
        ends[call.thread] = float("inf") if call.returned is None else call.returned
        events.append(((call.invoked, 1, position, 0), Begin(call.invoked, call.thread, call.operation)))
        if call.returned is not None and call.outcome is not None:
            # At the same tick, a thread first returns from one call and then begins the next.
            is_instant = int(call.returned == call.invoked)
            place = (call.returned, is_instant, position, 1)
            events.append((place, End(call.returned, call.thread, call.outcome)))
    for _, event in sorted(events, key=lambda placed: placed[0]):
        yield json.dumps(encode_event(event))
