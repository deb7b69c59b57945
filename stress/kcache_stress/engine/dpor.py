"""Exhaustive search with dynamic partial-order reduction: source sets and sleep sets.

P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas: Optimal Dynamic Partial Order Reduction (2014), algorithm 1. Executions
that differ only in the order of independent events are explored once. The search is stateless: each execution starts
from the beginning, repeats the choices of its prefix, and then runs without preemption. Its races show at which states
other choices are needed.

The pending events of actors that are blocked at the end of an execution take part in races, too: an actor that never
acquired its lock has no event that would race with the holder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from .equal_actors import NONE_EQUAL
from .events import (
    ACQUIRE,
    BLOCKED,
    COMPOUND,
    JOIN,
    WRITE,
    AtomicAccesses,
    Pending,
    Trace,
    are_dependent,
    imprecise_slots,
)
from .happens_before import Clock, HappensBefore, happens_before
from .scheduling import FOREVER, STOP, Scheduling
from .strategy import Ending, Step, Strategy
from .weak_objects import kind_of

_PLACES_SHOWN: Final = 3


class _Node:
    """State on the current path at which a race requires another choice.

    Attributes:
        backtrack: the actors to try from this state.
        done: the actors that were tried.
    """

    __slots__ = ("backtrack", "done")

    def __init__(self, chosen: int) -> None:
        self.backtrack = {chosen}
        self.done = {chosen}


class DivergedError(Exception):
    """The same choices led to another state: the target is not deterministic."""


class Dpor(Strategy):
    """Source-DPOR with sleep sets.

    If actors cannot be switched before every event, the next events of a paused actor are not known, and there are no
    sleep sets. Actors with equal work begin in the order of their numbers, unless an actor asks for its own number.

    Attributes:
        redundant: number of executions that sleep sets cut short.
    """

    def __init__(self) -> None:
        super().__init__()
        self.redundant = 0
        self._steps_are_events = True
        self._tells_apart = self._begins_anew = self._is_prepared = False
        self._equal = NONE_EQUAL
        self._begun: set[int] = set()
        self._races: Counter[tuple[type, object]] = Counter()
        self._start_over()

    @property
    def contended(self) -> tuple[tuple[type, object], ...]:
        """The places with most races so far."""
        return tuple(place for place, _ in self._races.most_common(_PLACES_SHOWN))

    def _start_over(self) -> None:
        self._prefix: list[int] = []  # the actor of each step, up to and including the choice to try
        self._nodes: list[_Node | None] = []
        self._sleeping_at: list[frozenset[int]] = [frozenset()]
        self._asleep_before: frozenset[int] = frozenset()
        self._segments: list[tuple[int, int]] = []
        self._schedule: list[int] = []
        self._asleep: set[int] = set()
        self._pending: dict[int, Pending] = {}
        self._woken_up_to = 0

    def begin(self, scheduler: Scheduling) -> None:
        """Plan to repeat the prefix."""
        super().begin(scheduler)
        self._is_prepared = False
        self._steps_are_events = scheduler.steps_are_events
        if self._steps_are_events and not self._tells_apart:
            self._equal = scheduler.equal_actors
        self._begun = set(self._prefix)
        prefix = self._prefix
        segments: list[tuple[int, int]] = []
        for thread in prefix[:-1]:
            if segments and segments[-1][0] == thread:
                segments[-1] = (thread, segments[-1][1] + 1)
            else:
                segments.append((thread, 1))
        if prefix:
            segments.append((prefix[-1], FOREVER))
        segments.reverse()
        self._segments = segments
        self._asleep = set(self._asleep_before)
        self._pending = {}
        self._woken_up_to = 0

    def choose(self, running: int) -> int:
        """Repeat the prefix, then return the running actor as long as it can go on."""
        scheduler = self.scheduler
        if self._segments:
            if scheduler.left > 0 and not scheduler.actors[running].finished:
                if not scheduler.actors[running].enabled and not self._times_out(running):
                    raise DivergedError(f"thread {running + 1} has to wait at a place where it did not wait before")
                return running
            return self._repeat()
        if self._asleep:
            self._wake(scheduler.trace)
        enabled = self.candidates()
        if not enabled:
            return STOP
        if self._equal:
            # An actor that raises before it touches anything shared has no step: it is finished but was never chosen.
            self._begun.update(number for number, thread in scheduler.actors.items() if thread.finished)
            enabled = [thread for thread in enabled if self._equal.in_place_of(thread, self._begun) == thread]
        if self._asleep:
            enabled = [thread for thread in enabled if thread not in self._asleep]
            if not enabled:
                self.end(Ending.REDUNDANT)
                return STOP
        scheduler.left = FOREVER
        # Actors that wait with a timeout go last: a race shows it if the wait may time out earlier.
        patient = [thread for thread in enabled if not scheduler.actors[thread].is_timing_out] or enabled
        chosen = running if running in patient else patient[0]
        self._begun.add(chosen)
        return chosen

    def _repeat(self) -> int:
        scheduler = self.scheduler
        chosen, count = self._segments.pop()
        thread = scheduler.actors.get(chosen)
        is_last = not self._segments
        if is_last:
            self._woken_up_to = len(scheduler.trace)
            sleepers = ((asleep, scheduler.actors.get(asleep)) for asleep in self._asleep)
            self._pending = {
                asleep: sleeper.pending
                for asleep, sleeper in sleepers
                if sleeper is not None and sleeper.pending is not None
            }
        if thread is None or not (thread.enabled or self._times_out(chosen)):
            if not is_last:
                raise DivergedError(f"thread {chosen + 1} could not continue at a place where it did before")
            self.end(Ending.INFEASIBLE)
            return STOP
        scheduler.left = count
        return chosen

    def _times_out(self, thread: int) -> bool:
        """Whether a waiting actor goes on because its wait is the next to time out, and no other actor can go on."""
        return thread in self.scheduler.next_timeouts() and not self.busy(self.scheduler.enabled())

    def _wake(self, trace: Trace) -> None:
        """Wake each sleeping actor whose next event depends on a new event of the trace."""
        for event in trace[self._woken_up_to :]:
            for asleep in list(self._asleep):
                pending = self._pending.get(asleep)
                if pending is not None and are_dependent(pending, event):
                    self._asleep.discard(asleep)
        self._woken_up_to = len(trace)

    def learn(self, step: Step) -> HappensBefore | None:
        """Add the choices that the races of the execution require."""
        if step.ending is Ending.INFEASIBLE:
            return None
        if self._equal and self.scheduler.tells_identities:  # the executions that were left out may differ
            self._tells_apart, self._begins_anew, self._equal = True, True, NONE_EQUAL
            self._start_over()
            return None
        self.redundant += step.ending is Ending.REDUNDANT
        trace = step.trace
        own_events = len(trace)
        self._add_blocked(trace)
        branch = max(len(self._prefix) - 1, 0)
        starts = self._step_starts(trace, own_events)
        schedule = [trace[start][0] for start in starts]
        first = starts[branch] if branch < len(starts) else own_events
        order = happens_before(trace, step.actors, first)
        for earlier, later in order.races:
            _, kind, obj, slot = trace[later]
            if type(obj) is not AtomicAccesses:  # no place of the code under test
                self._races[kind_of(obj), slot if kind <= WRITE and type(slot) is str else None] += 1
            for event in (trace[earlier], trace[later]):
                if type(event[3]) in COMPOUND:
                    self.proof_obstacles.update((str(slot), None) for slot in imprecise_slots(event))
        del self._nodes[branch + 1 :]
        self._nodes += [None] * (len(schedule) + 1 - len(self._nodes))
        if self._steps_are_events:
            for earlier, later in order.races:
                self._reverse(schedule, earlier, trace[later][0], _initials(trace, order, earlier, later))
        elif order.races:
            ends = (*starts[1:], own_events)[: len(starts)]
            step_of = _steps_by_event(starts, ends, len(trace))
            clocks = [order.clocks[end - 1] for end in ends]
            for earlier, later in order.races:
                depth, thread = step_of[earlier], trace[later][0]
                initials = _initials_of_steps(starts, schedule, clocks, depth, step_of[later])
                self._reverse(schedule, depth, thread, initials or [thread])
        self._fall_asleep(trace, schedule, branch)
        self._schedule = schedule
        del trace[own_events:]
        return order

    def has_more(self) -> bool:
        """Prepare the deepest choice that was not tried yet, unless one is prepared; return False if there is none."""
        if self._is_prepared:
            return True
        if self._begins_anew:
            self._begins_anew = False
            self._is_prepared = True
            return True
        for depth in range(len(self._nodes) - 1, -1, -1):
            node = self._nodes[depth]
            if node is None:
                continue
            untried = node.backtrack - node.done - self._sleeping_at[depth]
            if untried:
                chosen = min(untried)
                asleep = node.done | self._sleeping_at[depth]
                self._asleep_before = frozenset(asleep) if self._steps_are_events else frozenset()
                node.done.add(chosen)
                self._prefix = [*self._schedule[:depth], chosen]
                self._is_prepared = True
                return True
        return False

    def _add_blocked(self, trace: Trace) -> None:
        for number, thread in self.scheduler.actors.items():
            pending = thread.pending
            if pending is not None and pending[0] in (ACQUIRE, JOIN) and not (thread.finished or thread.enabled):
                trace.append((number, BLOCKED, pending[1], None))

    def _step_starts(self, trace: Trace, own_events: int) -> list[int]:
        if self._steps_are_events:
            return list(range(own_events))
        return [position for position in range(own_events) if trace[position][1] > WRITE]

    def _reverse(self, schedule: list[int], depth: int, thread: int, initials: list[int]) -> None:
        """Require that one of ``initials`` is tried at the state before the step at ``depth``.

        The initials are the actors that can begin the part that leads to the event of ``thread`` without that step.
        """
        node = self._nodes[depth]
        if node is None:
            node = self._nodes[depth] = _Node(schedule[depth])
        if self._equal:
            begun = {*schedule[:depth], *self._begun.difference(schedule)}
            thread = self._equal.in_place_of(thread, begun)
            initials = [self._equal.in_place_of(other, begun) for other in initials]
        if node.backtrack.isdisjoint(initials):
            node.backtrack.add(thread if thread in initials or not initials else initials[0])

    def _fall_asleep(self, trace: Trace, schedule: list[int], branch: int) -> None:
        """Compute the sleep set of each state of the new part of the path."""
        asleep = self._asleep_before
        del self._sleeping_at[branch + 1 :]
        for depth in range(branch, len(schedule)):
            if asleep:
                event = trace[depth]
                asleep = frozenset(
                    thread
                    for thread in asleep
                    if thread != event[0]
                    and not (thread in self._pending and are_dependent(self._pending[thread], event))
                )
            self._sleeping_at.append(asleep)


def _initials(trace: Trace, order: HappensBefore, earlier: int, later: int) -> list[int]:
    """Return the actors that can begin the part after ``earlier`` that does not depend on it, ``later`` included.

    BLOCKED entries of other actors at the end are no part of it.
    """
    by = trace[earlier][0]
    thread = trace[later][0]
    first: dict[int, int] = {}
    for position in range(earlier + 1, later + 1):
        other = trace[position][0]
        if other != by and other not in first and (position == later or trace[position][1] != BLOCKED):
            depends = position != later and order.clocks[position][by] > earlier
            first[other] = -1 if depends else position
    if len(first) == 1:
        return [thread]
    clocks = order.clocks
    return [
        other
        for other, position in first.items()
        if position >= 0
        and not any(
            0 <= before < position and clocks[position][u] > before for u, before in first.items() if u != other
        )
    ]


def _steps_by_event(starts: Sequence[int], ends: Sequence[int], count: int) -> list[int]:
    """Return the step of each event; BLOCKED events come after all steps."""
    steps = []
    for step, (start, end) in enumerate(zip(starts, ends, strict=True)):
        steps += [step] * (end - start)
    return steps + [len(starts)] * (count - len(steps))


def _initials_of_steps(
    starts: list[int], schedule: list[int], clocks: list[Clock], depth: int, later: int
) -> list[int]:
    """Return the initials as :func:`_initials` does, for steps of several events, without the step ``later``.

    The step ``later`` is left out because it may perform other events after the reversal. A step depends on another
    step if any of its events does, and so on transitively: otherwise the part would leave out half of a step.

    Args:
        starts: the position of the first event of each step.
        schedule: the actor of each step.
        clocks: the clock at the end of each step.
        depth: the step that is left out.
        later: the step at which the part ends.
    """
    after = {schedule[depth]: starts[depth]}
    first: dict[int, int] = {}
    initials = []
    for step in range(depth + 1, later):
        thread, clock = schedule[step], clocks[step]
        if thread in after:
            continue
        if any(clock[other] > start for other, start in after.items()):
            after[thread] = starts[step]
        elif thread not in first:
            if not any(clock[other] > start for other, start in first.items()):
                initials.append(thread)
            first[thread] = starts[step]
    return initials
