"""Runner of scenarios: their threads run any code, not only calls of an Indexer.

A scenario names the modules to instrument, the work of its threads, and the condition that must hold when the threads
have ended. Each execution repeats the setup, so that its behaviour depends on its schedule alone.
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
from ..runtime.threads.polling import missed_look
from ..runtime.threads.scheduler import MOST_PROGRAM_THREADS, Scheduler
from ..runtime.threads.standstill import Watched
from ..runtime.threads.user_place import place_of
from ..runtime.threads.virtual_thread import Aborted, SetupDeadlockError, UncontrolledError
from ..runtime.waits import waits

Load: TypeAlias = "Callable[[str | Path], ModuleType]"
"""Function that returns the private copy of a module: of an instrumented module (by name or file), or of ``threading``,
``queue`` or ``time``."""

_TIMEOUTS: Final = 2
_EVENTS_BETWEEN_SIGNS: Final = 2_000
"""After this many events, :meth:`ScenarioRunner.alive` is called: it shows a watch for hangs that events go on."""


class CallSequence:
    """Work of a thread that is a sequence of calls. The execution records the span and the result of each call.

    Args:
        calls: functions without parameters; each performs one call and returns its result.
    """

    def __init__(self, calls: Sequence[Callable[[], object]]) -> None:
        self.calls = calls
        self.spans: list[tuple[int, int]] = []
        self.outcomes: list[object] = []

    def make(self, clock: Callable[[], int]) -> list[object]:
        """Perform the calls, and return their results; ``clock`` returns the number of events so far."""
        for call in self.calls:
            begun = clock()
            self.outcomes.append(call())
            self.spans.append((begun, clock()))
        return self.outcomes


Work: TypeAlias = "Callable[[], object] | CallSequence"
"""Work of one thread."""


@dataclass(frozen=True)
class Scenario:
    """Threads to run, and the condition that their results must meet.

    Attributes:
        instrument: the packages and modules whose code is copied and instrumented; dotted names are allowed.
        setup: takes ``load``, creates the objects that the threads share, and returns the work of each thread. It runs
            alone before each execution and must do the same each time. Modules are copied once: executions share
            everything that ``setup`` does not create, such as the globals of modules.
        check: is called when all threads have ended, with their results in the order of ``setup``. It returns the
            failure as a sentence or a :class:`~kcache_model.rules.BrokenRule`, or ``None``.
    """

    instrument: tuple[str, ...]
    setup: Callable[[Load], Sequence[Work]]
    check: Callable[[list[object]], object] = lambda _: None


class ScenarioRunner(InSandbox):
    """Runner of one scenario, which can be run any number of times.

    Attributes:
        sandbox: the sandbox that holds its modules.
        reset: removes the values that executions leave in the modules.
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
        known = copies.rehearsed.get(self.calls_made)  # if a late execution meets unknown code, the search begins anew
        if known is None:
            self._rehearse()
        else:
            self._threads = known
        self.reset.begin()
        if known is None and not (self.sandbox.is_strict or self.sandbox.granularity.is_of_opcodes):
            with contextlib.suppress(UncontrolledError):  # the search will raise it again
                self.run(Replay(()))
        self.reset.reload_if_needed(is_strict=is_strict)
        if self.calls_made is not self._own:
            copies.rehearsed[self.calls_made] = self._threads

    @property
    def calls_made(self) -> Hashable:
        """Key of the threads' work; programs with equal keys run mostly the same code."""
        return self._own

    @property
    def equal_actors(self) -> EqualActors:
        """Threads with the same work, if exchanging them cannot change the result of the check."""
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
        # The check after the threads may wait for ever, too.
        is_stuck = problem is not None and (strategy.ending is Ending.ENDLESS or problem.kind is FindingKind.DEADLOCK)
        ending = Ending.DEADLOCK if is_stuck else strategy.ending
        return Execution(
            ending,
            scheduler.trace,
            len(scheduler.actors),
            [part.work.spans if isinstance(part.work, CallSequence) else [] for part in parts],
            [part.work.outcomes if isinstance(part.work, CallSequence) else [part.result] for part in parts],
            problem=problem,
            waits=waits(scheduler) if ending is Ending.DEADLOCK else (),
            timeouts=scheduler.timeouts,
            timeouts_withheld=scheduler.timeouts_withheld or missed_look(scheduler),
            was_patient=scheduler.was_patient,
            preemptions=scheduler.preemptions,
            proof_obstacles=self.sandbox.proof_obstacles,
            hurry="" if scheduler.ends_any_time else scheduler.haste.observation,
            seconds=scheduler.now - scheduler.polled,
        )

    def _perform(self, strategy: Strategy) -> tuple[Sequence[Part], Problem | None]:
        """Perform one execution from setup to check; return the parts of the threads, and the problem if any."""
        parts = self._explored(self._scenario.setup(self._modules.__getitem__), strategy)
        try:
            return parts, self._problem(strategy.ending, parts, strategy.most_events)
        except SetupDeadlockError as error:
            if isinstance(error.waitable, OutsideWakeup):
                raise
            return parts, Problem(FindingKind.DEADLOCK, str(error))

    def _explored(self, works: Sequence[Work], strategy: Strategy) -> Sequence[Part]:
        """Run the threads under ``strategy``, and return the part of each, with its result or error."""
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
        """Handle a sign of life: called every few thousand events of an execution; does nothing here."""

    def outcome(self, execution: Execution[object]) -> object:
        """Return the results of the threads; the ending if not COMPLETE, ``None`` if results are not plain data."""
        if execution.ending is not Ending.COMPLETE:
            return execution.ending
        try:
            return tuple(map(plain, execution.outcomes))
        except TypeError:
            return None

    def clean_up(self) -> None:
        """Unwind the threads of the last execution, and undo its changes of the copies."""
        self.sandbox.reset(self._threads)
        self._copies.undo()

    def _rehearse(self) -> None:
        """Run ``setup`` until it loads the same copies twice: loading a module may change how others are rewritten."""
        before: object = None
        while before != self._modules:
            before = dict(self._modules)
            self.clean_up()
            try:
                with self.sandbox.locks, self.sandbox.loops, import_settings_restored():
                    self._threads = len(self._scenario.setup(self._load))
            except SetupDeadlockError:
                return  # each execution reports this deadlock
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
        """Return the livelock of an endless execution; ``None`` if some thread that could run did not run lately."""
        if self.sandbox.granularity.is_of_opcodes:
            return None  # an ordinary execution may have this many opcodes
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
        """Return the problem of an execution whose threads did not all end.

        Raises:
            UncontrolledError: a thread waits for something outside the sandbox, and no cycle of waits is the cause.
        """
        if ending is Ending.DEADLOCK:
            all_waits = waits(self.sandbox.scheduler)
            outside = next((wait for wait in all_waits if wait.what == OUTSIDE and not cycle(all_waits)), None)
            if outside is not None:
                raise UncontrolledError(f"{outside.where} waits for {OUTSIDE}")
            return Problem(FindingKind.DEADLOCK, standstill_text(all_waits))
        return self.livelock(most_events) if ending is Ending.ENDLESS else None


