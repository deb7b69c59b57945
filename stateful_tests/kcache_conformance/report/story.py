"""A story: an interleaving in two sentences, what was done when and what changed in between, and in a few lines.

A call is not atomic if it accesses one location, another thread then accesses this location and a second one (or the
same again), and the call then accesses the second location, each time in conflict: a cycle of conflicts, so that no
sequential order of the threads is possible. The sentences describe the best such cycle with a preemption; or which
threads wait for each other.

The best cycle, by these criteria in this order: starting and joining threads fixes none of its conflicts; it lies in
the code under test rather than in the test body; none of its events reads the clock; it is about something that the
failure names; it ends with a read that finds nothing and raises; no lock is held throughout; it has the fewest accesses
in between.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kcache_model.interleaving import CLOCK, InterleavedCall, Interleaving, InterleavingEvent, Waiting
from kcache_model.render import printable

from .interleaving_rows import rows_to_show

NOTHING: Final = "nothing"
"""The value of a read without a result, and of a location after a removal."""

_NOTICES: Final = (".notify()", ".notify_all()", ".set()")

_FURTHEST: Final = 12
"""The most accesses of one thread between the two ends of a cycle."""

_MOST_FAR: Final = 4
"""Ends further away that are tried, among accesses to the same location as the beginning."""

_SIDES: Final = 2
"""The number of conflicts of a cycle. If the order of both is fixed, the threads cannot have overlapped."""

_MOST_PAIRS: Final = 1_000
_MOST_WAITING: Final = 3
"""The most threads in the description of a standstill without a ring: usually one that joins, and the workers."""

_MOST_LINES: Final = 20
_LONGEST_CALL: Final = 48


class _Cycle(NamedTuple):
    """Positions of events: ``first`` and ``last`` of one thread, and actions of another thread between them."""

    first: int
    between: tuple[int, ...]
    last: int


def story_sentences(interleaving: Interleaving | None) -> tuple[str, ...]:
    """Return sentences that are true of the interleaving; empty if it has no known pattern."""
    if interleaving is None or not interleaving.events or interleaving.is_of_a_loop:
        return ()
    return tuple(printable(text) for text in (*_without_preemption(interleaving), *_what_happened(interleaving)))


def named_positions(interleaving: Interleaving) -> set[int]:
    """Return the events in the sentences, and accesses to the same locations at the lines that the finding names."""
    cycle = _worst_cycle(interleaving)
    noticed = (_notices(interleaving, one) for one in interleaving.waiting)
    named = {at for positions in noticed for at in positions}
    named |= set() if cycle is None else {cycle.first, *cycle.between, cycle.last}
    lines: dict[tuple[int, str, str], int] = {}
    for at, event in enumerate(interleaving.events):
        what = f"{event.subject}{event.slot}"
        if event.where and what and event.where in interleaving.summary and what in interleaving.summary:
            lines[event.thread, event.where, event.kind] = at
    return named | set(lines.values())


def story_lines(interleaving: Interleaving) -> tuple[str, ...]:
    """Return a line for each line of source and for each switch of threads, from the first preemption on."""
    events = interleaving.events
    turn = next((at for at, event in enumerate(events) if event.switch is not None and event.switch.is_preemption), 0)
    start = max(turn - 1, 0)
    displayed = rows_to_show(interleaving)
    lines: list[str] = []
    for at in range(start, len(events)):
        event, before = events[at], events[at - 1] if at > start else None
        if event.switch is not None and before is not None and event.switch.is_preemption:
            lines.append(f"-- thread {event.switch.thread + 1} is interrupted --")
        if at in displayed and event.where and (before is None or event.arrives or before.thread != event.thread):
            lines.append(f"{_label(interleaving, at)}  {event.where}  {event.code}")
    left_out = len(lines) - _MOST_LINES
    lines = [*lines[:_MOST_LINES], *([f"... {left_out} more lines"] if left_out > 0 else [])]
    waiting = {one.thread: one for one in interleaving.waiting}
    ends = (f"{_named(interleaving, one.thread)} {_waits(one, waiting)}" for one in interleaving.waiting)
    return tuple(printable(line) for line in (*lines, *ends))


def _what_happened(interleaving: Interleaving) -> Iterator[str]:
    standstill = tuple(_standstill(interleaving))
    if len(standstill) < 2:
        yield from _conflicts(interleaving)
    yield from standstill


def _worst_cycle(interleaving: Interleaving) -> _Cycle | None:
    cycles = (
        cycle
        for cycle in _cycles(interleaving.events, interleaving.calls)
        if _ordered_sides(interleaving.events, cycle) < _SIDES
    )
    return min(cycles, key=lambda cycle: _rank(interleaving, cycle), default=None)


def _conflicts(interleaving: Interleaving) -> Iterator[str]:
    cycle = _worst_cycle(interleaving)
    if cycle is None:
        return
    first, last = interleaving.events[cycle.first], interleaving.events[cycle.last]
    yield _sentence(f"{_who(interleaving, cycle.first)} {_did(first)}")
    actions = " and ".join(_did(interleaving.events[at]) for at in cycle.between)
    again = " again" if last.kind == "read" and _accesses(first) == _accesses(last) else ""
    yield _sentence(f"then, before it {_did(last, again)}, {_who(interleaving, cycle.between[0])} {actions}")


def _without_preemption(interleaving: Interleaving) -> Iterator[str]:
    """Yield the sentence that no preemption is needed, if that is so."""
    if interleaving.is_interrupted:
        return
    order = list(dict.fromkeys(event.thread for event in interleaving.events))
    switches = [event.switch for event in interleaving.events if event.switch is not None]
    if (
        len(order) > 1
        and not interleaving.omitted
        and len(switches) < len(order)
        and all(one.ended for one in switches)
    ):
        threads = ", then ".join(f"thread {thread + 1}" for thread in order)
        yield f"No preemption is needed: the threads run one after another, {threads}."
    else:
        yield "No preemption is needed: each thread runs until it waits or ends."


# Cycles of conflicts


def _cycles(events: Sequence[InterleavingEvent], calls: Sequence[InterleavedCall]) -> Iterator[_Cycle]:
    accesses = [at for at, event in enumerate(events) if _is_access(event)]
    for thread in {event.thread for event in events}:
        own = [at for at in accesses if events[at].thread == thread]
        for position, first in enumerate(own):
            near = own[position + 1 : position + 1 + _FURTHEST]
            far = (at for at in own[position + 1 + _FURTHEST :] if _same(events[first], events[at]))
            for last in (*near, *itertools.islice(far, _MOST_FAR)):
                if not _is_preempted(events, first, last):
                    continue
                others = [at for at in accesses if first < at < last and events[at].thread != thread]
                if others and _call_at(calls, thread, first) is _call_at(calls, thread, last):
                    yield from _cycles_between(events, calls, first, others, last)


def _cycles_between(
    events: Sequence[InterleavingEvent],
    calls: Sequence[InterleavedCall],
    first: int,
    others: Iterable[int],
    last: int,
) -> Iterator[_Cycle]:
    begin, end = events[first], events[last]
    after = [at for at in others if _conflict(begin, events[at])]
    before = [at for at in others if _conflict(end, events[at])]
    if begin.writes and end.writes and _same(begin, end):
        # Who writes last has the last word: where the other thread writes, too, it may have come first.
        after = [at for at in after if not events[at].writes]
    single = ((at, at) for at in reversed(after) if at in before)  # the end reads the last change
    for one, other in itertools.islice(itertools.chain(single, itertools.product(after, before)), _MOST_PAIRS):
        thread = events[one].thread
        if thread != events[other].thread:
            continue
        # An action of an earlier call of the other thread may come before all of this, and of a later call after it.
        if one <= other or _call_at(calls, thread, one) is _call_at(calls, thread, other):
            yield _Cycle(first, tuple(sorted({one, other})), last)
            return


def _rank(interleaving: Interleaving, cycle: _Cycle) -> tuple[float, ...]:
    """Return a sort key: the best explanation has the smallest."""
    events, thread = interleaving.events, interleaving.events[cycle.first].thread
    own = sum(event.thread == thread and _is_access(event) for event in events[cycle.first : cycle.last])
    involved = [events[at] for at in (cycle.first, *cycle.between, cycle.last)]
    last = events[cycle.last]
    finds_something = not (last.kind == "read" and last.value == NOTHING)
    is_locked = bool(frozenset.intersection(*(frozenset(event.held) for event in involved)))
    return (
        _ordered_sides(events, cycle),
        max(_of_test(interleaving, event) for event in involved),
        any(event.subject == CLOCK for event in involved),
        not any(_is_named(event, interleaving.summary) for event in involved),
        finds_something,
        is_locked,
        own,
        len(cycle.between),
        cycle.first,
    )


def _is_named(event: InterleavingEvent, summary: str) -> bool:
    """Whether a failure names the attribute or the key that was touched."""
    name = event.slot.strip(".[]'\"")
    return bool(name) and re.search(rf"\b{re.escape(name)}\b", summary) is not None


def _of_test(interleaving: Interleaving, event: InterleavingEvent) -> int:
    """Return how close an event is to the test body: 0 in another file, 1 in its file, 2 within its lines."""
    if interleaving.test is None or event.path != interleaving.test[0]:
        return 0
    _, first, last = interleaving.test
    return 2 if first <= int(event.where.rpartition(":")[2]) <= last else 1


def _ordered_sides(events: Sequence[InterleavingEvent], cycle: _Cycle) -> int:
    """Return in how many of its two conflicts the order is fixed, because one thread starts or joins the other."""
    thread, other = events[cycle.first].thread, f"thread {events[cycle.between[0]].thread + 1}"
    own = [event for event in events[cycle.first : cycle.last] if event.thread == thread and event.subject == other]
    starts = any(event.kind == "spawn" for event in own)
    joins = any(event.kind == "join" or (event.kind == "try" and event.value == "taken") for event in own)
    return starts + joins


def _is_preempted(events: Sequence[InterleavingEvent], first: int, last: int) -> bool:
    """Whether the thread of both is interrupted in between: the other actions may be intended."""
    switches = (event.switch for event in events[first + 1 : last + 1])
    return any(one is not None and one.is_preemption and one.thread == events[first].thread for one in switches)


def _is_access(event: InterleavingEvent) -> bool:
    """Whether an event is a complete access to data."""
    return event.shared and (event.kind in ("read", "write") or (event.kind == "call" and event.begins and event.ends))


def _conflict(one: InterleavingEvent, other: InterleavingEvent) -> bool:
    """Whether the order of two events matters; ``other`` may change something for ``one``, or read it."""
    if other.kind == "write" and other.value == other.after:
        return False
    changes = {*one.writes, *other.writes}
    return _same(one, other) and any(where in changes for where in _locations(one) & _locations(other))


def _same(one: InterleavingEvent, other: InterleavingEvent) -> bool:
    """Whether both access the same location; a container is one location, but its keys differ."""
    keys = one.slot == other.slot or not one.slot or not other.slot or "call" in (one.kind, other.kind)
    return keys and bool(_locations(one) & _locations(other))


def _locations(event: InterleavingEvent) -> set[int]:
    return {*event.reads, *event.writes}


def _accesses(event: InterleavingEvent) -> tuple[str, str, str]:
    return event.kind, event.subject, event.slot


# Standstills


def _standstill(interleaving: Interleaving) -> Iterator[str]:
    """Yield which thread waits for which, if no thread can go on."""
    waiting = {one.thread: one for one in interleaving.waiting}
    chosen = _in_a_ring(waiting) or list(interleaving.waiting[:_MOST_WAITING])
    for one in chosen:
        held = [name for name in one.holding if name != one.what]
        holding = f" holds {' and '.join(held)} and" if held else ""
        yield _sentence(f"{_waiter(interleaving, one)}{holding} {_waits(one, waiting)}")
    yield from itertools.islice((text for one in chosen for text in _lost_wakeup(interleaving, one)), 1)


def _in_a_ring(waiting: dict[int, Waiting]) -> list[Waiting]:
    """Return threads each of which waits for a lock of the next one; empty if there is no such ring."""
    for start in waiting.values():
        ring = [start]
        while (holder := ring[-1].holder) is not None and holder in waiting and waiting[holder] not in ring:
            ring.append(waiting[holder])
        if ring[-1].holder == start.thread:
            return ring
    return []


def _waits(one: Waiting, waiting: dict[int, Waiting]) -> str:
    at = f" at {one.where}" if one.where else ""
    if one.what.endswith("()"):
        return f"waits in {one.what}{at}"
    if one.holder is None:
        return f"waits for {one.what}{at}"
    if one.holder == one.thread:
        return f"waits for {one.what}{at}, which it holds itself"
    holder = f"thread {one.holder + 1}" if one.holder >= 0 else "a call outside the threads"
    holds = "holds" if one.holder in waiting else "took and did not release"
    return f"waits for {one.what}{at}, which {holder} {holds}"


def _notices(interleaving: Interleaving, one: Waiting) -> list[int]:
    """Return the call that notified before the wait began, and the call that then reset it; or nothing."""
    subject, _, method = one.what.rpartition(".")
    events = interleaving.events
    own = [at for at, event in enumerate(events) if (event.thread, event.slot) == (one.thread, f".{method}")]
    began = next((at for at in reversed(own) if events[at].subject == subject and events[at].begins), 0)
    earlier = [at for at in range(began) if events[at].kind == "call" and _same(events[at], events[began])]
    last = next((at for at in reversed(earlier) if events[at].slot in _NOTICES and events[at].ends), None)
    if last is None or events[last].thread == one.thread:
        return []
    cleared = [at for at in earlier if at > last and events[at].slot == ".clear()" and events[at].ends]
    return [last, *cleared[-1:]]


def _lost_wakeup(interleaving: Interleaving, one: Waiting) -> Iterator[str]:
    """Yield the sentence that the notification came before the wait, if that is so."""
    events, notices = interleaving.events, _notices(interleaving, one)
    if not notices:
        return
    last, *cleared = notices
    before = f"before {_named(interleaving, one.thread)} began to wait"
    if cleared:
        then = f"then {_who(interleaving, cleared[0])} {_did(events[cleared[0]])}"
        yield _sentence(f"{before}, {_who(interleaving, last)} {_did(events[last])}, {then}")
    elif events[last].slot != ".set()" and not events[last].wakes:
        yield _sentence(f"{before}, {_who(interleaving, last)} {_did(events[last])}, which woke no thread")


# Words


def _did(event: InterleavingEvent, again: str = "") -> str:
    what, at = f"{event.subject}{event.slot}", f" at {event.where}" if event.where else ""
    if event.is_unknown:
        return f"ran {event.where or 'a line'}, which {event.slot}"
    if event.kind == "call":
        return f"called {what}{at}"
    if event.kind == "read":
        was = "there was" if event.value == NOTHING else "it was"
        value_text = "" if event.value in ("", what) else f" ({was} {event.value})"
        return f"read {what}{again}{value_text}{at}"
    if event.after == NOTHING:
        return f"removed {what}{' (it was not there)' if event.value == NOTHING else ''}{at}"
    return f"wrote {what} = {event.after}{at}"


def _call_at(calls: Sequence[InterleavedCall], thread: int, at: int) -> InterleavedCall | None:
    return next((call for call in calls if call.thread == thread and call.first <= at <= call.last), None)


def _who(interleaving: Interleaving, at: int) -> str:
    thread = interleaving.events[at].thread
    call = _call_at(interleaving.calls, thread, at)
    return _named(interleaving, thread) if call is None else f"thread {thread + 1}, in {_short(call.text)},"


def _waiter(interleaving: Interleaving, one: Waiting) -> str:
    call = next((call for call in interleaving.calls if call.thread == one.thread and call.outcome is None), None)
    return _named(interleaving, one.thread) if call is None else f"thread {one.thread + 1}, in {_short(call.text)},"


def _label(interleaving: Interleaving, at: int) -> str:
    thread = interleaving.events[at].thread
    call = _call_at(interleaving.calls, thread, at)
    return _named(interleaving, thread) if call is None else f"thread {thread + 1}: {_short(call.text)}"


def _named(interleaving: Interleaving, thread: int) -> str:
    return interleaving.name_of(thread)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_CALL else f"{text[: _LONGEST_CALL - 3]}..."


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
