"""Rules by which a recorded choice tree is checked. They share no code with the search that recorded it.

A tree covers all interleavings of a program if, for each race of each execution in it, the tree also has the other
order. This is the completeness argument of source-DPOR with sleep sets (P. Abdulla, S. Aronis, B. Jonsson,
K. Sagonas: Optimal Dynamic Partial Order Reduction, 2014, theorem 2), stated about the finished tree:

* *Race*: two dependent events of two actors, with no event between them in the happens-before relation, of which the
  later one could have come first.
* For a race (e, f), the events after e that do not depend on e, followed by f, must begin with an actor that was tried
  in the state before e, or that was asleep there.
* An actor is asleep in a state if it was tried in the same state, or in an earlier one, before the branch that leads
  here, and nothing since then depends on its next event.
* A branch may end before the actors do only if each actor that could go on is asleep.

The record says what the events touch. Whether that is true is found out by running its executions again
(:mod:`.certificate_check`); the rules find what is missing.

An event is ``[actor]``, ``[actor, [place, ...]]`` with the places that are written negated, or ``[actor, name, lock]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Event: TypeAlias = list[Any]
_LOOKS = {"failed try", "idle release", "query"}
"""Events at a lock that leave it as it was."""
_TAKES = {"acquire", "try"}


class ForgedTreeError(Exception):
    """A recorded tree does not cover all interleavings, or contradicts itself."""


@dataclass
class _State:
    """State of the actors after some steps.

    Attributes:
        tried: actor -> the state after its step.
        events: actor -> its event, for the actors in ``tried``.
        asleep: actor -> its next event, for the actors that are asleep.
    """

    tried: dict[int, _State] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    asleep: Mapping[int, Event] = field(default_factory=dict)


def check_tree(record: Mapping[str, Any], actors: int) -> list[list[Event]]:
    """Check the recorded tree of one program with so many actors; return the events of its executions.

    Raises:
        ForgedTreeError: the tree is not complete, or contradicts itself.
    """
    root = _State()
    runs: list[list[Event]] = []
    for number, execution in enumerate(record["executions"]):
        before = runs[-1] if runs else []
        runs.append([*before[: execution["from"]], *execution["events"]])
        _add(root, runs[-1], execution, number, actors)
    if not runs:
        raise ForgedTreeError("the tree is empty")
    for number, (run, execution) in enumerate(zip(runs, record["executions"], strict=True)):
        blocked = [[actor, "blocked", lock] for actor, lock in execution.get("blocked", ())]
        _check_races(root, [*run, *blocked], len(run), record["equal"], number)
    return runs


def _add(root: _State, run: list[Event], execution: Mapping[str, Any], number: int, actors: int) -> None:
    """Add an execution to the tree, and compute which actors are asleep in its new states."""
    branch, recorded = execution["from"], {int(actor): event for actor, event in execution["asleep"].items()}
    state, places = root, 0
    for event in run[:branch]:
        if state.events.get(event[0]) != event:
            raise _forged(number, "it leaves the tree before its branch")
        state = state.tried[event[0]]
        places = max([places, *_numbers(event)])
    if number and not 0 <= branch < len(run):
        raise _forged(number, "it has no step of its own")
    expected = {**state.asleep, **state.events}
    if recorded.keys() != expected.keys():
        raise _forged(number, f"asleep are {sorted(recorded)}, but tried before are {sorted(expected)}")
    for actor, event in recorded.items():
        if not _are_alike(event, expected[actor][1:], places):
            raise _forged(number, f"actor {actor} is about to do something else than when it was tried")
    asleep: Mapping[int, Event] = recorded
    for event in run[branch:]:
        actor = event[0]
        if not (type(actor) is int and 0 <= actor < actors):
            raise _forged(number, f"there is no actor {actor}")
        if actor in state.tried or actor in asleep:
            raise _forged(number, f"actor {actor} was tried already")
        asleep = {other: then for other, then in asleep.items() if not _are_dependent(then, event[1:])}
        state.tried[actor], state.events[actor] = _State(asleep={a: [a, *e] for a, e in asleep.items()}), event
        state = state.tried[actor]
    if execution["end"] == "redundant":
        awake = set(execution["enabled"]) - asleep.keys()
        if awake:
            raise _forged(number, f"it ends although actors {sorted(awake)} can go on")
    elif execution["end"] not in ("complete", "deadlock"):
        raise _forged(number, f"it ended as {execution['end']}")


def _check_races(root: _State, run: list[Event], length: int, equal: Sequence[Sequence[int]], number: int) -> None:
    """Check that the tree has the other order of each race of an execution; blocked actors come after ``length``."""
    clocks, races = _happens_before(run)
    path = [root]
    for event in run[:length]:
        path.append(path[-1].tried[event[0]])
    silent = {actor for group in equal for actor in group} - {event[0] for event in run}
    for first, second in races:
        state = path[first]
        begun = {event[0] for event in run[:first]} | silent
        initials = {_in_place_of(actor, equal, begun) for actor in _initials(run, clocks, first, second)}
        if not initials & (state.tried.keys() | state.asleep.keys()):
            raise _forged(
                number,
                f"step {first + 1} of actor {run[first][0]} races with step {second + 1} of actor {run[second][0]}, "
                "but the tree does not have the other order",
            )


def _happens_before(run: list[Event]) -> tuple[list[dict[int, int]], list[tuple[int, int]]]:
    """Return the clock of each event (actor -> number of events up to its last one that happens before), and races."""
    own: dict[int, dict[int, int]] = {}
    at: dict[object, list[int]] = {}
    clocks: list[dict[int, int]] = []
    races = []
    for position, event in enumerate(run):
        actor = event[0]
        before = dict(own.get(actor, {}))
        touched = [("lock", event[2])] if len(event) == 3 else [abs(place) for place in _numbers(event)]
        earlier = sorted({other for place in touched for other in at.get(place, ())})
        conflicts = [other for other in earlier if _are_dependent(run[other][1:], event[1:])]
        unordered = [
            other
            for other in conflicts
            if run[other][0] != actor and before.get(run[other][0], 0) <= other and _is_reversible(run[other], event)
        ]
        taken = [other for other in unordered if _excludes(run[other], event)]
        racing = [other for other in unordered if other not in taken and _is_last(run, clocks, other, conflicts)]
        racing += [other for other in taken if _is_last(run, clocks, other, [*taken, *racing])]
        races += [(other, position) for other in racing]
        clock = dict(before)
        for other in conflicts if event[1:2] != ["blocked"] else ():
            for key, count in clocks[other].items():
                clock[key] = max(clock.get(key, 0), count)
        clock[actor] = position + 1
        clocks.append(clock)
        own[actor] = clock
        for place in touched:
            at.setdefault(place, []).append(position)
    return clocks, races


def _is_last(run: list[Event], clocks: list[dict[int, int]], event: int, others: list[int]) -> bool:
    """Whether an event happens before none of the others."""
    return not any(clocks[other].get(run[event][0], 0) > event for other in others if other != event)


def _initials(run: list[Event], clocks: list[dict[int, int]], first: int, second: int) -> set[int]:
    """Return the actors that can begin the events after ``first`` that do not depend on it, with ``second`` last."""
    by = run[first][0]
    part = [
        position
        for position in range(first + 1, second)
        if run[position][1:2] != ["blocked"] and clocks[position].get(by, 0) <= first
    ]
    part.append(second)
    initials = set()
    for index, position in enumerate(part):
        actor = run[position][0]
        if not any(run[other][0] == actor or clocks[position].get(run[other][0], 0) > other for other in part[:index]):
            initials.add(actor)
    return initials


def _numbers(event: Event) -> list[int]:
    """Return the numbers of the places and locks that an event touches."""
    if len(event) == 3:
        return [event[2]]
    return [abs(place) for place in event[1]] if len(event) == 2 else []


def _are_dependent(one: Event, other: Event) -> bool:
    """Whether two events, without their actors, may not be exchanged. An event of unknown effect depends on all."""
    if not one or not other:
        return not one
    if len(one) == len(other) == 2:
        return bool(one[1] == other[1] and not (one[0] in _LOOKS and other[0] in _LOOKS))
    if len(one) != len(other):
        return False
    return any(abs(place) == abs(then) and (place < 0 or then < 0) for place in one[0] for then in other[0])


def _is_reversible(earlier: Event, later: Event) -> bool:
    """Whether the later of two dependent events could come first: a lock that is held cannot be acquired."""
    if len(later) < 3:
        return True
    if later[1] == "blocked":
        return earlier[1] in _TAKES
    return earlier[1] != "release" or later[1] not in ("acquire", "release")


def _excludes(earlier: Event, later: Event) -> bool:
    """Whether two events take the same lock: they race although the lock was released in between."""
    return len(later) == 3 and earlier[1] in _TAKES and later[1] in ("acquire", "blocked")


def _are_alike(event: Event, known: Event, places: int) -> bool:
    """Whether two records of an event agree, made in two executions that have so many numbered places in common."""
    if len(event) != len(known):
        return False
    if len(event) == 2:
        one, other = str(event[0]).split()[-1], str(known[0]).split()[-1]  # whether a try fails is not known before
        return one == other and _same_place(event[1], known[1], places)
    if not event:
        return True
    both = zip(event[0], known[0], strict=False)
    return len(event[0]) == len(known[0]) and all((a < 0) == (b < 0) and _same_place(a, b, places) for a, b in both)


def _same_place(one: int, other: int, places: int) -> bool:
    return bool(one == other or (abs(one) > places and abs(other) > places))


def _in_place_of(actor: int, equal: Sequence[Sequence[int]], begun: set[int]) -> int:
    """Return the first of the actors with equal work that has not begun, if ``actor`` has not begun."""
    for group in equal:
        if actor in group and actor not in begun:
            return next(other for other in group if other not in begun)
    return actor


def _forged(number: int, why: str) -> ForgedTreeError:
    return ForgedTreeError(f"execution {number + 1}: {why}")
