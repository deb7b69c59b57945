"""Invocations and responses as lines of JSON in the order of time, as a recorder writes them; and their calls."""

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
    """Invocation of a call.

    Attributes:
        at: the time, on an integer clock that all threads share.
        thread: the number of the calling thread, from 0 (in a recording, threads are counted from 1). A thread has at
            most one open call.
        operation: the operation.
        line: the number of the line in the recording, from 1; 0 if there is none.
    """

    at: int
    thread: int
    operation: Operation
    line: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """Response of the open call of a thread.

    Attributes:
        at: the time.
        thread: the number of the calling thread, from 0.
        outcome: the outcome of the call.
        line: the number of the line in the recording, from 1; 0 if there is none.
    """

    at: int
    thread: int
    outcome: Outcome
    line: int = 0


Event = Begin | End


class Lines(NamedTuple):
    """The lines of a call in a recording, counted from 1.

    Attributes:
        begin: the line of its invocation.
        end: the line of its response; ``None`` if there is none.
    """

    begin: int
    end: int | None


LocatedCall = tuple[Lines, Call]


def assembled(
    events: Iterable[Event], *, until: int | None = None, keep: Callable[[int], bool] = lambda _: True
) -> list[LocatedCall]:
    """Return the calls in the order of their invocations; calls without a response are pending.

    Args:
        events: the events; each thread has at most one open call.
        until: stop after the response of the call at this position.
        keep: whether to keep the call at a position.
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
"""Number of a pseudo-thread -> its text in a recording, for calls before and after the threads run."""


_TIMES: Final = frozenset({"at", "thread"})
_EITHER: Final = frozenset({"invoke", "return"})


def decode_event(data: object, line: int = 0) -> Event:
    """Decode an event from its JSON document; a list in its outcome is sorted.

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
    """Return the outcome with its list sorted: the order of results does not matter for linearizability."""
    if not isinstance(outcome.value, tuple):
        return outcome
    ordered = tuple(sorted(outcome.value))
    return outcome if ordered == outcome.value else replace(outcome, value=ordered)


def encode_thread(thread: int) -> int | str:
    """Return the thread as it is written in a recording: its number from 1, or "before" or "after"."""
    return _ALONE.get(thread, thread + 1)


def thread_text(thread: int) -> str:
    """The name of a thread in messages."""
    return f"thread {encode_thread(thread)}"


def _decode_thread(data: Any) -> int:
    if is_integer(data) and data >= 1:
        return int(data) - 1
    for thread, name in _ALONE.items():
        if data == name:
            return thread
    raise FormatError(f'"thread" must be an integer of at least 1, "before" or "after", not {shown(data)}')


def encode_event(event: Event) -> Json:
    """The inverse of :func:`decode_event`."""
    data: Json = {"at": event.at, "thread": encode_thread(event.thread)}
    if isinstance(event, Begin):
        return {**data, "invoke": encode_operation(event.operation)}
    return {**data, "return": encode_outcome(event.outcome)}


def dump_events(history: History) -> Iterator[str]:
    """Yield the lines of a history as events, without line ends.

    Raises:
        ValueError: a thread has two calls at once, which events cannot express.
    """
    yield json.dumps({"schema": EVENTS_SCHEMA, "semantics": history.semantics.value, "indexes": list(history.indexes)})
    ends: dict[int, float] = {}
    events: list[tuple[tuple[int, int, int, int], Event]] = []
    for position, call in enumerate(sorted(history.calls, key=lambda call: call.invoked)):
        if ends.get(call.thread, float("-inf")) > call.invoked:
            raise ValueError(
                f"{thread_text(call.thread)} begins a second call at {call.invoked} before its first call has returned"
            )
        ends[call.thread] = float("inf") if call.returned is None else call.returned
        events.append(((call.invoked, 1, position, 0), Begin(call.invoked, call.thread, call.operation)))
        if call.returned is not None and call.outcome is not None:
            # At the same tick, a thread first returns from one call and then begins the next.
            is_instant = int(call.returned == call.invoked)
            place = (call.returned, is_instant, position, 1)
            events.append((place, End(call.returned, call.thread, call.outcome)))
    for _, event in sorted(events, key=lambda placed: placed[0]):
        yield json.dumps(encode_event(event))
