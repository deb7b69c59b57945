"""Lanes of tasks: in a report, each task of an event loop has a lane of its own, like a thread.

A loop is one actor, and its clock, its completions and its cancellations are others. Readers think of tasks. So the
events of a loop are shown in the lane of the task that was running, and all that the environment delivers in one lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from kcache_model.interleaving import EVENT_LOOP

from .recorded_events import RecordedEvent

AWAITED: Final = "what it awaits"
"""Text for the wait of a task when another task goes on."""
_ENVIRONMENT: Final = "environment"


class Lanes(NamedTuple):
    """Lanes of an interleaving.

    Attributes:
        number: how many there are.
        names: number of a lane -> its name.
    """

    number: int
    names: Mapping[int, str]


def arrange(recorded: Sequence[RecordedEvent], actors: int, program_actors: int, names: Mapping[int, str]) -> Lanes:
    """Move the events of tasks to lanes of their own; return the lanes.

    Args:
        recorded: the events in their order; their threads and switches are changed.
        actors: number of actors.
        program_actors: number of threads of the program; these keep their numbers.
        names: number of an actor -> its name.
    """
    if EVENT_LOOP not in names.values() and all(event.task is None for event in recorded):
        return Lanes(actors, names)
    lanes: dict[object, int] = {}
    called: dict[int, str] = {number: name for number, name in names.items() if number < program_actors}
    times: Counter[str] = Counter()

    def lane_of(event: RecordedEvent) -> int:
        own = getattr(event.task, "lane", None)
        if own is not None:
            return int(own)
        is_environment = names.get(event.thread) == EVENT_LOOP
        key = _ENVIRONMENT if is_environment else ("actor", event.thread) if event.task is None else id(event.task)
        if event.task is None and event.thread < program_actors:
            return event.thread
        if key not in lanes:
            lanes[key] = program_actors + len(lanes)
            name = names.get(event.thread, "") if event.task is None else _name(event.task)
            times[name] += 1
            called[lanes[key]] = name if times[name] == 1 else f"{name} {times[name]}"
        return lanes[key]

    previous = -1
    for event in recorded:
        lane = lane_of(event)
        if event.switch is not None:
            is_shown = lane != previous and called.get(previous) != EVENT_LOOP
            event.switch = replace(event.switch, thread=max(previous, 0)) if is_shown else None
        event.thread = previous = lane
    return Lanes(program_actors + len(lanes), called)


def _name(task: Any) -> str:
    """Return the name of a task for a reader: that of its coroutine."""
    return str(getattr(task.get_coro(), "__qualname__", task.get_name())).rpartition(".")[2]
