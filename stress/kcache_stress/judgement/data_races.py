"""Data races: two accesses of different threads to one place, one of them a write, that no synchronisation orders.

Only synchronisation orders accesses: the release and acquisition of a lock, the start, end and join of a thread, and
the classes that the standard library builds on these. If a read sees the value of a write, this orders nothing. Vector
clocks after C. Fidge and F. Mattern (1988). An execution also shows races of similar executions, as in E. Pozniansky
and A. Schuster (2003).
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from types import MethodDescriptorType
from typing import Final, Generic, TypeAlias

from kcache_model.finding import FindingKind
from kcache_model.places import is_of_target

from ..engine.events import ACQUIRE, JOIN, RELEASE, SPAWN, TRY, UNKNOWN, WRITE, Trace, UnknownAccess, location, parts_of
from ..engine.execution import A, Execution, Judge, Problem
from ..engine.happens_before import HappensBefore
from ..engine.schedule import Schedule, schedule_of
from ..engine.schedule_replay import Replay
from ..engine.scheduling import Scheduling
from ..engine.weak_objects import kind_of
from ..modules.target_runner import TargetRunner
from ..runtime.world import PRIVATE_MODULES
from .race import Race, name_of_location
from .watched_trace import WatchedTrace

Clock: TypeAlias = list[int]
"""thread -> the number of trace events up to and including the last event of that thread that happens before."""

Place: TypeAlias = "tuple[object, object]"
"""An object and a slot of it."""

_LIBRARY: Final = frozenset(PRIVATE_MODULES) - {"builtins"}
_OF_THREADS: Final = frozenset(vars(threading.Thread()))
_PLAIN: Final = frozenset({str, bytes, int, bool, float, type(None)})


class DataRaceJudge(Generic[A]):
    """Judge that returns the problem of another judge; if there is none, the first data race of the execution.

    Args:
        first: the other judge.
        runner: runs the same threads once more to locate the accesses.
        is_known: whether a race is to be skipped; the next race of the execution is then reported.
    """

    def __init__(
        self, first: Judge[A], runner: TargetRunner[A], is_known: Callable[[Problem], bool] = lambda _: False
    ) -> None:
        self._first = first
        self._runner = runner
        self._is_known = is_known
        self._of_library: set[tuple[str, object]] = set()

    def judge(self, execution: Execution[A], order: HappensBefore | None = None) -> Problem | None:
        """Return the problem of the other judge or the first new data race; ``None`` if there is neither."""
        problem = self._first.judge(execution, order)
        if problem is not None:
            return problem
        for earlier, later, (obj, slot) in data_races(execution.trace, execution.actors):
            called = type(obj).__name__, slot if type(slot) in _PLAIN else None
            if called in self._of_library:
                continue
            places = self._places(execution, earlier, later)
            if places is None:
                self._of_library.add(called)
                continue
            name = f"the variable {slot}" if called[0] == "Cell" else name_of_location(obj, slot)
            race = Race(name, (execution.trace[earlier][0], execution.trace[later][0]), places)
            problem = Problem(FindingKind.DATA_RACE, str(race), location=" and ".join(sorted(places)))
            if not self._is_known(problem):
                return problem
        return None

    def _places(self, execution: Execution[A], earlier: int, later: int) -> tuple[str, str] | None:
        """Return the places of two events; ``None`` if one is in the standard library or the harness."""
        sandbox = self._runner.sandbox
        looking = _Looking(schedule_of(execution.trace, sandbox.granularity), (earlier, later))
        self._runner.run(looking)
        files = [at[0].co_filename for at in looking.trace.lines.values() if at is not None]
        files_of_target = [file for file in files if file in sandbox.sources and is_of_target(file)]
        places = looking.trace.places
        return (places[earlier], places[later]) if len(files_of_target) == 2 else None


class _Looking(Replay):
    """Replay that records the places of some events."""

    def __init__(self, schedule: Schedule, positions: tuple[int, int]) -> None:
        super().__init__(schedule)
        self.trace = WatchedTrace(positions)

    def begin(self, scheduler: Scheduling) -> None:
        """Replace the trace by the watched trace."""
        super().begin(scheduler)
        scheduler.trace = self.trace


def data_races(trace: Trace, threads: int) -> Iterator[tuple[int, int, Place]]:
    """Yield the positions of two racing accesses and their place: for each location, the first race.

    Unknown accesses are left out. So are pairs of accesses that are atomic in every build of Python and whose order
    has no effect: two additions to a container, two writes of different keys. Objects that the standard library uses to
    order threads order them here, too.
    """
    knowledge: list[Clock] = [[0] * threads for _ in range(threads)]
    released: defaultdict[object, Clock] = defaultdict(lambda: [0] * threads)
    reported: set[object] = set()
    accesses: defaultdict[object, dict[tuple[int, int, object], int]] = defaultdict(dict)
    for position, (thread, kind, obj, slot) in enumerate(trace):
        known = knowledge[thread]
        known[thread] = position + 1
        if kind > WRITE:
            if kind == RELEASE:
                _join(released[id(obj)], known)
            elif kind in (ACQUIRE, SPAWN) or (kind in (TRY, JOIN) and slot):
                _join(known, released[id(obj)])
            if kind == SPAWN and isinstance(slot, int):
                _join(knowledge[slot], known)
            continue
        for how, what, part in parts_of(kind, obj, slot):
            if what is UNKNOWN or type(part) is UnknownAccess or (not how and _is_method(what, part)):
                continue
            where = location(what, part)
            if _orders(what, part):
                _join(known, released[where])
                if how:
                    _join(released[where], known)
                continue
            if where in reported:
                continue
            others = accesses[where]
            for (by, did, its), at in others.items():
                if by != thread and known[by] <= at and (how or did) and _meet(where, how, part, did, its):
                    yield at, position, (what, part)
                    reported.add(where)
                    break
            others[thread, how, part if type(part) in _PLAIN else id(part)] = position


def _orders(obj: object, slot: object) -> bool:
    """Whether accesses to a slot of an object order threads.

    They do if the object is a ``deque`` or of a class in :data:`_LIBRARY`, or if the slot is an attribute of
    ``threading.Thread`` in a subclass.
    """
    kind = kind_of(obj)
    if issubclass(kind, deque) or kind.__module__ in _LIBRARY:
        return True
    return slot in _OF_THREADS and any(base.__module__ in _LIBRARY for base in kind.__mro__)


def _is_method(obj: object, slot: object) -> bool:
    """Whether an access looks up a method of a built-in type, which does not read the contents."""
    return type(slot) is str and isinstance(getattr(type(obj), slot, None), MethodDescriptorType)


def _meet(where: object, how: int, part: object, did: int, other: object) -> bool:
    """Whether the order of two accesses to one location can matter.

    Accesses to an attribute always conflict. Accesses to a container conflict if one of them concerns all of it, unless
    both are writes of all of it (additions), or if they concern the same key.
    """
    if isinstance(where, tuple):
        return True
    if part is None and other is None:
        return not (how and did)
    return part is None or other is None or type(part) not in _PLAIN or part == other


def _join(known: Clock, other: Clock) -> None:
    for thread, count in enumerate(other):
        if count > known[thread]:
            known[thread] = count
