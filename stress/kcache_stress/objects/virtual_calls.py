"""Replay of calls on virtual threads and the virtual clock: a call that waits or sleeps takes no real time.

Each caller is a virtual thread. A call runs until it ends or waits; the threads that it has woken run next, until each
of them ends or waits, too. Virtual time passes only if a step of the replay requires it, or if a call sleeps: no call
can end a sleep, so no other call needs to begin during it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from kcache_model.errors import CannotExploreError
from kcache_model.history import PREFIX_THREAD
from kcache_model.object_types.checking import callbacks_of
from kcache_model.object_types.object_type import Driver, Load
from kcache_model.object_types.replay_steps import Begun, CalledBy, Calls, History, Overtaken, Passes, Stage
from kcache_model.outcomes import WAITS, Outcome

from ..engine.strategy import MOST_EVENTS
from ..modules.copies import Copies
from ..modules.sandbox import Sandbox
from ..runtime.threads.deadlines import next_timeouts
from ..runtime.threads.scheduler import TICK
from ..runtime.threads.standstill import WORKS, Watched
from ..runtime.threads.virtual_thread import SetupDeadlockError, Timed, UncontrolledError
from ..target.scenario_runner import Load as Loads
from ..target.scenario_runner import Scenario, ScenarioRunner
from .direct_access import report_direct_access
from .directing import Choices, Director, Lost, Made
from .named_target import Place
from .open_blocks import abandon_blocks
from .own_threads import Orders, OwnThreads
from .refusals import Refusals
from .resting_loop import RestingLoop

T = TypeVar("T")

_MOST_PASSES: Final = 1_000
"""Limit of waits that time out within one call. If a call still waits then, it polls: it waits for another thread."""

_SPINNING_BEATS: Final = 20
"""Tenths of a second of work without any event, after which a call counts as endless: calls are short."""

_FEW_PASSES: Final = 50
"""If more waits than this timed out in one step, and a call has not ended after ``MOST_EVENTS`` events, it polls."""

_OTHER_TIME: Final = 86_400_000.0
_OTHER_TICK: Final = 1.7e-6
"""The clock of replays that run ``elsewhere``: if the outcome of a call depends on the time, it differs there."""

_OTHER_THREADS: Final = 8
"""Number of idle threads in replays that run ``elsewhere``. It exceeds the number of threads of a program, so that each
caller has another thread ident."""


class MakesDriver(Protocol):
    """Function that creates a new object with a factory, and the driver of the object."""

    def __call__(
        self, factory: Callable[[], Any], /, *, load: Load, passing: tuple[type[BaseException], ...]
    ) -> Driver:
        """Return the driver of a new object."""
        ...


class VirtualCalls:
    """Replays of calls on new objects of a private copy of a target.

    Args:
        place: the place of the code of the target.

    Attributes:
        keeps_driver: whether the driver of a replay is kept until the next replay, to query results.
        driver: the driver of the last replay, if it was kept.
        spinning: the names of calls that run endlessly without any event: they are not made again.
        polling: the names of calls that have slept again and again in a replay, in loops that may change something.
        starts_threads: whether in some replay there was a thread other than the callers.
        reads_clock: whether the clock was read in the last replay.
        is_timed: whether in some replay the clock was read or time has passed.
        has_read_clock: whether in some replay the clock was read.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._runner: ScenarioRunner | None = None
        self._load_anew()
        self._make_driver: MakesDriver
        self._made: Driver | None = None
        self.driver: Driver | None = None
        self.keeps_driver = False
        self.spinning: set[str] = set()
        self.polling: set[str] = set()
        self.starts_threads = self.reads_clock = self.has_read_clock = self.is_timed = False
        self._is_out_of_reach = False

    def replay(self, steps: Calls, driver: MakesDriver, *, elsewhere: int = 0) -> Stage | None:
        """Take the steps on a new object; return ``None`` if virtual threads cannot determine the outcomes.

        If one of the calls is known to run endlessly without any event, all outcomes are ``WAITS``.

        Args:
            steps: see :mod:`kcache_model.object_types.replay_steps`.
            driver: creates the object and the driver that makes the calls.
            elsewhere: seed of random numbers; if odd, thread idents and the clock differ as well.
        """
        calls = [call for step in steps for call in _calls_of(step)]
        if not self._may_spin(calls):
            try:
                stage = self._with_errors_told(lambda: self._replayed(steps, calls, driver, elsewhere))
                if stage is not None and not stage.is_quiet:
                    self.polling.update(map(_name, calls[-1:]))
                return stage
            except _SpinsError:
                self.spinning.update(map(_name, calls[-1:]))
        return Stage(tuple(tuple(WAITS for _ in _calls_of(step)) for step in steps), timeouts=0, is_quiet=False)

    def in_passing(self, calls: Calls, driver: MakesDriver, *, elsewhere: int) -> tuple[Outcome, ...]:
        """Make calls one after another on a new object, and return the outcome of each until one waits.

        If anything unusual happens, nothing is returned: :meth:`replay` tells what. For the arguments see there.
        """
        if self._is_out_of_reach or self._may_spin(calls):
            return ()
        try:
            stage = self._replayed(calls, calls, driver, elsewhere)
        except UncontrolledError as error:
            if WORKS in str(error):
                self._load_anew()
            return ()
        except (CannotExploreError, SetupDeadlockError):
            return ()
        if stage is None or not stage.is_quiet:
            return ()
        ended = tuple(outcome for (outcome,) in stage.outcomes[: stage.ended])
        return ended if len(ended) == len(calls) else (*ended, WAITS)

    def explains(self, history: History, driver: MakesDriver, pulse: Callable[[], None]) -> bool | None:
        """Whether the outcomes of calls are possible; ``None`` if this is unknown. See :mod:`~.own_threads`.

        Args:
            history: the calls and their outcomes.
            driver: creates the object and the driver that makes the calls.
            pulse: called before each order that is tried.
        """
        calls = [call.operation for call in history.calls]
        orders = Orders(history)
        is_told = not self._may_spin(calls)
        try:
            while is_told and orders.has_more:
                pulse()
                is_told = bool(self._with_errors_told(lambda: self._tried(orders, calls, driver)))
        except _SpinsError:
            is_told = False
        return orders.verdict if is_told else None

    def _may_spin(self, calls: Sequence[CalledBy]) -> bool:
        """Whether one of the calls is known to run endlessly without any event."""
        return any(_name(call) in self.spinning for call in calls)

    def _with_errors_told(self, run: Callable[[], T]) -> T | None:
        """Return the result of a run; ``None`` if virtual threads cannot determine it, now or in an earlier run.

        Raises:
            _SpinsError: one of the calls runs endlessly without any event.
        """
        if self._is_out_of_reach:
            return None
        try:
            return run()
        except UncontrolledError as error:
            if WORKS in str(error):
                self._load_anew()
                raise _SpinsError from error
        except (CannotExploreError, SetupDeadlockError):
            pass
        self._is_out_of_reach = True
        return None

    def _load_anew(self) -> None:
        self._copies = Copies(self._place.instrument, folder=self._place.folder)
        self._copies.sandbox.scheduler.is_patient = lambda: False
        self._runner = None

    def _replayed(self, steps: Calls, calls: Sequence[CalledBy], driver: MakesDriver, elsewhere: int) -> Stage | None:
        directors: list[_Director] = []

        def direct(threads: Mapping[int, int]) -> _Director:
            scheduler = self._copies.sandbox.scheduler
            began = scheduler.now
            made = self._make()
            scheduler.settle()
            directors.append(_Director(self._copies.sandbox, made, steps, threads, began))
            return directors[0]

        return directors[0].stage if self._directed(direct, calls, driver, elsewhere) else None

    def _tried(self, orders: Orders, calls: Sequence[CalledBy], driver: MakesDriver) -> bool:
        def direct(threads: Mapping[int, int]) -> OwnThreads:
            return OwnThreads(self._copies.sandbox, self._make, threads, orders)

        return self._directed(direct, calls, driver, first=(PREFIX_THREAD,))

    def _directed(
        self,
        direct: Callable[[Mapping[int, int]], Director],
        calls: Sequence[CalledBy],
        driver: MakesDriver,
        elsewhere: int = 0,
        first: tuple[int, ...] = (),
    ) -> bool:
        """Run calls on a new object under a director. Return whether the outcomes of the calls are known.

        Args:
            direct: creates the director, from a mapping: caller -> number of its virtual thread.
            calls: all calls.
            driver: creates the object and the driver that makes the calls.
            elsewhere: see :meth:`replay`.
            first: callers with the first numbers, even if they make none of the calls.
        """
        self._make_driver = driver
        if self._runner is None:
            self._runner = ScenarioRunner(Scenario((), self._set_up), self._copies)
        sandbox = self._copies.sandbox
        scheduler = sandbox.scheduler
        callers = list(dict.fromkeys((*first, *(call.thread for call in calls))))
        idle = _OTHER_THREADS if elsewhere % 2 else 0
        with sandbox.present(), Watched(scheduler, _SPINNING_BEATS):
            sandbox.reset(idle + len(callers), random_seed=elsewhere)
            if elsewhere % 2:
                scheduler.now, scheduler.tick, scheduler.ident_gap = _OTHER_TIME, _OTHER_TICK, _OTHER_THREADS
            began = scheduler.now
            try:
                director = direct({who: idle + at for at, who in enumerate(callers)})
                scheduler.watcher = None
                scheduler.explore([_nothing] * idle + director.works, director.choose, timeouts=0, ties=0)
                is_lost = director.is_lost or bool(scheduler.proof_obstacles)
                self.reads_clock = scheduler.polled > 0
                self.has_read_clock = self.has_read_clock or self.reads_clock
                self.is_timed = self.is_timed or self.reads_clock or scheduler.now != began
                self.starts_threads = self.starts_threads or sandbox.loops.threads_beside() > idle + len(callers)
            finally:
                abandon_blocks(self._made, scheduler)
                self.driver, self._made = (self._made if self.keeps_driver else None), None
                sandbox.unwind()
                scheduler.tick, scheduler.ident_gap = TICK, 0
        return not is_lost

    def _make(self) -> Driver:
        self._set_up(self._copies.modules.__getitem__)
        assert self._made is not None
        return self._made

    def _set_up(self, load: Loads) -> Sequence[Callable[[], None]]:
        factory = self._place.factory(load(self._place.module))
        self._made = self._make_driver(factory, load=load, passing=(SetupDeadlockError,))
        return ()


