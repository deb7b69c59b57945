"""An interleaving as text: a lane for each thread, time from top to bottom.

Only one thread acts at a time, so the text of a thread may extend into the lanes to its right.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from kcache_model.interleaving import LINE, InterleavedCall, Interleaving, InterleavingEvent, Switch, Waiting
from kcache_model.render import printable

from .interleaving_rows import rows_to_show, stretches
from .story import named_positions

WIDTH: Final = 96
"""Columns; wider text is not easier to read."""

_LEAST = 48
_LANE = 0.625
"""The largest share of the width for the lane of a thread; lanes overlap."""

_MOST_SOURCE_LINES = 3
_NOTHING = "nothing"


def interleaving_text(interleaving: Interleaving, width: int = WIDTH, *, is_whole: bool = False) -> str:
    """Return the interleaving as text; accesses without an explanation are marked with ``*``.

    Args:
        interleaving: the interleaving.
        width: the number of columns; 48 are needed, and 96 are used at most.
        is_whole: show every step and every line of source.
    """
    lanes = _Lanes(interleaving, max(_LEAST, min(width, WIDTH)), is_whole=is_whole)
    return "\n".join(line.rstrip() for line in lanes.lines()) + "\n"


def event_text(interleaving: Interleaving, event: InterleavingEvent) -> str:
    """Return the accessed location and the kind of access: ``read account.left -> 1``."""
    what = f"{event.subject}{event.slot}"
    value, after = event.value, event.after
    if event.kind == "read":
        return f"read {what}" + (f" -> {value}" if value != what else "")
    if event.kind == "write":
        if after == _NOTHING:
            return f"remove {what}" + (": it was not there" if value == after else f" (was {value})")
        if after == what:
            return f"write {what}"
        return f"write {what}: still {after}" if value == after else f"write {what} = {after}"
    if event.kind == "try":
        return f"try {what} -> {value}"
    if event.is_unknown:
        return f"this line {event.slot}"
    if event.kind != "call":
        return f"{'start' if event.kind == 'spawn' else event.kind} {what}"
    return _library_call(interleaving, event, what)


def switch_text(interleaving: Interleaving, switch: Switch) -> str:
    """Return how a thread was left: ``thread 1 is interrupted here, holding account.lock``."""
    name = thread_label(interleaving, switch.thread)
    if switch.ended:
        return f"{name} is done"
    if switch.is_preemption:
        return f"{name} is interrupted here" + (f", holding {_and(switch.holding)}" if switch.holding else "")
    return f"{name} {_waits(interleaving, switch.waits_for, switch.holder)}"


def thread_label(interleaving: Interleaving, thread: int) -> str:
    """Return the label of a thread's lane, also used in sentences: its number, and its name if it has one."""
    return printable(interleaving.name_of(thread))


