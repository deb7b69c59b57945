"""Which events of an interleaving are worth a row."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from ..explorer.story.happenings import SYNCHRONISATION, Happening, Narration
from ..explorer.story.moments import LINE

_COMFORTABLE = 24
_MOST_ROWS = 60


def rows_to_show(narration: Narration) -> set[int]:
    """Positions of what is worth a row.

    All that several threads share, all synchronisation, and where calls begin and end. If that is too much to take in:
    where one thread meets what another one has done, and where they are switched. If that still is: what is nearest to
    where a thread is interrupted, and to the end.
    """
    happenings = narration.happenings
    edges = {at for stretch in stretches(happenings) for at in (stretch[0], stretch[-1])}
    interesting = {
        at
        for at, happening in enumerate(happenings)
        if happening.shared or happening.kind == LINE or _synchronises(happening)
    }
    for call in narration.calls:
        interesting |= {at for at in (call.first, call.last) if call.first <= call.last}
    interesting = _with_the_rest(interesting | edges, happenings)
    if len(interesting) <= _COMFORTABLE:
        return _with_single_ones(interesting, len(happenings))
    meetings = {at for at, happening in enumerate(happenings) if _tells(happening)}
    meetings = _with_the_rest(meetings | edges, happenings)
    if len(meetings) <= _MOST_ROWS:
        return _with_single_ones(meetings, len(happenings))
    switches = [(at, happening.switch) for at, happening in enumerate(happenings)]
    turns = [at for at, switch in switches if switch is not None and switch.is_preemption]
    turns.append(len(happenings))
    nearest = sorted(meetings, key=lambda at: min(abs(at - turn) for turn in turns))
    return _with_single_ones(nearest[:_MOST_ROWS], len(happenings))


def stretches(happenings: Sequence[Happening]) -> Iterator[range]:
    """Positions of what is done by one thread before another one goes on."""
    starts = [at for at, happening in enumerate(happenings) if at == 0 or happening.switch is not None]
    for start, end in itertools.pairwise([*starts, len(happenings)]):
        yield range(start, end)


def _with_the_rest(positions: set[int], happenings: Sequence[Happening]) -> set[int]:
    """With what else the same line of source writes, at once: half of it would tell something else."""
    found = set(positions)
    for at in range(1, len(happenings)):
        one, other = happenings[at - 1], happenings[at]
        same_line = (one.thread, one.where, one.kind) == (other.thread, other.where, other.kind)
        if at - 1 in found and same_line and one.kind == "write":
            found.add(at)
    return found


def _with_single_ones(positions: Iterable[int], count: int) -> set[int]:
    """A single row is as short as the remark that it is left out."""
    found = set(positions)
    fence = found | {-1, count}
    return found | {at for at in range(count) if at - 1 in fence and at + 1 in fence}


def _synchronises(happening: Happening) -> bool:
    return happening.kind in SYNCHRONISATION


def _tells(happening: Happening) -> bool:
    """Whether one thread shows or tells another one something; that locks go from hand to hand is their business."""
    if happening.wakes or happening.slot in (".notify()", ".notify_all()"):
        return True
    return happening.meets and happening.kind not in ("acquire", "release")
