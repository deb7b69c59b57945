"""The runner of scenarios: threads of any code, not only calls of an Indexer.

A scenario says which modules are instrumented, what its threads do, and what must hold when they have ended. All of it
happens anew in each execution, so that what an execution does depends on its schedule alone.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import ClassVar, Final, TypeAlias

from kcache_model.errors import CannotExploreError
from kcache_model.finding import FindingKind
from kcache_model.outcomes import error_text

from ..engine.equal_actors import NONE_EQUAL, EqualActors
from ..engine.execution import Execution, Problem
from ..engine.happens_before import HappensBefore
from ..engine.schedule_replay import Replay
from ..engine.scheduling import FOREVER
from ..engine.strategy import MOST_ASKED, MOST_EVENTS, Ending, Strategy
from ..engine.waits import cycle, standstill_text
from ..judgement.plain_data import plain
from ..modules.copies import Copies
from ..modules.state_reset import ModulesReset
from ..modules.target_runner import InSandbox
from ..runtime.stand_ins.polling import OUTSIDE, OutsideWakeup
from ..runtime.threads.library import import_settings_restored
from ..runtime.threads.scheduler import MOST_PROGRAM_THREADS, Scheduler
from ..runtime.threads.standstill import Watched
from ..runtime.threads.user_place import place_of
from ..runtime.threads.virtual_thread import Aborted, SetupDeadlockError, UncontrolledError
from ..runtime.waits import waits

Load: TypeAlias = "Callable[[str | Path], ModuleType]"
"""The private copy of a module: of what a scenario instruments, of a file, of ``threading``, ``queue`` or ``time``."""

_TIMEOUTS: Final = 2
_EVENTS_BETWEEN_SIGNS: Final = 2_000
"""After so many events, whoever watches for hangs is told that the execution goes on."""


class CallSequence:
    """A thread's work that is calls one after another: an execution tells their spans and what each gave.

    Args:
        calls: each makes one call, and returns what that gave.
    """

    def __init__(self, calls: Sequence[Callable[[], object]]) -> None:
        self.calls = calls
        self.spans: list[tuple[int, int]] = []
        self.outcomes: list[object] = []

    def make(self, clock: Callable[[], int]) -> list[object]:
        """Make the calls; what they gave."""
        for call in self.calls:
            begun = clock()
            self.outcomes.append(call())
            self.spans.append((begun, clock()))
        return self.outcomes


Work: TypeAlias = "Callable[[], object] | CallSequence"
"""What one thread does."""


@dataclass(frozen=True)
class Scenario:
    """Some threads, and what is asked of them.

    Attributes:
        instrument: the packages and modules whose code is copied and instrumented; dotted names are fine.
        setup: gets ``load``, makes what the threads share, and returns what each of them does. It runs before each
            execution, alone, and must do the same each time. Modules are copied once: what ``setup`` does not make
            anew, such as their globals, all executions share.
        check: gets what the threads returned, in the order of ``setup``, when all have ended; says what is wrong, as a
            sentence or a :class:`~kcache_model.rules.BrokenRule`; ``None`` if nothing is.
    """

    instrument: tuple[str, ...]
    setup: Callable[[Load], Sequence[Work]]
    check: Callable[[list[object]], object] = lambda _: None


class ScenarioRunner(InSandbox):
    """Runs one scenario again and again.

    Attributes:
        sandbox: where its modules live.
        reset: of what executions leave there.
        is_only: whether no other scenario runs on its copies.
    """

    is_only: ClassVar[bool] = False

    def __init__(
        self, scenario: Scenario, copies: Copies, most_events: int = MOST_EVENTS, *, is_strict: bool = False
    ) -> None:
        self._copies = copies
        self.sandbox = copies.sandbox
        self._most_events = most_events
        self._scenario = scenario
        self._threads = 0
        self._own = object()
        self._modules = copies.modules
        self.reset = ModulesReset(copies, self._rehearse, is_only=self.is_only)
        self._rehearse()
        self.reset.begin()
        if not (self.sandbox.is_strict or self.sandbox.granularity.is_of_opcodes):
            with contextlib.suppress(UncontrolledError):  # the search will meet it, too
                self.run(Replay(()))
        self.reset.reload_if_needed(is_strict=is_strict)

    @property
    def is_long(self) -> bool:
        """Whether an execution has so many events that few can be run."""
        return False

    @property
    def is_very_long(self) -> bool:
        """Whether it has so many that a handful can be run."""
        return False

    @property
    def calls_made(self) -> Hashable:
        """What the threads do, as far as it is known; equal where they come to the same code, by and large."""
        return self._own

    @property
    def equal_actors(self) -> EqualActors:
        """The threads that do the same, if all that is asked in the end is the same whichever of them did it."""
        return NONE_EQUAL

    def run(self, strategy: Strategy) -> Execution[object]:
        """Run the scenario once under ``strategy``."""
        self.reset.before_execution()
        with self.sandbox.present(), Watched(self.sandbox.scheduler):
            return self._run(strategy)

    def _run(self, strategy: Strategy) -> Execution[object]:
        scheduler = self.sandbox.scheduler
        self.clean_up()
        try:
            parts, problem = self._perform(strategy)
        except SetupDeadlockError as error:
            if isinstance(error.waitable, OutsideWakeup):
                raise UncontrolledError(f"it waits for {OUTSIDE}") from None
            return Execution(Ending.DEADLOCK, [], 0, [], [], problem=Problem(FindingKind.DEADLOCK, str(error)))
        ending = strategy.ending if strategy.ending is not Ending.ENDLESS or problem is None else Ending.DEADLOCK
        return Execution(
            ending,
            scheduler.trace,
            len(scheduler.actors),
            [part.work.spans if isinstance(part.work, CallSequence) else [] for part in parts],
            [part.work.outcomes if isinstance(part.work, CallSequence) else [part.result] for part in parts],
            problem=problem,
            waits=waits(scheduler) if ending is Ending.DEADLOCK else (),
            timeouts=scheduler.timeouts,
            timeouts_withheld=scheduler.timeouts_withheld,
            was_patient=scheduler.was_patient,
            preemptions=scheduler.preemptions,
            doubts=self.sandbox.doubts,
            hurry=scheduler.haste.seen,
            seconds=scheduler.now - scheduler.polled,
        )

    def _perform(self, strategy: Strategy) -> tuple[Sequence[Part], Problem | None]:
        """One execution from the beginning to the end: what the threads did, and what is wrong."""
        parts = self._explored(self._scenario.setup(self._modules.__getitem__), strategy)
        return parts, self._problem(strategy.ending, parts, strategy.most_events)

    def _explored(self, works: Sequence[Work], strategy: Strategy) -> Sequence[Part]:
        """The threads under ``strategy``, each with what came of it."""
        scheduler = self.sandbox.scheduler
        parts = [Part(work, scheduler) for work in works]
        scheduler.settle()
        self.reset.look()
        strategy.most_events = self._most_events
        scheduler.equal_actors = self.equal_actors
        strategy.begin(scheduler)
        functions = (function for part in parts for function in part.functions)
        self.sandbox.watch_now_and_then(functions, program=self.calls_made)
        scheduler.explore([part.run for part in parts], _impatient(strategy, scheduler, self.alive), _TIMEOUTS)
        return parts

    def alive(self) -> None:
        """Called now and then while an execution makes events."""

    def outcome(self, execution: Execution[object]) -> object:
        """What the threads returned, if that is plain data."""
        if execution.ending is not Ending.COMPLETE:
            return execution.ending
        try:
            return tuple(map(plain, execution.outcomes))
        except TypeError:
            return None

    def clean_up(self) -> None:
        """Unwind the last execution."""
        self.sandbox.reset(self._threads)
        self._copies.undo()

    def _rehearse(self) -> None:
        """Run ``setup`` until it loads the same copies each time: a module may change how others are rewritten."""
        before: object = None
        while before != self._modules:
            before = dict(self._modules)
            self.clean_up()
            try:
                with self.sandbox.locks, import_settings_restored():
                    self._threads = len(self._scenario.setup(self._load))
            except SetupDeadlockError:
                return  # each execution says so
            except UncontrolledError as error:
                raise CannotExploreError(str(error)) from error
        if self._threads > MOST_PROGRAM_THREADS:
            raise ValueError(f"a scenario has at most {MOST_PROGRAM_THREADS} threads")

    def _load(self, name: str | Path) -> ModuleType:
        known = self._modules.get(name)
        with self.sandbox.while_loading() if known is None else contextlib.nullcontext():
            loaded = self._modules[name] = self.sandbox.load(name)
        if loaded is not known:
            self._copies.keep_state()
        return loaded

    def livelock(self, most_events: int) -> Problem | None:
        """What is wrong with an execution that went on for ever: nothing if some thread did not get its turns."""
        if self.sandbox.granularity.is_of_opcodes:
            return None  # so many opcodes are not that much
        scheduler = self.sandbox.scheduler
        lately = {event[0] for event in scheduler.trace[-most_events // 2 :]}
        is_fair = lately.issuperset(scheduler.enabled() + scheduler.next_timeouts())
        return Problem(FindingKind.LIVELOCK, _endless(scheduler)) if is_fair else None

    def _problem(self, ending: Ending, parts: Sequence[Part], most_events: int) -> Problem | None:
        if ending in (Ending.REDUNDANT, Ending.INFEASIBLE):
            return None
        errors = [(f"thread {number}", part.error) for number, part in enumerate(parts, 1) if part.error is not None]
        failures = self.sandbox.scheduler.failures
        for who, error in errors + [("a thread of the code under test", error) for error in failures]:
            return ended_with(who, error)
        if ending is not Ending.COMPLETE:
            return self._standstill(ending, most_events)
        wrong = self._scenario.check([part.result for part in parts])
        if wrong is None:
            return None
        return Problem(FindingKind.INVARIANT, str(wrong), rule=getattr(wrong, "rule", ""))

    def _standstill(self, ending: Ending, most_events: int) -> Problem | None:
        """What is wrong with an execution whose threads never came to their ends."""
        if ending is Ending.DEADLOCK:
            found = waits(self.sandbox.scheduler)
            outside = next((wait for wait in found if wait.what == OUTSIDE and not cycle(found)), None)
            if outside is not None:
                raise UncontrolledError(f"{outside.where} waits for {OUTSIDE}")
            return Problem(FindingKind.DEADLOCK, standstill_text(found))
        return self.livelock(most_events) if ending is Ending.ENDLESS else None


class _AsFound:
    """The judge of scenarios: wrong is what their runner found wrong."""

    def judge(self, execution: Execution[object], order: HappensBefore | None = None) -> Problem | None:  # noqa: ARG002
        """What is wrong with an execution; the order of calls says nothing here."""
        return execution.problem


AS_FOUND: Final = _AsFound()


@dataclass
class Part:
    """The work of one thread, and how that went.

    Attributes:
        work: what it does.
        scheduler: of the thread.
        result: what a function returned, or all that calls gave.
        error: what escaped from it; ``None`` if nothing.
    """

    work: Work
    scheduler: Scheduler
    result: object = None
    error: BaseException | None = None

    @property
    def functions(self) -> Sequence[object]:
        """The functions that say what the thread does."""
        return self.work.calls if isinstance(self.work, CallSequence) else (self.work,)

    def run(self) -> None:
        """Do the work, and keep what comes of it."""
        try:
            if isinstance(self.work, CallSequence):
                self.result = self.work.make(lambda: len(self.scheduler.trace))
            else:
                self.result = self.work()
        except Aborted:
            raise
        except BaseException as error:
            self.error = error


def ended_with(who: str, error: BaseException) -> Problem:
    """The problem of a thread that an exception has ended."""
    place, _ = place_of(reversed([*traceback.walk_tb(error.__traceback__)]))
    return Problem(FindingKind.EXCEPTION, f"{who} ended with {error_text(error)} ({place})")


def _endless(scheduler: Scheduler) -> str:
    places = []
    for thread in sorted(scheduler.enabled()):
        greenlet = scheduler.actors[thread].greenlet
        if greenlet is not None and greenlet.gr_frame is not None:
            places.append(f"thread {thread + 1} at {place_of(traceback.walk_stack(greenlet.gr_frame))[0]}")
    text = "all go on and on, and it helps nobody"
    return f"{text}; in the end: {', '.join(places)}" if places else text


def _impatient(strategy: Strategy, scheduler: Scheduler, alive: Callable[[], None]) -> Callable[[int], int]:
    """The strategy's choices, asked for also where it lets a thread go on for ever: it may be one that does."""
    is_capped = False
    following = _EVENTS_BETWEEN_SIGNS

    def choose(running: int) -> int:
        nonlocal is_capped, following
        if len(scheduler.trace) >= following:
            following += _EVENTS_BETWEEN_SIGNS
            alive()
        if is_capped and scheduler.left > 0:
            scheduler.left = FOREVER
        chosen = strategy.choose(running)
        is_capped = scheduler.left == FOREVER
        scheduler.left = min(scheduler.left, MOST_ASKED if is_capped else MOST_EVENTS)
        return chosen

    return choose