class _SpinsError(Exception):
    """A call runs endlessly without any event: the scheduler cannot observe it, and no timeout ends it."""


def _name(call: CalledBy) -> str:
    return str(getattr(call.operation, "name", call.operation))


def _nothing() -> None:
    return None


def _calls_of(step: Any) -> tuple[CalledBy, ...]:
    if isinstance(step, Passes):
        return ()
    if isinstance(step, Overtaken):
        return (step.slow, *step.calls)
    return (step.call if isinstance(step, Begun) else step,)


class _Polls(Exception):
    """A call sleeps again and again: it polls for another thread, and no further call can begin meanwhile."""


class _Director(Director):
    """Director of a replay: takes the steps of the replay one after another.

    Args:
        sandbox: contains the threads.
        driver: makes the calls.
        steps: the steps to take.
        threads: caller -> number of its virtual thread.
        created: the virtual time at which the object was created.

    Attributes:
        stage: the results of the steps.
    """

    def __init__(
        self, sandbox: Sandbox, driver: Driver, steps: Calls, threads: Mapping[int, int], created: float
    ) -> None:
        super().__init__(sandbox.scheduler, threads)
        self._sandbox = sandbox
        self._created = created
        self._driver = driver
        self._steps = steps
        self._paused = -1
        self._loops: dict[int, RestingLoop] = {}
        self._passes = 0
        self._calls: list[tuple[Made, ...]] = []
        self._seconds: list[float] = []
        self._refused: list[bool] = []
        self._ended = 0
        self.stage = Stage((), 0, is_quiet=False)

    def directed(self) -> Choices:
        """Yield the threads that continue, step by step."""
        try:
            yield from self._directed()
        except _Polls:
            self.stage = self._stage(is_quiet=False)
        else:
            self.stage = self._stage(is_quiet=True)

    def make(self, call: CalledBy) -> Outcome:
        """Make a call and return its outcome."""
        if self._paused >= 0:  # what it reads may be what the paused call has written
            report_direct_access(self._driver.made, call.operation, self._sandbox)
        return self._driver.call(call.operation, call.thread)

    def _stage(self, *, is_quiet: bool) -> Stage:
        outcomes = tuple(tuple(call.outcome for call in calls) for calls in self._calls)
        timeouts, seconds = len(self._next_timeouts()), tuple(self._seconds)
        numbered = [(at, call) for at, calls in enumerate(self._calls) for call in calls[:1]]
        holders = [(at, self.holder(call), self.threads[call.by.thread]) for at, call in numbered]
        by_others = frozenset(at for at, holder, own in holders if holder not in (None, own))
        own = frozenset(at for at, holder, own in holders if holder == own)
        return Stage(outcomes, timeouts, is_quiet, seconds, tuple(self._refused), by_others, own, self._ended)

    def _directed(self) -> Choices:
        self._calls = [tuple(map(Made, _calls_of(step))) for step in self._steps]
        for step, calls in zip(self._steps, self._calls, strict=True):
            self._passes = 0
            for call in calls[:1]:
                yield from self._idle_until(self._created + call.by.earliest)
            began, self._passes = self.scheduler.now, 0
            if isinstance(step, Overtaken):
                yield from self._overtake(step, calls)
            elif isinstance(step, Passes):
                yield from self._pass(step.wait)
            else:
                if isinstance(step, Begun) and step.may_sleep:
                    self._loops[self.threads[step.call.thread]] = RestingLoop()
                yield from self._begin(calls[0])
                if not (isinstance(step, Begun) and step.is_alone):
                    yield from self._settle()
                if not isinstance(step, Begun):
                    yield from self._wait_for(calls[0])
                    self._ended += self._ended == len(self._seconds) and not calls[0].outcome.waits
            self._seconds.append(self.scheduler.now - began)

    def _overtake(self, step: Overtaken, calls: tuple[Made, ...]) -> Choices:
        """Pause the slow call, and make the other calls meanwhile; then let the slow call continue.

        If the slow call cannot continue after the pause, no other call is made: the outcomes stay ``WAITS``.

        Raises:
            Lost: another call is neither refused nor may as well come before the slow call.
        """
        self._refused = []
        slow = self.threads[step.slow.thread]
        runs_function = bool(callbacks_of(step.slow))
        refusals = Refusals(self.scheduler, self._driver.made, slow, runs_function=runs_function)
        yield from self._begin(calls[0], step.at)
        is_paused = calls[0].outcome.waits and self.scheduler.actors[slow].enabled
        if not is_paused:
            return
        self._paused = slow
        for call in calls[1:]:
            passes, position = self._passes, len(self.scheduler.trace)
            yield from self._begin(call)
            yield from self._settle()
            yield from self._wait_for(call)
            number = self.threads[call.by.thread]
            is_refused = self._passes > passes or refusals.is_refused(number, position)
            is_before = any(self._refused) and refusals.commutes(number, position)
            if call.outcome.waits or not (is_refused or is_before):
                raise Lost
            self._refused.append(is_refused)
        self._paused = -1
        yield from self._run(slow)
        yield from self._settle()
        if not (calls[0].outcome.waits or refusals.are_set_back()):
            raise Lost

    def _begin(self, call: Made, events: int = MOST_EVENTS) -> Choices:
        number = self.give(call)
        if events < MOST_EVENTS:
            self.scheduler.left = events
            yield number
        else:
            yield from self._run(number)

    def _run(self, number: int) -> Choices:
        """Let a thread continue until it ends or waits; if it polls, also until it rests."""
        loop = self._loops.get(number)
        if loop is None:
            return self.go_on(number)
        return self.go_on(number, 1, lambda _: loop.rests_at(self.scheduler.actors[number]))

    def endless(self) -> Exception:
        """Return ``_Polls`` if time has passed more than ``_FEW_PASSES`` times in this step, else :class:`Lost`."""
        return _Polls() if self._passes > _FEW_PASSES else Lost()

    def _settle(self) -> Choices:
        """Let all threads continue that can; while a caller sleeps, let time pass."""
        while True:
            while (ready := self._ready()) >= 0:
                yield from self._run(ready)
            if not any(map(self._sleeps, self.turns)):
                return
            yield from self._pass_once()

    def _wait_for(self, call: Made) -> Choices:
        """Let time pass until a call ends, or no wait with a timeout remains."""
        while call.outcome.waits and self._next_timeouts():
            yield from self._pass()

    def _idle_until(self, moment: float) -> Choices:
        """Let time pass until a moment; waits whose timeout comes earlier end in between."""
        threads, in_vain = self.scheduler.actors, self.scheduler.haste.in_vain
        while any(
            isinstance(thread.waits_for, Timed) and thread.waits_for.deadline <= moment
            for number, thread in threads.items()
            if not thread.finished and number != self._paused and number not in in_vain
        ):
            yield from self._pass()
        self.scheduler.now = max(self.scheduler.now, moment)

    def _pass(self, wait: int = 0) -> Choices:
        yield from self._pass_once(wait)
        yield from self._settle()

    def _pass_once(self, wait: int = 0) -> Choices:
        """Let the wait with the next timeout end; ``wait`` selects among waits that end at about the same time."""
        self._passes += 1
        if self._passes > _MOST_PASSES:
            raise _Polls
        for number in self._next_timeouts()[wait : wait + 1]:
            yield from self._run(number)

    def _ready(self) -> int:
        threads = self.scheduler.actors.items()
        held = {self._paused, *self._resting()}
        return next((number for number, thread in threads if thread.enabled and number not in held), -1)

    def _resting(self) -> list[int]:
        return [number for number, loop in self._loops.items() if loop.rests]

    def _sleeps(self, number: int) -> bool:
        return self.is_asleep(number) and number != self._paused and number not in self._loops

    def _next_timeouts(self) -> list[int]:
        threads = self.scheduler.actors.items()
        others = {number: thread for number, thread in threads if number != self._paused}
        return [*self._resting(), *next_timeouts(others, self.scheduler.now, in_vain=self.scheduler.haste.in_vain)]
