"""Exhaustive search that cuts an execution short at a state that was visited before.

A depth-first search by re-execution over the choices at synchronisation points. It is a proof only for programs that
are free of data races, so it looks for races too (:mod:`..state.open_accesses`); and only if all state can be read.

Two visits are the same if the target, the judge and the race detector cannot tell them apart from here on:

* The shared state (:mod:`..state.canonical_state`) and the virtual time.
* For each thread: whether it has ended, else in which call it is, and its frames (:mod:`..state.frames`), read together
  with the shared state: which objects are the same ones counts.
* What the judge makes of the calls so far (:mod:`..judgement.ledger`), which takes the place of their results.
* What threads have accessed since their last synchronisation.

For the last two it suffices that the first visit was as strict: nothing goes wrong after the second one that did not
after the first.

A thread that is about to give back a lock does so at once (:mod:`..state.early_releases`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from kcache_model.linearizability.monitor import Monitor
from kcache_model.outcomes import Outcome

from ..events import PAUSE, QUERY, RELEASE, TRY, UNKNOWN, WRITE
from ..granularity import Granularity
from ..happens_before import HappensBefore, happens_before
from ..judgement.ledger import WRONG, Ledger
from ..sandbox import Sandbox
from ..state.canonical_state import CanonicalState
from ..state.early_releases import EarlyReleases, can_release
from ..state.frames import FrameReader
from ..state.namespaces import Namespaces, instrumented_modules
from ..state.open_accesses import Clash, OpenAccesses, identity_and_slot
from ..state.race import Race, name_of_location
from ..state.readable import is_constant
from ..state.results import keeps_a_result, passed_containers
from ..state.watched_trace import WatchedTrace
from ..virtual.scheduler import Scheduler
from .interface import STOP, CallLog, Coverage, Ending, Step, Strategy

Key = tuple[object, ...]
Accessed = frozenset[tuple[object, ...]]

_LOOKS: Final = 16
"""How many executions, and then one in how many, are watched: the same choices lead to the same state."""


@dataclass
class _Node:
    """A choice on the current path.

    Attributes:
        chosen: who goes on.
        untried: who else is to be tried.
        key: the state; ``None`` where there is nothing to choose.
        judged: what the judge makes of the calls so far.
        calls: for each thread, how many of its calls have ended.
        inside: for each thread, whether its current call has synchronised.
        early: whether a lock is given back without a choice.
    """

    chosen: int
    untried: list[int]
    key: Key | None
    judged: int
    calls: tuple[int, ...]
    inside: tuple[bool, ...]
    early: bool = False


class StateHashing(Strategy):
    """Depth-first search over the states at synchronisation points.

    Args:
        sandbox: of the target, loaded with granularity SYNC.
        monitor: of the calls of the program that is going to be run.
        give_up: end the search as soon as it cannot be a proof any more.

    Attributes:
        redundant: how many executions were cut short.
        race: two accesses that race; the search is no proof then.
        opaque: what could not be read or kept apart; the search is no proof then.
    """

    def __init__(self, sandbox: Sandbox, monitor: Monitor[Any, Any, Outcome], *, give_up: bool = True) -> None:
        super().__init__()
        if sandbox.granularity is not Granularity.SYNC:
            raise ValueError("the states between synchronisation points are seen at granularity SYNC only")
        self.redundant = 0
        self.race: Race | None = None
        self._way_there: list[int] = []
        self._clash = Clash((0, 0), (0, 0))
        self.opaque: str | None = None
        self._give_up = give_up
        self._namespaces = Namespaces(instrumented_modules(sandbox))
        self._canonical = CanonicalState()
        self._frames = FrameReader(self._canonical)
        self._ledger = Ledger(monitor)
        self._visited: dict[Key, list[tuple[int, Accessed]]] = {}
        self._path: list[_Node] = []
        self._depths: dict[Key, int] = {}
        self._open = OpenAccesses()
        self._releases_early = True
        self._releases = EarlyReleases()
        self._tells_apart = False
        self._executions = 0
        self._note(self._namespaces.opaque)

    @property
    def states(self) -> int:
        """How many different states were visited."""
        return sum(map(len, self._visited.values()))

    @property
    def why_no_proof(self) -> str:
        """What keeps the search from being a proof; empty if nothing does."""
        if self.race is not None:
            return f"a data race: {self.race}"
        return self.opaque or ""

    @property
    def shortfall(self) -> str:
        """Why what is searched after it is no proof."""
        return self.why_no_proof or "the states were too many for the budget"

    def watch(self, root: object, logs: Sequence[CallLog]) -> None:
        """Get to know where the state is."""
        self._logs = logs
        self._first_call = [sum(len(before.calls) for before in logs[:thread]) for thread in range(len(logs))]
        self._roots = (root, *self._namespaces.roots)

    def begin(self, scheduler: Scheduler) -> None:
        """Plan to repeat the path up to its last choice."""
        super().begin(scheduler)
        self._canonical.start()  # lets go of the objects of the execution before: no finalizer may run in the midst
        self._is_locating = bool(self._way_there)
        if self._is_locating:
            scheduler.trace = self._located = WatchedTrace(self._clash.events)
        self._trace = scheduler.trace
        self._depth = 0
        self._position = 0
        self._is_doomed = False
        self._judged = self._ledger.start
        self._open.forget()
        self._releases = EarlyReleases()
        self._calls_ended = [0] * len(self._logs)
        self._inside = [False] * len(self._logs)
        changed = self._namespaces.changed()
        if changed is not None:
            self._note(f"{changed} is not the same in every execution")
        if len(scheduler.threads) > len(self._logs):
            self._note("it has threads of its own")

    def choose(self, running: int) -> int:
        """Repeat the path; go on from its end, as long as that leads to states that were not visited yet."""
        scheduler = self.scheduler
        scheduler.left = 1
        depth = self._depth
        self._depth += 1
        if self._is_locating:
            return self._locate(depth)
        last = len(self._path) - 1
        if depth <= last and not self._position:
            node = self._path[depth]
            if node.early:
                self._open.early.add(len(self._trace))
            return self._resume(node, running) if depth == last else node.chosen
        if depth:
            self._account(depth)
        candidates = self._with_equals_in_order(self.candidates())
        if not candidates:
            return STOP
        key = None
        early = self._releases_early and can_release(scheduler.threads.get(running))
        if self._releases.matter:
            return self._cut_short(Ending.REDUNDANT)
        if early:
            self._open.early.add(len(self._trace))
        if self._is_doomed or early:
            candidates = [running if running in candidates else candidates[0]]
        elif len(candidates) > 1:
            key = self._key(running)
        if self._give_up and not self._is_proof:
            return self._cut_short(Ending.REDUNDANT)
        if key is not None:
            if not self._is_new(key):
                return self._cut_short(self._ending_of_visited(key, candidates))
            self._depths.setdefault(key, depth)
            if running in candidates:
                candidates.remove(running)
                candidates.insert(0, running)
        calls, inside = tuple(self._calls_ended), tuple(self._inside)
        self._path.append(_Node(candidates[0], candidates[1:], key, self._judged, calls, inside, early))
        return candidates[0]

    @property
    def _has_equals(self) -> bool:
        return bool(self.scheduler.equal_threads) and not self._tells_apart

    def _with_equals_in_order(self, candidates: list[int]) -> list[int]:
        """Of threads that do the same and have not begun, the first alone."""
        if not self._has_equals:
            return candidates
        begun, equal = {node.chosen for node in self._path[: self._depth - 1]}, self.scheduler.equal_threads
        return [thread for thread in candidates if equal.in_place_of(thread, begun) == thread]

    def _is_new(self, key: Key) -> bool:
        """Whether a state has to be explored; comes right after it was read."""
        accessed = self._accessed()
        visits = self._visited.setdefault(key, [])
        for judged, before in visits:
            if before >= accessed and self._ledger.is_as_strict(judged, self._judged):
                return False
        visits.append((self._judged, accessed))
        return True

    def _resume(self, node: _Node, running: int) -> int:
        """The end of the path: another choice is made here."""
        self._open.restart(self._trace)
        self._executions += 1
        is_looked_at = self._executions < _LOOKS or self._executions % _LOOKS == 0
        if is_looked_at and self._key(running, node.calls, node.inside) != node.key:
            self._note("the same choices led elsewhere: it does not do the same each time")
        self._position = len(self._trace)
        self._judged = node.judged
        self._calls_ended, self._inside = list(node.calls), list(node.inside)
        return node.chosen

    def _ending_of_visited(self, key: Key, candidates: list[int]) -> Ending:
        """A circle in which everybody had a turn may go on for ever; another one ends when the others have theirs."""
        since = self._depths.get(key)
        if since is not None and {node.chosen for node in self._path[since:]}.issuperset(candidates):
            return Ending.ENDLESS
        return Ending.REDUNDANT

    def _cut_short(self, ending: Ending) -> int:
        self.redundant += ending is Ending.REDUNDANT
        self.end(ending)
        return STOP

    def _locate(self, depth: int) -> int:
        """Go where the race was, and no further."""
        if depth < len(self._way_there):
            return self._way_there[depth]
        assert self.race is not None
        self.race = replace(self.race, places=tuple(self._located.places.values()))
        self._way_there = []
        self.end(Ending.REDUNDANT)
        return STOP

    def learn(self, step: Step) -> HappensBefore | None:
        """Check that the judge gets to see what the ledger saw."""
        # What is imprecise on a place that is known is looked for as a data race; what is unknown altogether is not.
        self.doubts.update((str(slot), None) for _, _, obj, slot in step.trace if obj is UNKNOWN)
        if step.ending is Ending.COMPLETE:
            return happens_before(step.trace, step.threads)
        return None

    def has_more(self) -> bool:
        """Go to the deepest choice with somebody left to try."""
        if self._way_there:
            return True
        if self._releases.matter or (self._has_equals and self.scheduler.tells_identities):
            self._releases_early = self._releases_early and not self._releases.matter
            self._tells_apart = self._tells_apart or self.scheduler.tells_identities
            self._path.clear()
            self._depths.clear()
            self._visited.clear()
            return True
        if self._is_doomed and self.race is None:
            # Whoever judges did not stop here: then what lies beyond does matter, and was not explored.
            self._note("an execution that could not be explained was accepted")
        if self._give_up and not self._is_proof:
            return False
        while self._path:
            node = self._path[-1]
            if node.untried:
                node.chosen = node.untried.pop(0)
                return True
            self._path.pop()
            if node.key is not None and self._depths.get(node.key) == len(self._path):
                del self._depths[node.key]
        return False

    # What the last step did.

    def _account(self, depth: int) -> None:
        """Add the last step to what is open and to what the judge knows."""
        trace, start = self._trace, self._position
        self._position = len(trace)
        clash = self._open.step(trace, start)
        if clash is not None and self.race is None:
            self._note_race(clash)
        node = self._path[depth - 1]
        thread, kind, _, _ = trace[start]
        for position in range(start, len(trace)):
            by, what, obj, _ = trace[position]
            if what in (RELEASE, TRY, QUERY):
                self._releases.note(trace[position], early=position in self._open.early)
            if what == WRITE and (self._namespaces.name_of(obj) is not None or is_constant(obj)):
                self._note(f"{self._namespaces.name_of(obj) or type(obj).__qualname__} is written")
            elif by != thread:
                self._note("it has threads of its own")
        if kind == PAUSE and len(trace) == start + 1:
            node.untried.clear()  # nobody notices when this happens
        if thread < len(self._logs):
            self._judge_calls(thread, kind)
        if self._judged == WRONG or self.scheduler.failures:
            self._is_doomed = True

    def _judge_calls(self, thread: int, kind: int) -> None:
        """Tell the ledger which calls have begun and ended."""
        log, first, ledger = self._logs[thread], self._first_call[thread], self._ledger
        judged, is_inside = self._judged, self._inside[thread]
        if kind != PAUSE and not is_inside:
            judged = ledger.begins(judged, thread, first + self._calls_ended[thread])
            is_inside = True
        for call in range(self._calls_ended[thread], len(log.spans)):
            outcome = log.outcome_so_far(call)
            if is_inside:
                judged = ledger.ends(judged, thread, first + call, outcome)
                is_inside = False
            else:
                judged = ledger.floats(judged, thread, first + call, outcome)
        self._judged = judged
        self._inside[thread] = is_inside
        self._calls_ended[thread] = len(log.spans)

    # States.

    def _key(self, running: int, calls: Sequence[int] = (), inside: Sequence[bool] = ()) -> Key:
        """All that the rest of the execution depends on."""
        canonical, scheduler = self._canonical, self.scheduler
        calls, inside = calls or self._calls_ended, inside or self._inside
        canonical.start()
        self._frames.start()
        canonical.read(self._roots)
        if keeps_a_result(canonical, self._logs):
            self._note("a call returned what it keeps")
        canonical.tokens += (canonical.numbers.get(id(argument)) for argument in passed_containers(self._logs))
        self._frames.turn_to_threads()
        for number, thread in scheduler.threads.items():
            canonical.tokens.append((thread.finished, calls[number], inside[number]) if number < len(calls) else None)
            if thread.finished:
                continue
            if number == running:
                self._frames.read(thread, sys._getframe())
            elif thread.greenlet is not None:
                self._frames.read(thread, thread.greenlet.gr_frame)
        self._note(canonical.opaque)
        return (*canonical.tokens, scheduler.now, scheduler.timeouts_left)

    def _accessed(self) -> Accessed:
        """What threads have accessed, of what others can reach: who, what closes the stretch, where, how."""
        numbers, is_known = self._canonical.numbers, self._namespaces.is_known
        found: set[tuple[object, ...]] = set()
        for thread, stretches in self._open.stretches.items():
            for locks, stretch in stretches.items():
                closing = frozenset(number for number in map(numbers.get, locks) if number is not None)
                for where, kind in stretch.items():
                    obj, slot = identity_and_slot(where)
                    number = numbers.get(obj)
                    if number is not None:
                        found.add((thread, closing, number, slot, kind))
                    elif is_known(obj):
                        found.add((thread, closing, str(obj), slot, kind))
        return frozenset(found)

    # What spoils a proof.

    def _note(self, flaw: str | None) -> None:
        if flaw is not None and self.opaque is None:
            self.opaque = flaw
            self.coverage = Coverage.BUDGET_SPENT

    def _note_race(self, clash: Clash) -> None:
        """Name a race; one more execution, up to here, will tell where its accesses are."""
        obj, slot = self._trace[clash.events[0]][2:]
        space = self._namespaces.name_of(obj)
        reached = CanonicalState()
        reached.read(self._roots)
        name = f"{space}.{slot}" if space else name_of_location(obj, slot, reached.objects)
        self.race = Race(name, clash.threads)
        self._clash = clash
        self._way_there = [node.chosen for node in self._path]
        self.coverage = Coverage.BUDGET_SPENT

    @property
    def _is_proof(self) -> bool:
        return self.race is None and self.opaque is None
