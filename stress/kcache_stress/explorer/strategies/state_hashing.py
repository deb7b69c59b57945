"""Exhaustive search that cuts an execution short at a state that was visited before.

A depth-first search by re-execution over the choices at synchronisation points. It is a proof only for programs that are
free of data races, so it looks for races too (:mod:`..open_accesses`); and only if all state can be read.

Two visits are the same if the target, the judge and the race detector cannot tell them apart from here on:

* The shared state (:mod:`..canonical_state`), the virtual time, and what the judge makes of the calls so far
  (:mod:`..judgement.ledger`), which takes the place of their results.
* For each thread: whether it has ended, else in which call it is, and all that it has seen since that call began. Between
  two synchronisation points a thread runs alone, and its local variables are a function of its arguments and of the
  states in which its steps found the world. Steps that access nothing see nothing.
* Which objects of the states that it has seen are which objects now. Local variables may refer to any of them, also to
  those that are in the shared state no more: a set that was removed and put back is another set for who holds the old one.
* What it has accessed since its last synchronisation, where what it has seen does not say so: after the end of a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcache_model.driver import Driver

from ..calls import Calls
from ..canonical_state import CanonicalState
from ..events import PAUSE, QUERY, TRY, WRITE, location
from ..granularity import Granularity
from ..happens_before import HappensBefore, happens_before
from ..judgement.judge import ProgramJudge
from ..judgement.ledger import WRONG, Ledger
from ..namespaces import Namespaces, instrumented_modules
from ..open_accesses import Clash, OpenAccesses
from ..subject import Subject
from ..virtual.scheduler import Scheduler
from .interface import STOP, CallLog, Coverage, Ending, Step, Strategy

_NOT_STARTED = 0
_FRESH = 1
_QUIET = -1
_ENDED = -1


@dataclass(frozen=True)
class _Seen:
    """What a thread knows since its current call began.

    Attributes:
        calls: how many of its calls have ended.
        digest: number of the sequence of states that it has seen.
        looks: at which choices these states were.
        is_inside: whether its current call has synchronised.
        tail: whether it has accessed something since the end of a call.
    """

    calls: int = 0
    digest: int = _NOT_STARTED
    looks: tuple[int, ...] = ()
    is_inside: bool = False
    tail: bool = False


@dataclass
class _Node:
    """A choice on the current path.

    Attributes:
        chosen: who goes on.
        untried: who else is to be tried.
        state: number of the shared state.
        seen: what each thread knows.
        judged: what the judge makes of the calls so far.
    """

    chosen: int
    untried: list[int]
    state: int
    seen: dict[int, _Seen]
    judged: int


class StateHashing(Strategy):
    """Depth-first search over the states at synchronisation points.

    Args:
        subject: the target, loaded with granularity SYNC.
        judge: of the program that is going to be run.
        give_up: end the search as soon as it cannot be a proof any more.

    Attributes:
        redundant: how many executions were cut short.
        states: how many different states were visited.
        race: two accesses that race, in words; the search is no proof then.
        opaque: what could not be read or kept apart; the search is no proof then.
    """

    def __init__(self, subject: Subject, judge: ProgramJudge, *, give_up: bool = True) -> None:
        super().__init__()
        if subject.granularity is not Granularity.SYNC:
            raise ValueError("the states between synchronisation points are seen at granularity SYNC only")
        self.redundant = 0
        self.race: str | None = None
        self.opaque: str | None = None
        self._give_up = give_up
        self._namespaces = Namespaces(instrumented_modules(subject.sandbox))
        self._canonical = CanonicalState()
        self._ledger = Ledger(judge.monitor)
        self._state_numbers: dict[tuple[object, ...], int] = {}
        self._digests: dict[tuple[int, int], int] = {}
        self._visited: set[object] = set()
        self._path: list[_Node] = []
        self._open = OpenAccesses()
        self._note(self._namespaces.opaque)

    @property
    def states(self) -> int:
        """How many different states were visited."""
        return len(self._visited)

    def watch(self, driver: Driver, calls: Sequence[Calls], logs: Sequence[CallLog]) -> None:
        """Get to know where the state is."""
        self._driver, self._calls, self._logs = driver, calls, logs
        self._first_call = [sum(len(before.operations) for before in calls[:thread]) for thread in range(len(calls))]
        self._roots = (driver.indexer, *self._namespaces.roots)

    def begin(self, scheduler: Scheduler) -> None:
        """Plan to repeat the path up to its last choice."""
        super().begin(scheduler)
        self._trace = scheduler.trace
        self._depth = 0
        self._position = 0
        self._is_doomed = False
        self._looks: dict[int, tuple[tuple[int, ...], list[object]]] = {}
        self._needed = frozenset(look for seen in self._path[-1].seen.values() for look in seen.looks) if self._path else ()
        self._seen = dict.fromkeys(range(len(self._logs)), _Seen())
        self._judged = self._ledger.start
        changed = self._namespaces.changed()
        if changed is not None:
            self._note(f"{changed} is not the same in every execution")
        if len(scheduler.threads) > len(self._logs):
            self._note("it has threads of its own from the start")

    def choose(self, running: int) -> int:
        """Repeat the path; go on from its end, as long as that leads to states that were not visited yet."""
        scheduler = self.scheduler
        scheduler.left = 1
        depth = self._depth
        self._depth += 1
        last = len(self._path) - 1
        if depth < last:
            if depth in self._needed:
                self._look(depth)
            return self._path[depth].chosen
        if depth == last and not self._position:
            return self._resume(self._path[last])
        clash = self._account(depth)
        candidates = self.candidates()
        if not candidates:
            return STOP
        state = self._look(depth)
        self._see_preambles(state)
        extra = self._extra()
        if self._is_flawed(clash):
            self.end(Ending.REDUNDANT)
            return STOP
        if self._is_doomed:
            candidates = [running if running in candidates else candidates[0]]
        elif len(candidates) > 1:
            key = (state, self._judged, scheduler.timeouts_left, self._threads_key(), extra)
            before = len(self._visited)
            self._visited.add(key)
            if len(self._visited) == before:
                self.redundant += 1
                self.end(Ending.REDUNDANT)
                return STOP
            if running in candidates:
                candidates.remove(running)
                candidates.insert(0, running)
        chosen = candidates[0]
        self._path.append(_Node(chosen, candidates[1:], state, dict(self._seen), self._judged))
        return chosen

    def learn(self, step: Step) -> HappensBefore | None:
        """Check that the judge gets to see what the ledger saw."""
        if step.ending is Ending.COMPLETE:
            return happens_before(step.trace, step.threads)
        return None

    def has_more(self) -> bool:
        """Go to the deepest choice with somebody left to try."""
        if self._is_doomed:
            # Whoever judges did not stop here: then what lies beyond does matter, and was not explored.
            self._note("an execution that could not be explained was accepted")
        if self._give_up and (self.race or self.opaque):
            return False
        while self._path:
            node = self._path[-1]
            if node.untried:
                node.chosen = node.untried.pop(0)
                return True
            self._path.pop()
        return False

    def _resume(self, node: _Node) -> int:
        """The end of the path: take the next choice of its last node."""
        self._position = len(self._trace)
        self._seen = dict(node.seen)
        self._judged = node.judged
        self._open.restart(self._trace)
        if self._look(self._depth - 1) != node.state:
            self._note("the same choices led elsewhere: it does not do the same each time")
        return node.chosen

    # What the last step did.

    def _account(self, depth: int) -> Clash | None:
        """Add the last step to what threads have seen, to what the judge knows, and to what is open."""
        trace, start = self._trace, self._position
        self._position = len(trace)
        if depth == 0:
            return None
        clash = self._open.step(trace, start)
        node = self._path[depth - 1]
        thread, kind, _, _ = trace[start]
        accesses = 0
        for by, what, obj, _ in trace[start:]:
            if by != thread and by not in self._seen:
                self._seen[by] = _Seen(0, self._digest(node.seen[thread].digest, node.state), (depth - 1, depth))
            if what <= WRITE:
                accesses += 1
                if what == WRITE and self._namespaces.name_of(obj) is not None:
                    self._note(f"{self._namespaces.name_of(obj)} is written")
        is_quiet = not accesses and kind not in (TRY, QUERY)
        if is_quiet and kind == PAUSE:
            node.untried.clear()  # nobody notices when this happens
        seen = self._seen[thread]
        digest = self._digest(seen.digest, _QUIET if is_quiet else node.state)
        looks = seen.looks if is_quiet else _with(seen.looks, depth - 1, depth)
        if thread < len(self._logs):
            self._seen[thread] = self._account_calls(thread, kind, _Seen(seen.calls, digest, looks, seen.is_inside))
        else:
            self._seen[thread] = _Seen(0, digest, looks)
        if self._judged == WRONG or self.scheduler.failures:
            self._is_doomed = True
        return clash

    def _account_calls(self, thread: int, kind: int, seen: _Seen) -> _Seen:
        log, first, ledger = self._logs[thread], self._first_call[thread], self._ledger
        judged, is_inside = self._judged, seen.is_inside
        if kind == PAUSE:
            seen = seen if seen.looks else _Seen(digest=_FRESH)
        elif not is_inside:
            judged = ledger.begins(judged, thread, first + seen.calls)
            is_inside = True
        calls = len(log.spans)
        for call in range(seen.calls, calls):
            outcome = self._calls[thread].outcome_so_far(self._driver, *log.records[call])
            if is_inside:
                judged = ledger.ends(judged, thread, first + call, outcome)
                is_inside = False
            else:
                judged = ledger.floats(judged, thread, first + call, outcome)
        self._judged = judged
        if calls == seen.calls:
            return _Seen(calls, seen.digest, seen.looks, is_inside)
        return self._after_calls(thread, calls, seen)

    def _after_calls(self, thread: int, calls: int, seen: _Seen) -> _Seen:
        """What a thread has seen that has ended a call, and perhaps begun another one."""
        tail = bool(self._open.stretches[thread])
        if self.scheduler.threads[thread].finished:
            return _Seen(calls, _FRESH, (), False, tail)
        preamble = [what for by, what, _, _ in self._trace[self._logs[thread].spans[-1][1] :] if by == thread]
        if not preamble:
            return _Seen(calls, _FRESH, (), False, tail)
        if WRITE in preamble:
            return _Seen(calls, seen.digest, seen.looks, False, tail)
        # It has read what is there now. Which state that is shows in a moment.
        return _Seen(calls, _NOT_STARTED, (self._depth - 1,), False, tail)

    def _see_preambles(self, state: int) -> None:
        for thread, seen in self._seen.items():
            if seen.digest == _NOT_STARTED and seen.calls:
                self._seen[thread] = _Seen(seen.calls, self._digest(_FRESH, state), seen.looks, False, seen.tail)

    def _digest(self, digest: int, state: int) -> int:
        return self._digests.setdefault((digest, state), len(self._digests) + 2)

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
        threads = self.scheduler.threads
        return tuple(
            (_ENDED, 0, False) if threads[thread].finished else (seen.calls, seen.digest, seen.is_inside)
            for thread, seen in self._seen.items()
        )

    def _extra(self) -> tuple[object, ...]:
        """Which objects are which; comes right after :meth:`_look`."""
        canonical = self._canonical
        numbers = canonical.numbers
        current, objects = self._looks[self._depth - 1]
        canonical.objects = objects.copy()
        tokens: list[object] = []
        canonical.tokens = tokens
        known: dict[tuple[int, ...], int] = {current: 0}
        for seen in self._seen.values():
            for look in seen.looks:
                ids, objects = self._looks[look]
                number = known.setdefault(ids, len(known))
                tokens.append(number)
                if number == len(known) - 1 and number:
                    found = tuple(map(numbers.get, ids))
                    if None in found:
                        canonical.read(objects)
                    else:
                        tokens.append(found)
        self._add_arguments(tokens)
        self._add_tails(tokens)
        return tuple(tokens)

    def _add_arguments(self, tokens: list[object]) -> None:
        """What was passed or returned is cleared at the end: if it is shared, it counts which one it is."""
        numbers = self._canonical.numbers
        for log in self._logs:
            for call in log.calls:
                for argument in call[2]:
                    if type(argument) in (list, dict):
                        tokens.append(numbers.get(id(argument)))
            for _, result, _ in log.records:
                if type(result) in (list, dict, set) and id(result) in numbers:
                    self._note("a call returned what it keeps")

    def _add_tails(self, tokens: list[object]) -> None:
        numbers = self._canonical.numbers
        for thread, seen in self._seen.items():
            if seen.tail:
                found = set()
                for by, kind, obj, slot in reversed(self._trace):
                    if by == thread:
                        if kind > WRITE:
                            break
                        if id(obj) in numbers or self._namespaces.name_of(obj) is not None:
                            is_whole = location(obj, slot) == id(obj)
                            found.add((numbers.get(id(obj), id(obj)), None if is_whole else slot, kind))
                tokens.append((thread, frozenset(found)))

    # What spoils a proof.

    def _note(self, flaw: str | None) -> None:
        if flaw is not None and self.opaque is None:
            self.opaque = flaw
            self.coverage = Coverage.BUDGET_SPENT

    def _is_flawed(self, clash: Clash | None) -> bool:
        """Whether the search is to end because it cannot be a proof."""
        self._note(self._canonical.opaque)
        if clash is not None and self.race is None:
            self.race = f"threads {clash.threads[0] + 1} and {clash.threads[1] + 1}"
            self.coverage = Coverage.BUDGET_SPENT
        return self._give_up and (self.race is not None or self.opaque is not None)


def _with(looks: tuple[int, ...], *more: int) -> tuple[int, ...]:
    return (*looks, *(look for look in more if look not in looks))

