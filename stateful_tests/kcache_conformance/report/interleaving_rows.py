"""Rows of an interleaving: selects the events that get a row."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from kcache_model.interleaving import LINE, SYNCHRONISATION, Interleaving, InterleavingEvent

_COMFORTABLE = 24
_MOST_ROWS = 60


def rows_to_show(interleaving: Interleaving, *, is_whole: bool = False) -> set[int]:
    """Return the positions of the events that get a row; with ``is_whole``, of all events.

    First choice: accesses to shared state, synchronisation, and the begin and end of calls. If that is too much: places
    where a thread meets actions of another thread, and switches. If that is still too much: the events closest to
    preemptions and to the end. Actions of a body before it starts a second thread are left out.
    """
    events = interleaving.events
    if is_whole:
        return set(range(len(events)))
    edges = {at for stretch in stretches(events) for at in (stretch[0], stretch[-1])}
    interesting = {
        at for at, event in enumerate(events) if event.shared or event.kind in (LINE, "spawn") or _synchronises(event)
    }
    for call in interleaving.calls:
        interesting |= {at for at in (call.first, call.last) if call.first <= call.last}
    set_up = set(range(_second_thread_begins(events)))
    interesting, edges = interesting - set_up, edges - set_up
    interesting = _with_the_rest(interesting | edges, events)
    if len(interesting) <= _COMFORTABLE:
        return _with_single_ones(interesting, len(events))
    meetings = {at for at, event in enumerate(events) if _tells(event)} - set_up
    meetings = _with_the_rest(meetings | edges, events)
    if len(meetings) <= _MOST_ROWS:
        return _with_single_ones(meetings, len(events))
    switches = [(at, event.switch) for at, event in enumerate(events)]
    turns = [at for at, switch in switches if switch is not None and switch.is_preemption]
    turns.append(len(events))
    nearest = sorted(meetings, key=lambda at: min(abs(at - turn) for turn in turns))
    return _with_single_ones(nearest[:_MOST_ROWS], len(events))


def stretches(events: Sequence[InterleavingEvent]) -> Iterator[range]:
    """Yield the positions of each stretch of one thread, up to the next switch."""
    starts = [at for at, event in enumerate(events) if at == 0 or event.switch is not None]
    for start, end in itertools.pairwise([*starts, len(events)]):
        yield range(start, end)


def _second_thread_begins(events: Sequence[InterleavingEvent]) -> int:
    """Return the position at which the first thread starts another one before any other acts; 0 if it starts none."""
    for at, event in enumerate(events):
        if event.thread != events[0].thread:
            break
        if event.kind == "spawn":
            return at
    return 0


def _with_the_rest(positions: set[int], events: Sequence[InterleavingEvent]) -> set[int]:
    """Add further writes of the same source line that follow directly: half of the line would be misleading."""
    rows = set(positions)
    for at in range(1, len(events)):
        one, other = events[at - 1], events[at]
        same_line = (one.thread, one.where, one.kind) == (other.thread, other.where, other.kind)
        if at - 1 in rows and same_line and one.kind == "write":
            rows.add(at)
    return rows


def _with_single_ones(positions: Iterable[int], count: int) -> set[int]:
    """Add single omitted rows: a row is as short as the remark that it is left out."""
    rows = set(positions)
    fence = rows | {-1, count}
    return rows | {at for at in range(count) if at - 1 in fence and at + 1 in fence}


def _synchronises(event: InterleavingEvent) -> bool:
    return event.kind in SYNCHRONISATION


def _tells(event: InterleavingEvent) -> bool:
    """Whether a thread passes information to another thread; handing over a lock does not count."""
    if event.wakes or event.slot in (".notify()", ".notify_all()"):
        return True
    return event.meets and event.kind not in ("acquire", "release")
