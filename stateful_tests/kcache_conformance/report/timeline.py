"""Concurrent calls as a table: a column for each thread, time from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from kcache_model.history import FINAL_THREAD, PREFIX_THREAD, Call, thread_text
from kcache_model.render import call_text, outcome_text

_MOST_COLUMNS = 4


def lane_name(thread: int) -> str:
    """Return the name of a thread's lane."""
    return {PREFIX_THREAD: "before", FINAL_THREAD: "afterwards"}.get(thread) or thread_text(thread)


def lane_order(thread: int) -> tuple[int, int]:
    """Return the sort key of a lane: calls before the threads first, calls after them last."""
    return {PREFIX_THREAD: 0, FINAL_THREAD: 2}.get(thread, 1), thread


def timeline(calls: Sequence[Call], core: Sequence[int] = ()) -> Table:
    """Return two rows for each call: its invocation and its response. Calls overlap if their bars are side by side.

    Calls before and after the threads have their own columns; if there are too many columns, each call has a row
    instead. Calls whose positions are in ``core`` are marked.
    """
    marked = {id(calls[position]) for position in core}
    threads = sorted({call.thread for call in calls}, key=lane_order)
    if len(threads) > _MOST_COLUMNS:
        return _one_by_one(calls, marked)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for thread in threads:
        table.add_column(lane_name(thread), overflow="fold")
    open_calls: set[int] = set()
    for call, begins in _events(calls):
        if begins:
            open_calls.add(call.thread)
        mark = " *" if id(call) in marked else ""
        row = [_cell(thread, call, mark, begins=begins, is_open=thread in open_calls) for thread in threads]
        if not begins:
            open_calls.discard(call.thread)
        table.add_row(*row)
    return table


def _one_by_one(calls: Sequence[Call], marked: set[int]) -> Table:
    """Return a row for each call: this many columns would be too narrow to read."""
    ticks = sorted({tick for call in calls for tick in (call.invoked, call.returned) if tick is not None})
    moments = {tick: str(number) for number, tick in enumerate(ticks, start=1)}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("from", "to"):
        table.add_column(title, justify="right")
    for title in ("thread", "call", "result"):
        table.add_column(title, overflow="fold")
    for call in sorted(calls, key=lambda call: call.invoked):
        end = "never" if call.returned is None else moments[call.returned]
        result = "" if call.returned is None else outcome_text(call.outcome)
        mark = " *" if id(call) in marked else ""
        table.add_row(moments[call.invoked], end, lane_name(call.thread), call_text(call), f"{result}{mark}")
    return table


def _events(calls: Sequence[Call]) -> list[tuple[Call, bool]]:
    """Return (call, whether it begins) in order of time; at the same tick begins come first, so that calls overlap."""
    events = [(call.invoked, 0, call, True) for call in calls]
    events += [(call.returned, 1, call, False) for call in calls if call.returned is not None]
    return [(call, begins) for _, _, call, begins in sorted(events, key=lambda event: event[:2])]


def _cell(thread: int, call: Call, mark: str, *, begins: bool, is_open: bool) -> Text:
    if thread != call.thread:
        return Text("\u2502" if is_open else "")
    if begins:
        return Text(f"\u250c {call_text(call)}" + ("  no response" if call.returned is None else ""))
    return Text(f"\u2514 {outcome_text(call.outcome)}{mark}")
