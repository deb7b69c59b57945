"""Reader of recordings, line by line. It rejects events that no recorder can observe; each error names its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ...codec import HISTORY_SCHEMA, decode_call
from ...decoding import fields_of, member_of, shown, texts_of
from ...errors import FormatError
from ...json_lines import read_documents
from ..codec import INDEXERS, truth_of
from ..items import Semantics
from ..operations import Operation
from ..program import History
from .events import EVENTS_SCHEMA, Begin, Event, Lines, LocatedCall, decode_event, in_any_order, thread_text


@dataclass(frozen=True)
class Recording:
    """A recording whose first line has been read.

    Attributes:
        header: the first line, as a history without calls.
        events: if the recording consists of events, an iterator that reads them one by one.
        calls: if the recording consists of calls, an iterator that reads them, with their lines, one by one.
    """

    header: History
    events: Iterator[Event] | None = None
    calls: Iterator[LocatedCall] | None = None


def read_recording(lines: Iterable[str]) -> Recording:
    """Read the first line, and return iterators for the other lines. Empty lines are skipped.

    Raises:
        FormatError: a line is malformed, or impossible after the lines before it. The iterators raise it as well.
    """
    numbered = read_documents(lines, may_be_cut_off=True)
    first = next(numbered, None)
    if first is None:
        raise FormatError(f'the recording is empty; its first line must be {{"schema": "{EVENTS_SCHEMA}", ...}}')
    number, data = first
    try:
        schema, header = _header(data)
    except FormatError as error:
        raise FormatError(f"line {number}: {error}") from None
    if schema == EVENTS_SCHEMA:
        return Recording(header, events=_events(numbered))
    return Recording(header, calls=_calls(numbered))


def _header(data: object) -> tuple[str, History]:
    """The schema of a recording, and a history without calls."""
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema not in (EVENTS_SCHEMA, HISTORY_SCHEMA):
        raise FormatError(
            f'the first line must have "schema": "{EVENTS_SCHEMA}" or "{HISTORY_SCHEMA}", found {shown(schema)}'
        )
    if schema == HISTORY_SCHEMA and isinstance(data, dict) and "indexes" not in data:
        raise FormatError(
            "the first line lacks indexes, which a recording of an indexed cache has; for anything else, add "
            "--spec: map, register, queue, ..."
        )
    optional = {"semantics", "may_evict"} if schema == HISTORY_SCHEMA else {"semantics"}
    fields = fields_of(data, "the first line", {"schema", "indexes"}, optional)
    semantics = member_of(Semantics, fields.get("semantics", "classic"), "semantics")
    may_evict = truth_of(fields.get("may_evict", False), "may_evict")
    return schema, History(texts_of(fields["indexes"]), (), semantics, may_evict=may_evict)


def _events(documents: Iterator[tuple[int, object]]) -> Iterator[Event]:
    open_since: dict[int, int] = {}
    written = _Stamps()
    now: int | None = None
    for number, data in documents:
        try:
            event = decode_event(data, number)
            if now is not None and event.at < now:
                raise FormatError(
                    f"the clock goes backwards, from {now} to {event.at}; events must be in the order of one clock"
                )
            now = event.at
            since = open_since.pop(event.thread, None)
            if isinstance(event, Begin):
                if since is not None:
                    raise FormatError(
                        f"{thread_text(event.thread)} begins a call before its call of line {since} has returned; "
                        "write a different number for each thread that calls"
                    )
                open_since[event.thread] = number
                written.add(event.operation)
            elif since is None:
                raise FormatError(f"{thread_text(event.thread)} returns from a call that did not begin")
        except FormatError as error:
            raise FormatError(f"line {number}: {error}") from None
        yield event


def _calls(documents: Iterator[tuple[int, object]]) -> Iterator[LocatedCall]:
    written = _Stamps()
    for number, data in documents:
        try:
            call = decode_call(data, INDEXERS)
            written.add(call.operation)
        except FormatError as error:
            raise FormatError(f"line {number}: {error}") from None
        if call.outcome is not None:
            outcome = in_any_order(call.outcome)
            call = call if outcome is call.outcome else replace(call, outcome=outcome)
        yield Lines(number, None if call.returned is None else number), call


class _Stamps:
    """Check that no two writes have the same stamp. Only hashes are kept, as stamps are many and may be long."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def add(self, operation: Operation) -> None:
        for item in operation.written:
            number = hash(item.stamp)
            if number in self._hashes:
                raise FormatError(
                    f"the stamp {shown(item.stamp)} was written before; each written version of each object needs its "
                    "own stamp, so that a result shows which write it saw"
                )
            self._hashes.add(number)