class _ScenarioJudge:
    """Judge of scenarios: it reports the problem that the runner found."""

    def judge(self, execution: Execution[object], order: HappensBefore | None = None) -> Problem | None:  # noqa: ARG002
        """Return the problem of an execution; the order of calls is not used."""
        return execution.problem


SCENARIO_JUDGE: Final = _ScenarioJudge()


@dataclass
class Part:
    """The work of one thread, and its outcome.

    Attributes:
        work: the work.
        scheduler: the scheduler of the thread.
        result: the return value of a function, or the list of the results of a call sequence.
        error: the exception that the work raised; ``None`` if it raised none.
    """

    work: Work
    scheduler: Scheduler
    result: object = None
    error: BaseException | None = None

    @property
    def functions(self) -> Sequence[object]:
        """The functions that the thread calls."""
        return self.work.calls if isinstance(self.work, CallSequence) else (self.work,)

    def forget_work(self) -> None:
        """Drop the functions of a call sequence that has ended: they refer to objects of the target."""
        if isinstance(self.work, CallSequence):
            self.work.calls = ()

    def run(self) -> None:
        """Do the work, and store its result or its exception; :class:`Aborted` passes through."""
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
    """Create the problem of a thread that ended with an exception; ``who`` names the thread."""
    place, _ = place_of(reversed([*traceback.walk_tb(error.__traceback__)]))
    return Problem(FindingKind.EXCEPTION, f"{who} ended with {error_text(error)} ({place})")


def _endless(scheduler: Scheduler) -> str:
    places = []
    for thread in sorted(scheduler.enabled()):
        greenlet = scheduler.actors[thread].greenlet
        if greenlet is not None and greenlet.gr_frame is not None:
            places.append(f"thread {thread + 1} at {place_of(traceback.walk_stack(greenlet.gr_frame))[0]}")
    text = "all threads run forever without progress"
    return f"{text}; at the end: {', '.join(places)}" if places else text


def _impatient(strategy: Strategy, scheduler: Scheduler, alive: Callable[[], None]) -> Callable[[int], int]:
    """Wrap the strategy's choices so that it is asked regularly even if it sets no limit: a thread may never end.

    The wrapper also calls ``alive`` every few thousand events.
    """
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
