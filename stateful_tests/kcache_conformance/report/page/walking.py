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
from .texts import limited_text

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


def walk_of(interleaving: Interleaving | None) -> Walk | None:
    """Return the steps that the text of the interleaving shows; ``None`` if there are none."""
    if interleaving is None or not interleaving.events:
        return None
    wanted = sorted(rows_to_show(interleaving) | named_positions(interleaving))
    columns = max(interleaving.threads, 1 + max(event.thread for event in interleaving.events))
    names = tuple(limited_text(thread_label(interleaving, thread)) for thread in range(columns))
    events = [interleaving.events[at] for at in wanted]
    return Walk(names, tuple(_steps(interleaving, wanted)), tuple(_sources(events)))


def _steps(interleaving: Interleaving, wanted: Sequence[int]) -> Iterator[WalkStep]:
    begins = {call.first: call for call in interleaving.calls if call.first <= call.last}
    ends = {call.last: (at, call) for at, call in enumerate(interleaving.calls) if call.first <= call.last}
    positions = set(wanted) | begins.keys() | {at for at, (_, call) in ends.items() if call.outcome is not None}
    thread, place, switch = -1, "", ""
    for at, event in enumerate(interleaving.events):
        if event.switch is not None:
            switch = limited_text(switch_text(interleaving, event.switch))
        if at not in positions:
            continue
        if event.thread != thread:
            thread, place = event.thread, ""
        else:
            switch = ""
        if at in begins:
            yield WalkStep(thread, "", "", limited_text(begins[at].text), switch)
            switch = ""
        if at in wanted:
            code = limited_text(event.code) if event.where != place else ""
            text = "" if event.kind == LINE else limited_text(event_text(interleaving, event))
            yield WalkStep(thread, event.where, code, text, switch)
            place, switch = event.where, ""
        if at in ends and ends[at][1].outcome is not None:
            number, call = ends[at]
            is_wrong = number == interleaving.wrong_call
            yield WalkStep(thread, "", "", limited_text(f"{call.text} -> {call.outcome}"), switch, is_wrong)
            switch = ""


def _sources(events: Sequence[InterleavingEvent]) -> Iterator[tuple[str, tuple[SourceLine, ...]]]:
    remaining = _MOST_LINES
    ran: dict[tuple[str, str], dict[int, str]] = {}
    for event in events:
        file, _, line = event.where.rpartition(":")
        if file:
            ran.setdefault((event.path, file), {})[int(line)] = event.code
    for (path, file), lines in ran.items():
        lines_of_file = tuple(_lines(file, _source(path, lines), lines))[:remaining]
        remaining -= len(lines_of_file)
        if lines_of_file:
            yield limited_text(file), lines_of_file


def _source(path: str, lines: Mapping[int, str]) -> list[str]:
    """Return the lines of a file as it ran; empty if the file has changed."""
    try:
        source = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    is_same = all(line <= len(source) and source[line - 1].strip() == code for line, code in lines.items())
    return source if is_same else []


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
        yield SourceLine(number, f"{file}:{number}", limited_text(code))
