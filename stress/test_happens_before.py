"""Happens-before of random traces against its definition: the transitive closure of what depends on each other."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from kcache_stress.engine.events import READ, WRITE, AtomicAccesses, Event, Pending, Trace, are_dependent, namespaces
from kcache_stress.engine.happens_before import happens_before

_THREADS = 3


class _Thing:
    pass


def _trace(seed: int, things: list[object]) -> Trace:
    """Accesses to objects with two attributes each and to containers, some to two of them in one step."""
    choose = random.Random(seed)

    def part() -> Pending:
        obj = choose.choice(things)
        return choose.choice((READ, WRITE)), obj, choose.choice("ab") if isinstance(obj, _Thing) else None

    def event() -> Event:
        thread = choose.randrange(_THREADS)
        if choose.random() < 0.6:
            return (thread, *part())
        parts = {id(found[1]): found for found in (part(), part())}
        step = AtomicAccesses(tuple(parts.values()))
        return thread, max(kind for kind, _, _ in step.parts), step, step

    return [event() for _ in range(choose.randrange(4, 14))]


def _definition(trace: Trace) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """What happens before what, and which pairs depend on each other, by definition."""
    pairs = list(combinations(range(len(trace)), 2))
    dependent = {(i, j) for i, j in pairs if are_dependent(trace[j][1:], trace[i])}
    ordered = {(i, j) for i, j in pairs if trace[i][0] == trace[j][0]} | dependent
    for middle in range(len(trace)):
        ordered |= {(i, j) for i, j in pairs if (i, middle) in ordered and (middle, j) in ordered}
    return ordered, dependent


@pytest.mark.parametrize("is_united", [False, True])
def test_random_traces_are_ordered_as_the_closure_of_dependence_says(
    is_united: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    things: list[object] = [_Thing(), _Thing(), {}, []]
    if is_united:  # somebody got hold of the dictionary of an object
        place = id(things[2])
        for thing in (things[0], things[2]):
            monkeypatch.setitem(namespaces, id(thing), place)
    raced = compound = 0
    for seed in range(400):
        trace = _trace(seed, things)
        ordered, dependent = _definition(trace)
        apart = {(i, j) for i, j in dependent if trace[i][0] != trace[j][0]}
        found = happens_before(trace, _THREADS)
        for i, j in combinations(range(len(trace)), 2):
            if trace[i][0] != trace[j][0] and found.visible[i] and found.visible[j]:
                assert found.ordered(i, trace[i][0], j) == ((i, j) in ordered), (seed, i, j)
        assert all(found.visible[i] and found.visible[j] for i, j in apart), seed
        between = {(i, j) for i, j in apart if any((i, k) in ordered and (k, j) in ordered for k in range(i + 1, j))}
        assert set(found.races) == apart - between, seed
        raced += len(found.races)
        compound += sum(type(event[3]) is AtomicAccesses for event in trace)
    assert raced > 1_000
    assert compound > 1_000
