"""Runner of interleaved tests: runs the body up to its threads, the threads under a strategy, the rest of the body."""

from __future__ import annotations

import itertools
import sys
import time
import traceback
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final, NoReturn
from unittest import SkipTest

from kcache_model.call_program import Cancelled
from kcache_model.errors import CannotExploreError
from kcache_model.finding import FindingKind
from kcache_model.interleaved_program import LoopContract, Timeouts
from kcache_model.object_types.plain import plain_value

from ..engine.execution import Execution, Problem
from ..engine.preemption_bounded import PreemptionBounded
from ..engine.schedule_replay import Replay
from ..engine.search import SearchLimits, search
from ..engine.strategy import MOST_EVENTS, Coverage, Ending, Strategy
from ..modules.copies import Copies
from ..runtime.tasks.cancellation import Cancellations, TaskName
from ..runtime.tasks.sources import Arrival
from ..runtime.threads.refusal import BYPASSED, is_bypassed, refuse, where
from ..runtime.threads.virtual_thread import Aborted, SetupDeadlockError, UncontrolledError
from ..stacks import variables_of
from ..strategies.partial_order_sampling import PartialOrderSampling
from ..target.scenario_runner import CallSequence, Load, Part, Scenario, ScenarioRunner, Work, ended_with
from .named_test import InterleavedTest
from .running import Ended, ParallelRequest, attempting, controlled, in_threads
from .texts import call_texts, failed_check, short

_LONG_SECONDS: Final = 0.05
"""A wait with at least this timeout, in seconds, is not cut short while other threads can go on: their steps take far
less time in a test."""

MOST_TEST_EVENTS: Final = 300_000
"""Maximum length, in events, of the first execution of a test; it shows how long later executions will be."""

_LONGER: Final = 10
"""An execution counts as endless if it is so many times longer than the longest execution before it. A producer and a
consumer need several times as many events if they wait for each other at each item."""

_MOST_SECONDS: Final = 10.0
"""Maximum processor time of one execution, in seconds. Most tests need less than one second; of longer tests, too few
executions could be run."""

_TOO_LONG: Final = "too long: one execution"

_LONG_EVENTS: Final = 5_000
_VERY_LONG_EVENTS: Final = 20_000
"""An execution of this length takes a few tenths of a second: a budget of 2 s is enough for a handful."""
_FAIR_STEPS: Final = 50

_MOST_SETS: Final = 50
_BIRTH_SAMPLES: Final = 5
"""Random orders in which a test has to pass without a task, so that its cancellation is tried."""
_MOST_ORDERS: Final = 1_000
_MOST_ORDERS_REPORTED: Final = 4


class _Over(BaseException):
    """Exception that ends a body at its call of ``run`` if the rest of the body is not needed."""


class _AsThread(BaseException):
    """Exception that ends a body with more threads than those of one ``run``: the whole body must run as a thread."""


@dataclass
class Shape:
    """Facts about a test that its first executions show; all runners of a test share the object.

    Attributes:
        is_whole: whether the body is a thread itself. It is if it starts threads in more than one place, or without
            calling ``run``.
        is_on_loop: whether the body runs an event loop, and no threads beside it.
        has_threads: whether the body runs an event loop, and threads beside it.
        tolerated: the tasks, or sets of tasks, without which the test passes; ``None`` if not known yet.
        ending: those of them that the test awaits: if they are cancelled before they begin, it is cancelled, too.
        orders: results of the threads run one after another -> these results as text; ``None`` if not compared.
        threads: number of threads that the body starts with ``run``.
        events: number of events of the longest complete execution.
    """

    is_whole: bool = False
    is_on_loop: bool = False
    has_threads: bool = False
    tolerated: frozenset[frozenset[Hashable]] | None = None
    ending: set[frozenset[Hashable]] = field(default_factory=set)
    orders: dict[object, str] | None = None
    threads: int = 0
    events: int = 0


def _run_as_thread() -> NoReturn:
    raise _AsThread


