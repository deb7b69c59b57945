"""Accesses that no event orders, against the definition: the transitive closure of what depends on each other."""

from __future__ import annotations

import random
from itertools import combinations
from typing import NamedTuple

import pytest

from kcache_stress.engine.events import ACQUIRE, READ, RELEASE, SPAWN, WRITE, Event, Trace, are_dependent
from kcache_stress.engine.observation import EVERYTHING, Touch, first_unordered

_ACTORS = 3


class _Thing:
    pass


class _Lock:
    free = True


class _Unit(NamedTuple):
    """An event, an access, or an access with the event that reports it."""

    actor: int
    event: Event | None
    touch: tuple[object, object, int] | None


def _units(seed: int, things: list[object]) -> list[_Unit]:
    """Random accesses, of which some are reported, and critical sections of one lock."""
    choose = random.Random(seed)
    lock = _Lock()
    units: list[_Unit] = []
    for _ in range(choose.randrange(3, 9)):
        actor, thing, kind = choose.randrange(_ACTORS), choose.choice(things), choose.choice((READ, WRITE))
        slot: object = choose.choice("ab") if isinstance(thing, _Thing) else None
        event = (actor, kind, thing, slot) if choose.random() < 0.6 else None
        touched = _Unit(actor, event, (thing, EVERYTHING if choose.random() < 0.1 else slot, kind))
        if choose.random() < 0.4:
            units += [_Unit(actor, (actor, ACQUIRE, lock, None), None), touched]
            units.append(_Unit(actor, (actor, RELEASE, lock, True), None))
        else:
            units.append(touched)
    return units


def _observed(units: list[_Unit]) -> tuple[Trace, list[Touch]]:
    trace: Trace = []
    touches = []
    for actor, event, touch in units:
        if event is not None:
            trace.append(event)
        if touch is not None:
            reported = -1 if event is None else len(trace) - 1
            touches.append(Touch(actor, len(trace), reported, *touch, None))
    return trace, touches


def _may_swap(units: list[_Unit]) -> bool:
    """Whether two accesses that depend on each other are not ordered, by definition."""
    pairs = list(combinations(range(len(units)), 2))
    ordered = set()
    for i, j in pairs:
        one, two = units[i].event, units[j].event
        if units[i].actor == units[j].actor or (one is not None and two is not None and are_dependent(two[1:], one)):
            ordered.add((i, j))
    for middle in range(len(units)):
        ordered |= {(i, j) for i, j in pairs if (i, middle) in ordered and (middle, j) in ordered}

    def depend(i: int, j: int) -> bool:
        one, two = units[i].touch, units[j].touch
        if one is None or two is None or units[i].actor == units[j].actor or one[0] is not two[0]:
            return False
        return bool(one[2] + two[2]) and (one[1] == two[1] or EVERYTHING in (one[1], two[1]))

    return any(depend(i, j) and (i, j) not in ordered for i, j in pairs)


def test_random_accesses_may_be_swapped_as_the_closure_of_dependence_says() -> None:
    things: list[object] = [_Thing(), [], {}]
    found = [0, 0]
    for seed in range(4_000):
        units = _units(seed, things)
        trace, touches = _observed(units)
        expected = _may_swap(units)
        found[expected] += 1
        assert (first_unordered(trace, _ACTORS, touches) is not None) is expected, units
    assert min(found) > 500


def _touch(actor: int, position: int, obj: object, kind: int, reported: int = -1) -> Touch:
    return Touch(actor, position, reported, obj, "n", kind, "x.py:1")


@pytest.mark.parametrize("is_read_after", [True, False])
def test_what_a_thread_writes_before_it_starts_another_is_ordered(is_read_after: bool) -> None:
    thing = _Thing()
    trace: Trace = [(0, SPAWN, object(), 1)]
    before, after = _touch(0, 0, thing, WRITE), _touch(0, 1, thing, WRITE)
    started = _touch(1, 1, thing, READ)
    assert first_unordered(trace, 2, [before, started]) is None
    if is_read_after:
        assert first_unordered(trace, 2, [before, after, started]) == (after, started)
    else:
        assert first_unordered(trace, 2, [before, started, after]) == (started, after)


def test_two_reads_and_accesses_to_different_attributes_do_not_matter() -> None:
    thing = _Thing()
    reads = [_touch(0, 0, thing, READ), _touch(1, 0, thing, READ)]
    assert first_unordered([], 2, reads) is None
    other = _touch(0, 0, thing, WRITE)._replace(slot="m")
    assert first_unordered([], 2, [other, *reads]) is None
    assert first_unordered([], 2, [other._replace(slot=EVERYTHING), *reads]) is not None
