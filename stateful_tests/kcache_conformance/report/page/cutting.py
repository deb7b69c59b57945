"""Selection of the calls to draw: a long history has more calls than a reader or a browser can handle."""

from __future__ import annotations

from .picture import Picture

MOST_CALLS = 5_000
_BEFORE_THE_ERROR = 0.8
"""Share of the calls before the first error: they show its cause."""


def drawn_calls(picture: Picture, most: int = MOST_CALLS) -> tuple[int, ...]:
    """Return positions of the calls around the first error, ordered by invocation; the core is always included."""
    calls = picture.history.calls
    by_time = sorted(range(len(calls)), key=lambda position: calls[position].invoked)
    if len(by_time) <= most:
        return tuple(by_time)
    middle = 0 if picture.first_error is None else by_time.index(picture.first_error)
    begin = max(0, min(middle - int(most * _BEFORE_THE_ERROR), len(by_time) - most))
    chosen = {*by_time[begin : begin + most], *picture.core}
    return tuple(position for position in by_time if position in chosen)


def cut_note(picture: Picture, drawn: int) -> str:
    """Return a note that calls are left out; empty if none are."""
    count = len(picture.history.calls)
    if drawn == count:
        return ""
    where = "the first calls" if picture.first_error is None else "the calls around the first error"
    return f"Only {drawn:,} of {count:,} calls are drawn: {where}."