class _Lanes:
    """A writer of one interleaving."""

    def __init__(self, interleaving: Interleaving, width: int, *, is_whole: bool) -> None:
        self._narration = interleaving
        self._width, self._lane = width, int(_LANE * width)
        wrong = interleaving.wrong_call
        self._wrong = None if wrong is None or wrong >= len(interleaving.calls) else interleaving.calls[wrong]
        self._displayed = rows_to_show(interleaving, is_whole=is_whole) | named_positions(interleaving)
        self._most_lines = None if is_whole else _MOST_SOURCE_LINES
        self._hidden: list[int] = []
        count = max(interleaving.threads, 1)
        self._step = (width - self._lane) // max(count - 1, 1)
        self._open: set[int] = set()
        self._source = ("", -1)
        """The line and the thread of the last row: they are not written twice."""

    def lines(self) -> Iterator[str]:
        interleaving = self._narration
        yield from self._calls("Before the threads start:", interleaving.before)
        yield from ["", self._header()]
        if interleaving.omitted:
            yield f"... {interleaving.omitted} earlier steps"
        for stretch in stretches(interleaving.events):
            yield from self._stretch(stretch)
        yield from self._fold()
        for call in interleaving.calls:
            if call.first >= len(interleaving.events):
                yield from self._begin(call)
        yield from self._deadlock()
        for failure in interleaving.failures:
            yield from ["", *_wrapped(f"A thread of the target ended with {failure}", self._width, "", "    ")]
        if interleaving.afterwards:
            mark = "*" if interleaving.summary and self._wrong is None else ""
            yield from ["", *self._calls(f"{mark}Afterwards:", interleaving.afterwards)]
        if interleaving.summary and not interleaving.waiting:
            yield from ["", *_wrapped(f"* {interleaving.summary}", self._width, "", "    ")]

    def _stretch(self, stretch: Sequence[int]) -> Iterator[str]:
        """Yield the actions of one thread until another one goes on."""
        calls, events = self._narration.calls, self._narration.events
        begin = {call.first: call for call in calls if call.first <= call.last}
        end = {call.last: call for call in calls if call.first <= call.last and call.outcome is not None}
        switch = events[stretch[0]].switch
        if switch is not None and any(at in self._displayed or at in begin or at in end for at in stretch):
            yield from self._fold()
            yield from self._rule(switch)
        for at in stretch:
            yield from self._calls_without_events(at)
            if at in begin:
                yield from self._fold()
                yield from self._begin(begin[at])
            if at in self._displayed:
                yield from self._fold()
                yield from self._event(events[at])
            else:
                self._hidden.append(at)
            if at in end:
                yield from self._fold()
                yield from self._end(end[at])

    def _calls_without_events(self, at: int) -> Iterator[str]:
        for call in self._narration.calls:
            if call.first == at and call.last < at:
                yield from self._fold()
                yield from self._begin(call)

    def _calls(self, title: str, calls: Sequence[tuple[str, str]]) -> Iterator[str]:
        if calls:
            text = "; ".join(f"{text} -> {outcome}" for text, outcome in calls)
            yield from _wrapped(f"{title} {text}", self._width, "", "    ")

    def _header(self) -> str:
        line = ""
        for thread in range(self._narration.threads):
            label = thread_label(self._narration, thread)
            line = line.ljust(self._offset(thread)) + (_clipped(label, self._step - 1) if self._step > 1 else label)
        return line

    def _begin(self, call: InterleavedCall) -> Iterator[str]:
        yield from self._row(call.thread, _wrapped(call.text, self._lane, "\u250c ", "\u2502     "))
        self._open.add(call.thread)
        if call.last < call.first and call.outcome is not None:
            yield from self._end(call)

    def _end(self, call: InterleavedCall) -> Iterator[str]:
        self._open.discard(call.thread)
        yield from self._row(
            call.thread,
            _wrapped(f"{call.outcome}{' *' if call is self._wrong else ''}", self._lane, "\u2514 ", "      "),
        )

    def _event(self, event: InterleavingEvent) -> Iterator[str]:
        thread = event.thread
        if thread not in self._open and thread >= min(self._narration.threads, self._program_threads()):
            self._open.add(thread)
        text = []
        if event.where and self._source != (event.where, thread):
            text += _source_lines(event.where, printable(event.code), self._lane, self._most_lines)
        if event.kind != LINE:
            text += _wrapped(event_text(self._narration, event), self._lane, "\u2502   ", "\u2502       ")
        yield from self._row(thread, text)
        self._source = (event.where, thread)

    def _program_threads(self) -> int:
        return max((call.thread for call in self._narration.calls), default=-1) + 1

    def _fold(self) -> Iterator[str]:
        if not self._hidden:
            return
        events = [self._narration.events[at] for at in self._hidden]
        self._hidden.clear()
        threads = sorted({event.thread for event in events})
        text = f"... {len(events)} more"
        if len(threads) > 1:
            text += f", of threads {', '.join(str(thread + 1) for thread in threads)}"
        yield from self._row(events[0].thread, [f"\u2502 {text}"])

    def _rule(self, switch: Switch) -> Iterator[str]:
        text = switch_text(self._narration, switch)
        self._source = ("", -1)
        yield _clipped(f"\u2500\u2500 {text} ".ljust(self._width, "\u2500"), self._width)

    def _row(self, thread: int, texts: Sequence[str]) -> Iterator[str]:
        """Yield lines in the lane of a thread; other lanes go on beside them."""
        self._source = ("", -1)
        for text in texts:
            line = ""
            for lane in range(self._narration.threads):
                own = text if lane == thread else "\u2502" if lane in self._open else ""
                if own and len(line) <= self._offset(lane):
                    line = line.ljust(self._offset(lane)) + own
            yield line

    def _deadlock(self) -> Iterator[str]:
        if not self._narration.waiting:
            return
        yield "\u2500\u2500 no thread can go on ".ljust(self._width, "\u2500")
        for waiting in self._narration.waiting:
            holding = f", while it holds {_and(waiting.holding)}" if waiting.holding else ""
            waits = _waits(self._narration, waiting.what, waiting.holder)
            text = f"{thread_label(self._narration, waiting.thread)} {waits}{holding}"
            yield from _wrapped(text, self._width, "", "    ")
            yield from self._where(waiting)

    def _where(self, waiting: Waiting) -> Iterator[str]:
        if waiting.where:
            function = f"  (in {waiting.function})" if waiting.function else ""
            yield _clipped(f"    {waiting.where}  {printable(waiting.code)}{function}", self._width)

    def _offset(self, thread: int) -> int:
        return thread * self._step


def _library_call(interleaving: Interleaving, event: InterleavingEvent, what: str) -> str:
    if not event.begins or not event.ends:
        what += " begins" if event.begins else " returns" if event.ends else " goes on"
    if event.slot in (".set()", ".clear()", ".is_set()") and event.ends:
        what += f" -> {event.after}"
    if event.wakes:
        what += f", wakes {_and([thread_label(interleaving, thread) for thread in event.wakes])}"
    elif event.slot.startswith(".notify") and event.ends:
        what += ", wakes no thread"
    return what


def _waits(interleaving: Interleaving, what: str, holder: int | None) -> str:
    if what.endswith("()"):
        return f"waits in {what}"
    if not what:
        return "begins its next iteration"
    return f"waits for {what}" + (f", held by {thread_label(interleaving, holder)}" if holder is not None else "")


def _and(texts: Sequence[str]) -> str:
    return " and ".join((", ".join(texts[:-1]), texts[-1])) if len(texts) > 1 else "".join(texts)


def _wrapped(text: str, width: int, first: str, following: str) -> list[str]:
    return textwrap.wrap(
        printable(text), width, initial_indent=first, subsequent_indent=following, break_on_hyphens=False
    )


def _source_lines(where: str, code: str, width: int, most: int | None) -> list[str]:
    """Return the place and the source line: in one line if there is room."""
    line = f"\u2502 {where}  {code}"
    if len(line) <= width:
        return [line]
    lines = _wrapped(code, width, "\u2502     ", "\u2502         ")
    return [f"\u2502 {where}", *lines[:most]]


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
