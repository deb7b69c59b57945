"""A walk through an interleaving: its steps, one after another, and the source beside them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kcache_model.interleaving import LINE, Interleaving, InterleavingEvent

from ..interleaving import event_text, switch_text, thread_label
from ..interleaving_rows import rows_to_show
from ..story import named_positions
from .texts import shown

_AROUND: Final = 2
"""Lines of source that are shown before and after one that ran."""

_MOST_LINES: Final = 400
"""The most lines of source of all files together."""


@dataclass(frozen=True)
class WalkStep:
    """One step of one thread.

    Attributes:
        thread: its position among the columns.
        place: ``FILE:LINE``, as the lines of source are named; empty if the step has none.
        code: the source line; empty if the previous step is at the same line.
        text: the action.
        switch: how the previous thread was left; empty if it is the same thread.
        is_wrong: whether it has the result without an explanation.
    """

    thread: int
    place: str
    code: str
    text: str
    switch: str = ""
    is_wrong: bool = False


@dataclass(frozen=True)
class SourceLine:
    """A line of source; ``number`` is 0 for a gap of omitted lines."""

    number: int
    place: str
    code: str


@dataclass(frozen=True)
class Walk:
    """All steps, with the source beside them.

    Attributes:
        threads: the names of the columns.
        steps: in order.
        sources: (file, its lines), around the lines that ran.
    """

    threads: tuple[str, ...]
    steps: tuple[WalkStep, ...]
    sources: tuple[tuple[str, tuple[SourceLine, ...]], ...]


def walk_of(told: Interleaving | None) -> Walk | None:
    """Return the steps that the text of the interleaving shows; ``None`` if there are none."""
    if told is None or not told.events:
        return None
    wanted = sorted(rows_to_show(told) | named_positions(told))
    columns = max(told.threads, 1 + max(event.thread for event in told.events))
    names = tuple(shown(thread_label(told, thread)) for thread in range(columns))
    events = [told.events[at] for at in wanted]
    return Walk(names, tuple(_steps(told, wanted)), tuple(_sources(events)))


def _steps(told: Interleaving, wanted: Sequence[int]) -> Iterator[WalkStep]:
    begins = {call.first: call for call in told.calls if call.first <= call.last}
    ends = {call.last: (at, call) for at, call in enumerate(told.calls) if call.first <= call.last}
    positions = set(wanted) | begins.keys() | {at for at, (_, call) in ends.items() if call.outcome is not None}
    thread, place, switch = -1, "", ""
    for at, event in enumerate(told.events):
        if event.switch is not None:
            switch = shown(switch_text(told, event.switch))
        if at not in positions:
            continue
        if event.thread != thread:
            thread, place = event.thread, ""
        else:
            switch = ""
        if at in begins:
            yield WalkStep(thread, "", "", shown(begins[at].text), switch)
            switch = ""
        if at in wanted:
            code = shown(event.code) if event.where != place else ""
            text = "" if event.kind == LINE else shown(event_text(told, event))
            yield WalkStep(thread, event.where, code, text, switch)
            place, switch = event.where, ""
        if at in ends and ends[at][1].outcome is not None:
            number, call = ends[at]
            yield WalkStep(thread, "", "", shown(f"{call.text} -> {call.outcome}"), switch, number == told.wrong_call)
            switch = ""


def _sources(events: Sequence[InterleavingEvent]) -> Iterator[tuple[str, tuple[SourceLine, ...]]]:
    left = _MOST_LINES
    ran: dict[tuple[str, str], dict[int, str]] = {}
    for event in events:
        file, _, line = event.where.rpartition(":")
        if file:
            ran.setdefault((event.path, file), {})[int(line)] = event.code
    for (path, file), lines in ran.items():
        found = tuple(_lines(file, _source(path, lines), lines))[:left]
        left -= len(found)
        if found:
            yield shown(file), found


def _source(path: str, lines: Mapping[int, str]) -> list[str]:
    """Return the lines of a file as it ran; empty if the file has changed."""
    try:
        found = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    is_same = all(line <= len(found) and found[line - 1].strip() == code for line, code in lines.items())
    return found if is_same else []


def _lines(file: str, source: Sequence[str], ran: Mapping[int, str]) -> Iterator[SourceLine]:
    """Yield the lines that ran, with lines around them if the file can be read."""
    if source:
        near = {line + by for line in ran for by in range(-_AROUND, _AROUND + 1)}
        numbers = sorted(number for number in near if 0 < number <= len(source))
    else:
        numbers = sorted(ran)
    for before, number in itertools.pairwise([0, *numbers]):
        if before and number > before + 1:
            yield SourceLine(0, "", "")
        code = source[number - 1] if source else ran[number]
        yield SourceLine(number, f"{file}:{number}", shown(code))