class InterleavedRunner(ScenarioRunner):
    """Runner of one test.

    Most bodies create objects, start threads once, and check the final state. The part before the threads and the part
    after them are not explored, because only one thread runs there: so executions have few events. If a body starts
    threads in other ways, the whole body is the first thread.

    Attributes:
        texts: source of the work of each thread.
        arrivals: what arrived at the event loops of the last execution; ``None`` if threads ran beside them.
        made: local variables of the body when its threads start, if ``shows_variables`` is set, which keeps them alive.
    """

    is_only = True

    def __init__(self, test: InterleavedTest, copies: Copies, shape: Shape, pulse: Callable[[], None]) -> None:
        self.texts: list[str] = []
        self.made: object = None
        self.arrivals: Sequence[Arrival] | None = ()
        self.shows_variables = False
        self._test = test
        self._shape = shape
        self._pulse = pulse
        self._request: ParallelRequest | None = None
        self._state: object = None
        self._parts: Sequence[Part] = ()
        self._strategy: Strategy | None = None
        self._is_learning = False
        self._at_birth: frozenset[Hashable] = frozenset()
        self._began = time.thread_time()
        shape.is_whole = shape.is_whole or test.is_async
        scheduler = copies.sandbox.scheduler
        scheduler.longest, scheduler.ends_any_time = _LONG_SECONDS, test.timeouts is Timeouts.ANY_TIME
        super().__init__(Scenario(test.instrument, self._threads_of), copies, MOST_TEST_EVENTS)
        if not shape.events:  # first a fair schedule: others may let a thread poll for ever
            try:
                self.run(Replay((), _FAIR_STEPS))
            except UncontrolledError as error:  # an execution reports other errors, with its schedule
                if _TOO_LONG in str(error):
                    raise
            self._most_events = max(MOST_EVENTS, self._most_events if shape.events else 0)
        if test.cancellations and shape.tolerated is None:
            self._learn_tolerated()
        if self._request is not None and self._request.is_serializable and shape.orders is None:
            self._learn_orders()

    @property
    def threading(self) -> ModuleType:
        """The virtual ``threading`` module for the body."""
        return self.sandbox.world_module("threading")

    @property
    def time(self) -> ModuleType:
        """The virtual ``time`` module for the body."""
        return self.sandbox.world_module("time")

    def together(self, request: ParallelRequest) -> list[Any]:
        """Run the threads of a call of ``run`` under the strategy and return their results."""
        if self._shape.is_whole:
            return in_threads(self.threading, request)
        if self._parts or self.sandbox.scheduler.actors:
            raise _AsThread
        self._request, self.texts = request, call_texts(request.caller, request.works)
        self._shape.threads = len(request.works)
        if self._strategy is None:
            raise _Over
        if self.shows_variables:
            self.made = SimpleNamespace(**variables_of(request.caller))
        self._parts = self._explored(
            [CallSequence([attempting(self._reported(work))]) for work in request.works], self._strategy
        )
        if self._strategy.ending is not Ending.COMPLETE:
            raise _Over
        # The rest of the body may look whether an object of the threads has died.
        self._request = replace(request, works=())
        for part in self._parts:
            part.forget_work()
        if request.state is not None:
            self._state = plain_value(request.state())
        return request.results(list(map(_end_of, self._parts)))

    def _takes_over(self, code: CodeType, other: CodeType) -> None:
        """Treat ``other``, which replaces ``code``, as instrumented if ``code`` is."""
        codes = self.sandbox.codes
        if id(code) in codes:
            codes[id(other)] = other

    def _reported(self, work: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            self.sandbox.report_call(work)
            return work()

        return work if isinstance(work, (FunctionType, MethodType)) else call

    def unseen(self, what: str, item: object, name: str, frame: FrameType) -> None:
        """Record a step of unknown code for a step of a fixture without events, if more than one thread is running."""
        foreign_code, threads = self.sandbox.foreign_code, self.sandbox.scheduler.actors.values()
        if isinstance(item, (type, ModuleType)):
            foreign_code.rebinds(name)
        if sum(not thread.finished for thread in threads) > 1:
            foreign_code.enter(frame, what, () if item is None else (item,), is_contained=item is not None)

    def refuse(self, why: str, frame: FrameType) -> NoReturn:
        """Refuse the test: it uses something that only pytest can provide."""
        refuse(self.sandbox.scheduler, why, frame)

    @property
    def is_long(self) -> bool:
        """Whether an execution has so many events that only few executions can be run."""
        return self._shape.events > _LONG_EVENTS

    @property
    def is_very_long(self) -> bool:
        """Whether an execution has so many events that only a handful of executions can be run."""
        return self._shape.events > _VERY_LONG_EVENTS

    def alive(self) -> None:
        """Give a sign of life; called now and then while an execution emits events.

        Raises:
            UncontrolledError: the execution takes too much processor time. An execution that is recorded may take more.
        """
        self._pulse()
        if time.thread_time() - self._began > _MOST_SECONDS and not self.shows_variables:
            raise UncontrolledError(f"{_TOO_LONG} takes more than {_MOST_SECONDS:.0f} s of processor time")

    def run(self, strategy: Strategy) -> Execution[object]:
        """Run the test once under ``strategy``. The longest execution so far limits the events of the next ones."""
        if self._shape.events:
            self._most_events = max(MOST_EVENTS, min(_LONGER * self._shape.events, MOST_TEST_EVENTS))
        self._began = time.thread_time()
        shape = self._shape
        # Callbacks of one loop are not interleaved: what they access does not matter, nor which code they run.
        self.sandbox.foreign_code.is_needed = not (shape.is_on_loop or (self._test.is_async and not shape.has_threads))
        execution = super().run(strategy)
        loops = self.sandbox.loops
        shape.has_threads = shape.has_threads or loops.has_threads
        shape.is_on_loop = loops.has_loops and not shape.has_threads
        if execution.ending is Ending.COMPLETE:
            self._shape.events = max(self._shape.events, len(execution.trace))
        return execution

    def _cancellations(self) -> Cancellations:
        """Return what may be cancelled in the next execution: nothing before it is known what the test needs."""
        if not self._test.cancellations:
            return Cancellations()
        tolerated = self._shape.tolerated or frozenset()
        path = "" if self._test.cancelled is Cancelled.ANY else self._test.path
        return Cancellations(self._test.cancellations, path, tolerated, self._at_birth, self._test.is_async)

    def _is_excused(self) -> bool:
        """Whether the test was cancelled because it has awaited a cancelled task."""
        cancellations = self.sandbox.loops.cancellations
        if self._at_birth and cancellations.cancelled:
            self._shape.ending.add(self._at_birth)
        return cancellations.is_awaited or any(each <= {*cancellations.cancelled} for each in self._shape.ending)

    def _learn_tolerated(self) -> None:
        """Run the test with tasks cancelled before they begin, and store the tasks without which it passes."""
        self._shape.tolerated = frozenset()
        tasks: dict[TaskName, None] = {}

        def passes(cancelled: tuple[TaskName, ...]) -> bool:
            self._at_birth = frozenset(cancelled)
            for strategy in (Replay(()), *map(PartialOrderSampling, range(_BIRTH_SAMPLES))):
                with suppress(UncontrolledError):
                    if self.run(strategy).problem is not None:
                        return False
                    tasks.update(dict.fromkeys(self.sandbox.loops.cancellations.tasks))
            return True

        if passes(()):
            tolerated = {frozenset[Hashable]()}
            for size in range(1, self._test.cancellations + 1):
                sets = itertools.islice(itertools.combinations(sorted(tasks), size), _MOST_SETS)
                tolerated |= {frozenset[Hashable](each) for each in sets if passes(each)}
            self._shape.tolerated = frozenset(tolerated)
        self._at_birth = frozenset()

    def outcome(self, execution: Execution[object]) -> object:
        """Return the outcome of the base class and the final state; ``None`` if the results are not plain data."""
        outcome = super().outcome(execution)
        return None if outcome is None else (outcome, self._state)

    def livelock(self, most_events: int) -> None:
        """Return ``None``: the search itself checks whether the threads end if all of them get turns."""

    def _rehearse(self) -> None:
        """Extend the base class: reload the copies if a body was stopped as it started a thread, amid its changes."""
        was_whole = self._shape.is_whole
        super()._rehearse()
        if self._shape.is_whole and not was_whole:
            self.reset.reload()

    def _threads_of(self, load: Load) -> Sequence[Work]:
        """Return the work of each thread that the body starts; the body alone if it must run as a thread."""
        body = self._test.body(load, self._takes_over)
        self._parts, self._strategy = (), None
        if not self._shape.is_whole:
            scheduler = self.sandbox.scheduler
            scheduler.on_idle_start = _run_as_thread  # the body may wait for the thread unnoticed
            try:
                with controlled(self):
                    body()
            except _Over:
                return self._request.works if self._request is not None else ()
            except (Aborted, UncontrolledError):
                raise
            except BaseException as error:  # an execution reports a failure before the threads
                if isinstance(error, SetupDeadlockError) and self._request is not None:
                    raise
            finally:
                scheduler.on_idle_start = lambda: None
            self._shape.is_whole = True
        self.texts = [f"{self._test.attribute}()"]
        return [body]

    def _perform(self, strategy: Strategy) -> tuple[Sequence[Part], Problem | None]:
        self._pulse()
        body = self._then_closed(self._test.body(self._modules.__getitem__, self._takes_over))
        self._parts, self._strategy, self._state = (), strategy, None
        loops = self.sandbox.loops  # here: the sandbox has new ones after a reload
        loops.cancellations, loops.is_patient = self._cancellations(), self._test.timeouts is Timeouts.PATIENT
        loops.is_any_order = self._test.loop is not LoopContract.ASYNCIO
        loops.is_any_time = self._test.loop is LoopContract.IDEAL
        if self._shape.is_whole:
            self.made = SimpleNamespace()
            with controlled(self):
                self._parts = self._explored([CallSequence([attempting(body)])], strategy)
            self.arrivals = None if loops.threads_beside() else loops.arrivals
            if strategy.ending is Ending.COMPLETE and len(self.sandbox.scheduler.actors) == 1:
                self._require_threads(_end_of(self._parts[0]))
            return self._parts, self._problem_of(strategy, _end_of(self._parts[0]).error)
        self._request = self.made = None  # now: the last body's objects must not die in this body
        error: BaseException | None = None
        try:
            with controlled(self):
                body()
        except _Over:
            pass
        except _AsThread:
            return self._as_thread(strategy)
        except (Aborted, UncontrolledError, SetupDeadlockError):
            raise
        except BaseException as raised:
            error = raised
        if not self._parts:
            return self._as_thread(strategy)
        threads = self.sandbox.scheduler.actors.values()
        if strategy.ending is Ending.COMPLETE and not all(thread.finished for thread in threads):
            self.sandbox.scheduler.proof_obstacles[f"{self._test.attribute}: threads still run when the test ends"] = (
                None
            )
        return self._parts, self._problem_of(strategy, error)

    def _then_closed(self, body: Callable[[], Any]) -> Callable[[], Any]:
        """Return a function that calls the body and closes the event loops that it leaves open."""

        def call() -> Any:
            try:
                return body()
            finally:
                self.sandbox.loops.close()

        return call

    def _as_thread(self, strategy: Strategy) -> tuple[Sequence[Part], Problem | None]:
        """Repeat the execution with the whole body as a thread."""
        self._shape.is_whole, self._threads, self.texts = True, 1, [f"{self._test.attribute}()"]
        self.sandbox.reset(1)
        return self._perform(strategy)

    def _require_threads(self, end: Ended) -> None:
        if end.error is None:
            raise UncontrolledError(
                f"{self._test.attribute} starts no threads: there is nothing to interleave; start threads with "
                "kcache.testing.run(...) or threading.Thread"
            )

    def _problem_of(self, strategy: Strategy, error: BaseException | None) -> Problem | None:
        if strategy.ending in (Ending.REDUNDANT, Ending.INFEASIBLE):
            return None
        if is_skip(error) or (_is_cancellation(error) and self._is_excused()):
            return None
        bad = next(filter(is_bypassed, (error, *self.sandbox.scheduler.failures)), None)
        if bad is not None and self.sandbox.network.numbers:
            *_, (frame, _) = traceback.walk_tb(bad.__traceback__)
            raise UncontrolledError(f"{where(frame)} {BYPASSED}")
        if isinstance(error, AssertionError):
            return Problem(FindingKind.FAILURE, failed_check(error))
        if error is not None:
            return _failure(self._who(error), error)
        failure = self._test.unusual(self.sandbox.scheduler.failures)
        if failure is not None:
            return _failure("a thread of the code under test", failure)
        if strategy.ending is not Ending.COMPLETE:
            return self._standstill(strategy.ending, strategy.most_events)
        return self._compared()

    def _who(self, error: BaseException) -> str:
        own = (number for number, part in enumerate(self._parts) if error in (part.error, _end_of(part).error))
        thread = next(own, None)
        return "the test" if thread is None or self._shape.is_whole else f"thread {thread + 1}, {self.texts[thread]},"

    def _learn_orders(self) -> None:
        """Run the threads one after another, in all orders, and store the results.

        Raises:
            CannotExploreError: there are too many orders.
        """
        self._shape.orders, self._is_learning = {}, True
        result = search(self, PreemptionBounded(0), None, SearchLimits(_MOST_ORDERS))
        self._is_learning = False
        if result.coverage is Coverage.BUDGET_SPENT and result.problem is None:  # correct results could be reported
            self._shape.orders = None
            raise CannotExploreError(
                f"{self._test.attribute} compares its results with more than {_MOST_ORDERS} orders of its threads: "
                "compare the results of fewer threads, or check the results in the test"
            )

    def _compared(self) -> Problem | None:
        """Return the problem if results are compared and no sequential order of the threads has these results."""
        orders = self._shape.orders
        if orders is None or self._request is None or not self._request.is_serializable:
            return None
        ends = list(map(_end_of, self._parts))
        outcome = compared(ends, self._state)
        text = ", ".join(map(str, ends))
        if self._request.state is not None:
            text += f", and the state was {short(self._state)}"
        if self._is_learning:
            orders.setdefault(outcome, text)
            return None
        if outcome in orders:
            return None
        some = "; or ".join(list(orders.values())[:_MOST_ORDERS_REPORTED])
        return Problem(
            FindingKind.NONLINEARIZABLE, f"the threads returned {text}; one after another, they return {some}"
        )


def compared(ends: Sequence[Ended], state: object) -> object:
    """Return the results of threads and the final state as a hashable value for comparisons."""
    return tuple((end.raised, plain_value(end.value)) for end in ends), plain_value(state)


def is_skip(error: BaseException | None) -> bool:
    """Whether an exception skips a test, or declares its failure as expected (``pytest.xfail``)."""
    outcomes = sys.modules.get("_pytest.outcomes")
    of_pytest = () if outcomes is None else (outcomes.Skipped, outcomes.XFailed)
    return isinstance(error, (SkipTest, *of_pytest))


def _is_cancellation(error: BaseException | None) -> bool:
    """Whether a test has ended because it waited for a task that was cancelled."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def _failure(who: str, error: BaseException) -> Problem:
    return replace(ended_with(who, error), kind=FindingKind.FAILURE, rule="unexpected-error")


def _end_of(part: Part) -> Ended:
    """Return the result of a thread."""
    if part.error is not None:
        return Ended(raised=type(part.error).__name__, error=part.error)
    assert isinstance(part.work, CallSequence)
    end = part.work.outcomes[0] if part.work.outcomes else Ended()
    assert isinstance(end, Ended)
    return end
