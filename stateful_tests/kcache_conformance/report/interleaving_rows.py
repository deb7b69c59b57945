"""Rows of an interleaving: the events that are worth one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from kcache_model.interleaving import LINE, SYNCHRONISATION, Interleaving, InterleavingEvent

_COMFORTABLE = 24
_MOST_ROWS = 60


def rows_to_show(interleaving: Interleaving, *, is_whole: bool = False) -> set[int]:
    """Positions of what is worth a row; with ``is_whole``, of everything.

    All that several threads share, all synchronisation, and where calls begin and end. If that is too much to take in:
    where one thread meets what another one has done, and where they are switched. If that still is: what is nearest to
    where a thread is interrupted, and to the end. What a body does before it starts a second thread is left out.
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
    """Positions of what is done by one thread before another one goes on."""
    starts = [at for at, event in enumerate(events) if at == 0 or event.switch is not None]
    for start, end in itertools.pairwise([*starts, len(events)]):
        yield range(start, end)


def _second_thread_begins(events: Sequence[InterleavingEvent]) -> int:
    """The position at which the first thread starts another one before any other acts; 0 if it starts none."""
    for at, event in enumerate(events):
        if event.thread != events[0].thread:
            break
        if event.kind == "spawn":
            return at
    return 0


def _with_the_rest(positions: set[int], events: Sequence[InterleavingEvent]) -> set[int]:
    """With what else the same line of source writes, at once: half of it would tell something else."""
    found = set(positions)
    for at in range(1, len(events)):
        one, other = events[at - 1], events[at]
        same_line = (one.thread, one.where, one.kind) == (other.thread, other.where, other.kind)
        if at - 1 in found and same_line and one.kind == "write":
            found.add(at)
    return found


def _with_single_ones(positions: Iterable[int], count: int) -> set[int]:
    """A single row is as short as the remark that it is left out."""
    found = set(positions)
    fence = found | {-1, count}
    return found | {at for at in range(count) if at - 1 in fence and at + 1 in fence}


def _synchronises(event: InterleavingEvent) -> bool:
    return event.kind in SYNCHRONISATION


def _tells(event: InterleavingEvent) -> bool:
    """Whether one thread shows or tells another one something; that locks go from hand to hand is their business."""
    if event.wakes or event.slot in (".notify()", ".notify_all()"):
        return True
    return event.meets and event.kind not in ("acquire", "release")
