"""Exhaustive search that cuts an execution short at a state that was visited before.

A depth-first search by re-execution over the choices at synchronisation points. It is a proof only for programs that
are free of data races, so it looks for races too (:mod:`..open_accesses`); and only if all state can be read.

Two visits are the same if the target, the judge and the race detector cannot tell them apart from here on:

* The shared state (:mod:`..canonical_state`), the virtual time, and what the judge makes of the calls so far
  (:mod:`..judgement.ledger`), which takes the place of their results.
* For each thread: whether it has ended, else in which call it is, and all that it has found since that call began
  (:mod:`..local_view`): its local variables are a function of that.
* Which of the objects that it has come to know are which objects now (:mod:`..identities`). Local variables may refer
  to any of them: a set that was removed and put back is another set for who holds the old one.
* What it has accessed since its last synchronisation, where that is not part of its current call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kcache_model.driver import Driver

from ..calls import Calls
from ..events import PAUSE, WRITE, Event
from ..granularity import Granularity
from ..happens_before import HappensBefore, happens_before
from ..judgement.judge import ProgramJudge
from ..judgement.ledger import WRONG, Ledger
from ..state.canonical_state import CanonicalState
from ..state.identities import keeps_a_result, open_tail, passed_containers, which_they_are
from ..state.local_view import FRESH, LocalView
from ..state.namespaces import Namespaces, instrumented_modules
from ..state.open_accesses import Clash, OpenAccesses
from ..state.race import Race, name_of_location, place_of_access
from ..state.seen import ENDED, Node, Seen
from ..state.watched_trace import WatchedTrace, watch_waits
from ..subject import Subject
from ..virtual.scheduler import FOREVER, Scheduler
from .interface import STOP, CallLog, Coverage, Ending, Step, Strategy

_DIVERGED = "the same choices led elsewhere: it does not do the same each time"


class StateHashing(Strategy):
    """Depth-first search over the states at synchronisation points.

    Args:
        subject: the target, loaded with granularity SYNC.
        judge: of the program that is going to be run.
        give_up: end the search as soon as it cannot be a proof any more.

    Attributes:
        redundant: how many executions were cut short.
        states: how many different states were visited.
        race: two accesses that race; the search is no proof then.
        opaque: what could not be read or kept apart; the search is no proof then.
    """

    def __init__(self, subject: Subject, judge: ProgramJudge, *, give_up: bool = True) -> None:
        super().__init__()
        if subject.granularity is not Granularity.SYNC:
            raise ValueError("the states between synchronisation points are seen at granularity SYNC only")
        self.redundant = 0
        self.race: Race | None = None
        self._to_locate: dict[int, str] = {}
        self._way_there: list[int] = []
        self.opaque: str | None = None
        self._give_up = give_up
        self._namespaces = Namespaces(instrumented_modules(subject.sandbox))
        self._canonical = CanonicalState()
        self._ledger = Ledger(judge.monitor)
        self._state_numbers: dict[tuple[object, ...], int] = {}
        self._local = CanonicalState()
        self._digests: dict[object, int] = {}
        self._visited: set[object] = set()
        self._path: list[Node] = []
        self._open = OpenAccesses()
        watch_waits(subject)
        self._note(self._namespaces.opaque)

    @property
    def states(self) -> int:
        """How many different states were visited."""
        return len(self._visited)

    @property
    def why_no_proof(self) -> str:
        """What keeps the search from being a proof; empty if nothing does."""
        if self.race is not None:
            return f"a data race: {self.race}"
        return self.opaque or ""

    def watch(self, driver: Driver, calls: Sequence[Calls], logs: Sequence[CallLog]) -> None:
        """Get to know where the state is."""
        self._driver, self._calls, self._logs = driver, calls, logs
        self._first_call = [sum(len(before.operations) for before in calls[:thread]) for thread in range(len(calls))]
        self._roots = (driver.indexer, *self._namespaces.roots)

    def begin(self, scheduler: Scheduler) -> None:
        """Plan to repeat the path up to its last choice."""
        super().begin(scheduler)
        self._is_locating = bool(self._way_there)
        self._trace = scheduler.trace = WatchedTrace(self._on_event, self._current_view)
        self._depth = 0
        self._position = 0
        self._is_doomed = False
        self._views = [LocalView(self._local, self._digests) for _ in self._logs]
        self._seen = [Seen() for _ in self._logs]
        self._judged = self._ledger.start
        self._looks: dict[int, tuple[tuple[int, ...], list[object]]] = {}
        planned = self._path[-1].seen if self._path else self._seen
        self._since = [FOREVER if seen.digest == ENDED else seen.since for seen in planned]
        self._needed = {look for seen in planned for look in seen.looks}
        self._made: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        for thread, seen in enumerate(planned):
            for depth, numbers in seen.made:
                self._made.setdefault(depth, []).append((thread, numbers))
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
            return self._repeat(depth)
        if depth:
            self._account(depth)
        candidates = self.candidates()
        if not candidates:
            return STOP
        state = self._look(depth)
        self._see_what_was_made(depth)
        extra = self._extra()
        self._note(self._canonical.opaque or self._local.opaque)
        if self._give_up and not self._is_proof:
            self.end(Ending.REDUNDANT)
            return STOP
        if self._is_doomed:
            candidates = [running if running in candidates else candidates[0]]
        elif len(candidates) > 1:
            if not self._is_new((state, self._judged, scheduler.timeouts_left, self._threads_key(), extra)):
                self.redundant += 1
                self.end(Ending.REDUNDANT)
                return STOP
            if running in candidates:
                candidates.remove(running)
                candidates.insert(0, running)
        chosen = candidates[0]
        self._path.append(Node(chosen, candidates[1:], state, self._seen.copy(), self._judged))
        return chosen

    def _locate(self, depth: int) -> int:
        """Go where the race was, and no further."""
        if depth < len(self._way_there):
            return self._way_there[depth]
        assert self.race is not None
        self.race = replace(self.race, places=tuple(self._to_locate.values()))
        self._way_there = []
        self.end(Ending.REDUNDANT)
        return STOP

    def _repeat(self, depth: int) -> int:
        node = self._path[depth]
        is_last = depth == len(self._path) - 1
        if is_last or depth in self._needed or depth in self._made:
            state = self._look(depth)
            objects = self._looks[depth][1]
            for thread, numbers in self._made.get(depth, ()):
                for number in numbers:
                    self._views[thread].know(objects[number])
            if state != node.state:
                self._note(_DIVERGED)
        if is_last:
            self._position = len(self._trace)
            self._seen = node.seen.copy()
            self._judged = node.judged
            self._open.restart(self._trace)
            self._since = [0] * len(self._since)
            for view, seen in zip(self._views, self._seen, strict=True):
                if view.calls != seen.calls:
                    view.forget(seen.calls)
                if view.digest != seen.digest and seen.digest > FRESH:
                    if not seen.looks:
                        self._note(_DIVERGED)
                    view.digest = seen.digest
        return node.chosen

    def _is_new(self, key: object) -> bool:
        before = len(self._visited)
        self._visited.add(key)
        return len(self._visited) > before

    def _current_view(self) -> LocalView | None:
        """Of the running thread; ``None`` if it need not see anything yet."""
        scheduler = self.scheduler
        thread = scheduler.current
        if self._is_locating or not scheduler.live or scheduler.aborting or not 0 <= thread < len(self._since):
            return None
        if len(self._trace) < self._since[thread]:
            return None
        view, calls = self._views[thread], len(self._logs[thread].spans)
        if calls != view.calls:
            view.forget(calls)
        return view

    def _on_event(self, event: Event) -> None:
        if self._is_locating:
            if len(self._trace) in self._to_locate:
                self._to_locate[len(self._trace)] = place_of_access()
            return
        view = self._current_view()
        if view is not None:
            view.note(*event[1:])

    def learn(self, step: Step) -> HappensBefore | None:
        """Check that the judge gets to see what the ledger saw."""
        if step.ending is Ending.COMPLETE:
            return happens_before(step.trace, step.threads)
        return None

    def has_more(self) -> bool:
        """Go to the deepest choice with somebody left to try."""
        if self._is_doomed and self.race is None:
            # Whoever judges did not stop here: then what lies beyond does matter, and was not explored.
            self._note("an execution that could not be explained was accepted")
        if self._way_there:
            return True
        if self._give_up and not self._is_proof:
            return False
        while self._path:
            node = self._path[-1]
            if node.untried:
                node.chosen = node.untried.pop(0)
                return True
            self._path.pop()
        return False

    # What the last step did.

    def _account(self, depth: int) -> None:
        """Add the last step to what its thread has seen, to what the judge knows, and to what is open."""
        trace, start = self._trace, self._position
        self._position = len(trace)
        clash = self._open.step(trace, start)
        if clash is not None and self.race is None:
            self._note_race(clash)
        node = self._path[depth - 1]
        thread, kind, _, _ = trace[start]
        for by, what, obj, _ in trace[start:]:
            if what == WRITE and self._namespaces.name_of(obj) is not None:
                self._note(f"{self._namespaces.name_of(obj)} is written")
            elif by != thread:
                self._note("it has threads of its own")
        if kind == PAUSE and len(trace) == start + 1:
            node.untried.clear()  # nobody notices when this happens
        if thread < len(self._logs):
            self._judge_calls(thread, kind)
            self._seen[thread] = self._see(thread, depth, node)
        if self._judged == WRONG or self.scheduler.failures:
            self._is_doomed = True

    def _judge_calls(self, thread: int, kind: int) -> None:
        """Tell the ledger which calls have begun and ended."""
        log, first, ledger, seen = self._logs[thread], self._first_call[thread], self._ledger, self._seen[thread]
        judged, is_inside = self._judged, seen.is_inside
        if kind != PAUSE and not is_inside:
            judged = ledger.begins(judged, thread, first + seen.calls)
            is_inside = True
        for call in range(seen.calls, len(log.spans)):
            outcome = self._calls[thread].outcome_so_far(self._driver, *log.records[call])
            if is_inside:
                judged = ledger.ends(judged, thread, first + call, outcome)
                is_inside = False
            else:
                judged = ledger.floats(judged, thread, first + call, outcome)
        self._judged = judged
        self._is_inside = is_inside

    def _see(self, thread: int, depth: int, node: Node) -> Seen:
        """What a thread has seen after its step."""
        view, before, spans = self._views[thread], self._seen[thread], self._logs[thread].spans
        calls, has_ended_call, since = len(spans), len(spans) > before.calls, before.since
        if has_ended_call:
            tail, since = bool(self._open.stretches[thread]), spans[-1][1]
            if view.calls != calls:
                view.forget(calls)
            if not view.is_coarse:
                before = Seen()
            if self.scheduler.threads[thread].finished:
                return Seen(calls, ENDED, tail=tail)
        else:
            tail = False
        looks = before.looks
        if view.is_coarse:
            view.add((self._seen[thread].digest, node.state))
            view.is_coarse = False
            looks = _with(looks, depth - 1, depth)
        return Seen(calls, view.digest, since, looks, before.made, self._is_inside, tail)

    def _see_what_was_made(self, depth: int) -> None:
        """Objects that are shared since the last step: the thread that made them may still refer to them."""
        if not depth:
            return
        thread = self._path[depth - 1].chosen
        if thread >= len(self._seen) or self._seen[thread].digest in (ENDED, FRESH):
            return
        ids, objects = self._looks[depth]
        before = self._looks[depth - 1][0]
        if ids == before:
            return
        numbers = tuple(number for number, found in enumerate(ids) if found not in before)
        if numbers:
            for number in numbers:
                self._views[thread].know(objects[number])
            self._seen[thread] = replace(self._seen[thread], made=(*self._seen[thread].made, (depth, numbers)))

    # Keys.

    def _look(self, depth: int) -> int:
        """The number of the shared state."""
        canonical = self._canonical
        canonical.start()
        canonical.tokens.append(self.scheduler.now)
        canonical.read(self._roots)
        self._looks[depth] = tuple(canonical.numbers), canonical.objects
        return self._state_numbers.setdefault(tuple(canonical.tokens), len(self._state_numbers))

    def _threads_key(self) -> tuple[tuple[int, int, bool], ...]:
        return tuple((seen.calls, seen.digest, seen.is_inside) for seen in self._seen)

    def _extra(self) -> tuple[object, ...]:
        """Which objects are which; comes right after :meth:`_look`."""
        canonical, current = self._canonical, self._looks[self._depth - 1][0]
        known: list[tuple[tuple[int, ...], list[object]]] = []
        for view, seen in zip(self._views, self._seen, strict=True):
            known += ((tuple(view.numbers), view.objects), *map(self._looks.__getitem__, seen.looks))
        tokens = which_they_are(canonical, current, known)
        tokens += (canonical.numbers.get(id(argument)) for argument in passed_containers(self._logs))
        for thread, seen in enumerate(self._seen):
            if seen.tail:
                tokens.append((thread, open_tail(canonical, self._namespaces, self._trace, thread)))
        if keeps_a_result(canonical, self._logs):
            self._note("a call returned what it keeps")
        return tuple(tokens)

    # What spoils a proof.

    def _note(self, flaw: str | None) -> None:
        if flaw is not None and self.opaque is None:
            self.opaque = flaw
            self.coverage = Coverage.BUDGET_SPENT

    def _note_race(self, clash: Clash) -> None:
        """Name a race; one more execution, up to here, will tell where its accesses are."""
        obj, slot = self._trace[clash.events[0]][2:]
        space = self._namespaces.name_of(obj)
        name = f"{space}.{slot}" if space else name_of_location(obj, slot, self._looks[self._depth - 2][1])
        self.race = Race(name, clash.threads)
        self._to_locate = dict.fromkeys(clash.events, "?")
        self._way_there = [node.chosen for node in self._path]
        self.coverage = Coverage.BUDGET_SPENT

    @property
    def _is_proof(self) -> bool:
        return self.race is None and self.opaque is None


def _with(looks: tuple[int, ...], *more: int) -> tuple[int, ...]:
    return (*looks, *(look for look in more if look not in looks))
