"""A picture as JSON that is safe within a page, whatever texts a target has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kcache_model.history import Call
from kcache_model.render import call_text, outcome_text

from ..timeline import lane_name, lane_order
from .cutting import cut_note, drawn_calls
from .picture import Picture, PlainHistory
from .placing import Placed, place_calls, place_points
from .states import Difference, differences, initial_facts
from .texts import argument_texts, limited_text, sentences, tick_text

_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def json_for_html(data: object) -> str:
    """Return JSON in which nothing can end the surrounding script element."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def encode_picture(picture: Picture) -> dict[str, Any]:
    """Return the data for the page's script. Calls are numbered as they are drawn: by invocation."""
    drawn = drawn_calls(picture)
    calls = [picture.history.calls[position] for position in drawn]
    threads = sorted({call.thread for call in calls}, key=lane_order)
    placed = place_calls(calls)
    numbers = {position: number for number, position in enumerate(drawn)}
    core = {numbers[position] for position in picture.core}
    error = None if picture.first_error is None else numbers[picture.first_error]
    return {
        "lanes": [
            {
                "name": lane_name(thread),
                "rows": 1 + max(row for call, row in zip(calls, placed.rows, strict=True) if call.thread == thread),
            }
            for thread in threads
        ],
        "ticks": _ticks(placed.ticks),
        "calls": [
            _call(call, threads.index(call.thread), placed, number, number in core) for number, call in enumerate(calls)
        ],
        **_order(picture, numbers, placed.spans),
        "ordered": len(picture.order),
        "facts": () if isinstance(picture.history, PlainHistory) else initial_facts(picture.history),
        "firstError": error,
        "expected": _expected(picture),
        "note": sentences(limited_text(picture.note), cut_note(picture, len(drawn))),
    }


def _call(call: Call, lane: int, placed: Placed, number: int, in_core: bool) -> dict[str, Any]:
    first, last = placed.spans[number]
    return {
        "lane": lane,
        "row": placed.rows[number],
        "first": first,
        "last": last,
        "pending": call.returned is None,
        "name": str(call.operation.name),
        "write": call.operation.is_write,
        "text": limited_text(call_text(call)),
        "arguments": argument_texts(call.operation),
        "result": "" if call.returned is None else limited_text(outcome_text(call.outcome)),
        "failed": call.outcome is not None and call.outcome.error is not None,
        "invoked": tick_text(call.invoked),
        "returned": "" if call.returned is None else tick_text(call.returned),
        "core": in_core,
    }


def _ticks(ticks: Sequence[int]) -> list[tuple[float, str]]:
    """Return, for each tick, its position from 0 (first) to 1 (last), and its distance from the first as text."""
    if not ticks:
        return []
    first, length = ticks[0], max(ticks[-1] - ticks[0], 1)
    return [((tick - first) / length, tick_text(tick - first)) for tick in ticks]


def _order(picture: Picture, numbers: dict[int, int], spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return the order as steps; changes of calls that are not drawn are added to the next call that is drawn."""
    steps: list[dict[str, Any]] = []
    ordered = [position for position in picture.order if position in numbers]
    points = iter(place_points([spans[numbers[position]] for position in ordered]))
    unseen = Difference()
    nothing: Iterable[Difference] = [Difference()] * len(picture.order)
    history = picture.history
    changed = nothing if isinstance(history, PlainHistory) else differences(history, picture.order)
    changes = zip(picture.order, changed, strict=True)
    for place, (position, difference) in enumerate(changes, 1):
        if position not in numbers:
            unseen = unseen.then(difference)
            continue
        step: dict[str, Any] = {"call": numbers[position], "place": place, "slot": next(points)}
        for name, change in (("unseen", unseen), ("change", difference)):
            if change != Difference():
                step[name] = _changes(change)
        steps.append(step)
        unseen = Difference()
    return {"steps": steps, "rest": _changes(unseen)}


def _changes(difference: Difference) -> dict[str, Any]:
    return {"items": difference.items, "facts": difference.facts}


def _expected(picture: Picture) -> str:
    if picture.first_error is None or picture.expected is None:
        return ""
    outcome = picture.history.calls[picture.first_error].outcome
    if outcome == picture.expected:
        return ""
    text = outcome_text(picture.expected)
    return limited_text(repr(picture.expected.value) if outcome is not None and outcome_text(outcome) == text else text)
