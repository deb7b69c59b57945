"""A history, or a part of it, as a picture and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kcache_model.anomaly import Anomaly
from kcache_model.history import Call
from kcache_model.render import call_text, outcome_text
from kcache_model.verdict import Status, Verdict

from ..timeline import lane_name
from .ordering import explaining_order, order_to_first_error
from .picture import DrawnHistory, Page, Picture, Table
from .texts import limited_text, sentences, tick_text

_MOST_ROWS = 200
_NO_ORDER = "No order is drawn, because no order was found in time. The verdict does not depend on it."
_ELSEWHERE = "The argument does not name the first error, which came before the last call that the argument names."
HEADLINES = {
    Status.OK: "These results are possible if the calls run one at a time, in some order.",
    Status.VIOLATION: "These results are impossible if the calls run one at a time, in any order.",
    Status.UNKNOWN: "It is not known whether these results are possible if the calls run one at a time.",
}


def picture_of_history(
    history: DrawnHistory,
    status: Status,
    *,
    core: Sequence[int] = (),
    order: Sequence[int] = (),
    note: str = "",
    strict_errors: bool = False,
) -> Picture:
    """Return the calls with an order that explains them, or for a violation all calls before the first error.

    Args:
        history: the calls.
        status: the verdict; for a violation, the first error is marked.
        core: positions of the calls that cannot all be right.
        order: positions of the calls in an order that explains them; if the checker returned none, one is searched for.
        note: a note about the calls for the reader.
        strict_errors: how the history was judged.
    """
    if status is Status.VIOLATION:
        drawn = order_to_first_error(history, core, strict_errors=strict_errors)
        remark = _NO_ORDER if drawn.expected is None else _ELSEWHERE if core and drawn.stuck not in core else ""
        return Picture(history, drawn.order, tuple(core), drawn.stuck, sentences(note, remark), drawn.expected)
    if status is Status.UNKNOWN:
        return Picture(history, note=sentences(note, "No order is drawn, because the checker found no order."))
    found = order or explaining_order(history, strict_errors=strict_errors)
    if found is None:
        return Picture(history, note=sentences(note, _NO_ORDER))
    return Picture(history, tuple(found), note=note)


def page_of_history(
    history: DrawnHistory,
    verdict: Verdict,
    *,
    title: str,
    note: str = "",
    strict_errors: bool = False,
) -> Page:
    """Return a page with the verdict of ``check_linearizable`` on a history, and its calls.

    Args:
        history: the judged history.
        verdict: the verdict.
        title: the command line, or the name of the file.
        note: a note about the calls for the reader.
        strict_errors: how it was judged.
    """
    core, order = positions_of(history, verdict.core), positions_of(history, verdict.order)
    picture = None
    if history.calls:
        picture = picture_of_history(
            history, verdict.status, core=core, order=order, note=note, strict_errors=strict_errors
        )
    reason = argument(verdict.reason, verdict.anomaly)
    return Page(
        title,
        verdict.status,
        HEADLINES[verdict.status],
        tuple(filter(None, (reason, "" if history.calls else "There are no calls."))),
        picture,
        () if picture is None else tables_of_calls(picture),
        label="" if verdict.anomaly is None else verdict.anomaly.value,
    )


def tables_of_calls(picture: Picture) -> tuple[Table, ...]:
    """Return tables of the core's calls, for readers who cannot see the picture; of all calls if there are few."""
    calls = picture.history.calls
    tables = []
    if picture.core:
        rows = [(position, calls[position]) for position in picture.core]
        heading = "Calls that cannot all be right" if len(rows) > 1 else "The call that cannot be right"
        tables.append(_table(heading, picture, rows))
    if len(calls) <= _MOST_ROWS and len(calls) > len(picture.core):
        tables.append(_table("All calls", picture, enumerate(calls)))
    return tuple(tables)


def positions_of(history: DrawnHistory, calls: Iterable[Call]) -> tuple[int, ...]:
    """Return the positions of these calls in the history, by identity or else by equality; others are left out."""
    wanted = list(calls)
    positions = {id(call): position for position, call in enumerate(history.calls)} if wanted else {}
    found = []
    for call in wanted:
        position = positions.get(id(call))
        if position is None and call in history.calls:
            position = history.calls.index(call)
        if position is not None:
            found.append(position)
    return tuple(found)


def argument(text: str, anomaly: Anomaly | None) -> str:
    """Return the text as a paragraph, without the class of the anomaly, which stands above it."""
    if anomaly is not None:
        text = text.removeprefix(f"{anomaly.value}: ")
    return sentences(text)


def _table(heading: str, picture: Picture, calls: Iterable[tuple[int, Call]]) -> Table:
    places = {position: str(place) for place, position in enumerate(picture.order, 1)}
    rows = [
        (
            lane_name(call.thread),
            limited_text(call_text(call)) + (" \u2717" if position == picture.first_error else ""),
            "no response" if call.returned is None else limited_text(outcome_text(call.outcome)),
            tick_text(call.invoked),
            "" if call.returned is None else tick_text(call.returned),
            places.get(position, ""),
        )
        for position, call in calls
    ]
    columns = ("thread", "call", "result", "from", "to", "in the order")
    if not picture.order:
        return Table(heading, columns[:-1], tuple(row[:-1] for row in rows))
    return Table(heading, columns, tuple(rows))
