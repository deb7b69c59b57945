"""The runner of interleaved tests: the body up to its threads, the threads under a strategy, the rest of the body."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final, NoReturn
from unittest import SkipTest

from kcache_model.errors import CannotExploreError
from kcache_model.finding import FindingKind
from kcache_model.object_types.plain import plain_value

from ..engine.execution import Execution, Problem
from ..engine.preemption_bounded import PreemptionBounded
from ..engine.schedule_replay import Replay
from ..engine.search import SearchLimits, search
from ..engine.strategy import MOST_EVENTS, Coverage, Ending, Strategy
from ..modules.copies import Copies
from ..runtime.threads.refusal import BYPASSED, is_bypassed, refuse, where
from ..runtime.threads.virtual_thread import Aborted, SetupDeadlockError, UncontrolledError
from ..stacks import variables_of
from ..target.scenario_runner import CallSequence, Load, Part, Scenario, ScenarioRunner, Work, ended_with
from .named_test import InterleavedTest
from .running import Ended, Together, attempting, controlled, in_threads
from .texts import call_texts, failed_check, short

_LONG_SECONDS: Final = 0.05
"""Who waits so long for something waits for as long as it takes: what a test does takes far less."""

MOST_TEST_EVENTS: Final = 300_000
"""How long the first execution of a test may be, which shows how long the others will be."""

_LONGER: Final = 10
"""An execution counts as endless when it is so many times longer than the longest one before it. A producer and a
consumer take several times as long if they wait for each other at each item."""

_MOST_SECONDS: Final = 10.0
"""Of processor time in one execution: few could be run, and most tests take less than a second."""

_TOO_LONG: Final = "too long: one execution"

_LONG_EVENTS: Final = 5_000
_VERY_LONG_EVENTS: Final = 20_000
"""One execution takes a few tenths of a second: a budget of 2 s is enough for a handful."""
_FAIR_STEPS: Final = 50

_MOST_ORDERS: Final = 1_000
_MOST_ORDERS_TOLD: Final = 4


class _Over(BaseException):
    """Ends a body whose threads have shown all that there is to see."""


class _AsThread(BaseException):
    """Ends a body that starts threads elsewhere, too: all of it has to run in a thread."""


@dataclass
class Shape:
    """How a test is run, which its first execution shows; all runners of a test share it.

    Attributes:
        is_whole: its body is a thread itself, because it starts threads in more than one place, or by itself.
        orders: where results are compared: what the threads give one after another -> in which order.
        threads: how many its body asks for, where it is none itself.
        events: of its longest execution that came to its end.
    """

    is_whole: bool = False
    orders: dict[object, str] | None = None
    threads: int = 0
    events: int = 0


def _run_as_thread() -> NoReturn:
    raise _AsThread


class InterleavedRunner(ScenarioRunner):
    """Runs one test again and again.

    Most bodies make something, ask for threads once, and look at what is left. The first part and the last one run
    outside of the exploration, for nothing happens at the same time: it takes few steps then. Where that does not
    hold, the whole body is the first thread.

    Attributes:
        texts: what each thread does.
        made: the local variables of the body as its threads start, if ``shows_variables``: it holds them.
    """

    is_only = True

    def __init__(self, test: InterleavedTest, copies: Copies, shape: Shape, pulse: Callable[[], None]) -> None:
        self.texts: list[str] = []
        self.made: object = None
        self.shows_variables = False
        self._test = test
        self._shape = shape
        self._pulse = pulse
        self._asked: Together | None = None
        self._left: object = None
        self._parts: Sequence[Part] = ()
        self._strategy: Strategy | None = None
        self._is_learning = False
        self._began = time.thread_time()
        copies.sandbox.scheduler.longest = _LONG_SECONDS
        super().__init__(Scenario(test.instrument, self._threads_of), copies, MOST_TEST_EVENTS)
        if not shape.events:  # no thread may wait for ever for another one, as some do in the first execution
            try:
                self.run(Replay((), _FAIR_STEPS))
            except UncontrolledError as error:  # what else it was shows in a schedule that tells where
                if _TOO_LONG in str(error):
                    raise
            self._most_events = max(MOST_EVENTS, self._most_events if shape.events else 0)
        if self._asked is not None and self._asked.is_serializable and shape.orders is None:
            self._learn_orders()

    @property
    def threading(self) -> ModuleType:
        """The ``threading`` of the body."""
        return self.sandbox.world_module("threading")

    @property
    def time(self) -> ModuleType:
        """The ``time`` of the body."""
        return self.sandbox.world_module("time")

    def together(self, asked: Together) -> list[Any]:
        """Run the threads that the body asks for; what each returned."""
        if self._shape.is_whole:
            return in_threads(self.threading, asked)
        if self._parts or self.sandbox.scheduler.actors:
            raise _AsThread
        self._asked, self.texts = asked, call_texts(asked.caller, asked.works)
        self._shape.threads = len(asked.works)
        if self._strategy is None:
            raise _Over
        if self.shows_variables:
            self.made = SimpleNamespace(**variables_of(asked.caller))
        self._parts = self._explored(
            [CallSequence([attempting(self._reported(work))]) for work in asked.works], self._strategy
        )
        if self._strategy.ending is not Ending.COMPLETE:
            raise _Over
        if asked.state is not None:
            self._left = plain_value(asked.state())
        return asked.results(list(map(_end_of, self._parts)))

    def _takes_over(self, code: CodeType, other: CodeType) -> None:
        """Other code takes the place of some: it counts as instrumented if that does."""
        codes = self.sandbox.codes
        if id(code) in codes:
            codes[id(other)] = other

    def _reported(self, work: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            self.sandbox.report_call(work)
            return work()

        return work if isinstance(work, (FunctionType, MethodType)) else call

    def unseen(self, what: str, item: object, name: str, frame: FrameType) -> None:
        """A fixture is about to do what no event tells: one step of unknown code, if other threads may see it."""
        foreign_code, threads = self.sandbox.foreign_code, self.sandbox.scheduler.actors.values()
        if isinstance(item, (type, ModuleType)):
            foreign_code.rebinds(name)
        if sum(not thread.finished for thread in threads) > 1:
            foreign_code.enter(frame, what, () if item is None else (item,), is_contained=item is not None)

    def refuse(self, why: str, frame: FrameType) -> NoReturn:
        """The test asks for what only pytest can make."""
        refuse(self.sandbox.scheduler, why, frame)

    @property
    def is_long(self) -> bool:
        """Whether an execution has so many events that few can be run."""
        return self._shape.events > _LONG_EVENTS

    @property
    def is_very_long(self) -> bool:
        """Whether it has so many that a handful can be run."""
        return self._shape.events > _VERY_LONG_EVENTS

    def alive(self) -> None:
        """Called now and then while an execution makes events.

        Raises:
            UncontrolledError: it takes so long that few could be run; one that is recorded takes longer.
        """
        self._pulse()
        if time.thread_time() - self._began > _MOST_SECONDS and not self.shows_variables:
            raise UncontrolledError(f"{_TOO_LONG} takes more than {_MOST_SECONDS:.0f} s of processor time")

    def run(self, strategy: Strategy) -> Execution[object]:
        """Run the test once under ``strategy``; what is longer than it by far, from now on, is endless."""
        if self._shape.events:
            self._most_events = max(MOST_EVENTS, min(_LONGER * self._shape.events, MOST_TEST_EVENTS))
        self._began = time.thread_time()
        execution = super().run(strategy)
        if execution.ending is Ending.COMPLETE:
            self._shape.events = max(self._shape.events, len(execution.trace))
        return execution

    def outcome(self, execution: Execution[object]) -> object:
        """What the threads returned and what is left, if that is plain data."""
        shown = super().outcome(execution)
        return None if shown is None else (shown, self._left)

    def livelock(self, most_events: int) -> None:
        """Nothing yet: whoever searches asks whether the threads end if all of them get turns."""

    def _rehearse(self) -> None:
        """See the base class. A body that was left where it started a thread may have left half of something behind."""
        was_whole = self._shape.is_whole
        super()._rehearse()
        if self._shape.is_whole and not was_whole:
            self.reset.reload()

    def _threads_of(self, load: Load) -> Sequence[Work]:
        """The threads of the test, as its body asks for them."""
        body = self._test.body(load, self._takes_over)
        self._parts, self._strategy = (), None
        if not self._shape.is_whole:
            scheduler = self.sandbox.scheduler
            scheduler.on_idle_start = _run_as_thread  # it may wait for that thread in a way that nobody notices
            try:
                with controlled(self):
                    body()
            except _Over:
                return self._asked.works if self._asked is not None else ()
            except (Aborted, UncontrolledError):
                raise
            except BaseException as error:  # what it fails of before there are threads is told by an execution
                if isinstance(error, SetupDeadlockError) and self._asked is not None:
                    raise
            finally:
                scheduler.on_idle_start = lambda: None
            self._shape.is_whole = True
        self.texts = [f"{self._test.attribute}()"]
        return [body]

    def _perform(self, strategy: Strategy) -> tuple[Sequence[Part], Problem | None]:
        self._pulse()
        body = self._test.body(self._modules.__getitem__, self._takes_over)
        self._parts, self._strategy, self._left = (), strategy, None
        if self._shape.is_whole:
            self.made = SimpleNamespace()
            with controlled(self):
                self._parts = self._explored([CallSequence([attempting(body)])], strategy)
            if strategy.ending is Ending.COMPLETE and len(self.sandbox.scheduler.actors) == 1:
                self._require_threads(_end_of(self._parts[0]))
            return self._parts, self._problem_of(strategy, _end_of(self._parts[0]).error)
        self._asked = self.made = None  # or what the last body has made would die while this one goes on
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
            self.sandbox.scheduler.doubts[f"{self._test.attribute}: threads go on beside the end of the test"] = None
        return self._parts, self._problem_of(strategy, error)

    def _as_thread(self, strategy: Strategy) -> tuple[Sequence[Part], Problem | None]:
        """Begin anew, with the whole body as a thread."""
        self._shape.is_whole, self._threads, self.texts = True, 1, [f"{self._test.attribute}()"]
        self.sandbox.reset(1)
        return self._perform(strategy)

    def _require_threads(self, end: Ended) -> None:
        if end.error is None:
            raise UncontrolledError(
                f"{self._test.attribute} starts no threads: there is nothing to interleave; start some with "
                "kcache.testing.run(...) or threading.Thread"
            )

    def _problem_of(self, strategy: Strategy, error: BaseException | None) -> Problem | None:
        if strategy.ending in (Ending.REDUNDANT, Ending.INFEASIBLE):
            return None
        if is_skip(error):
            return None
        bad = next(filter(is_bypassed, (error, *self.sandbox.scheduler.failures)), None)
        if bad is not None and self.sandbox.network.given:
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
        """Run the threads one after another, in all orders."""
        self._shape.orders, self._is_learning = {}, True
        found = search(self, PreemptionBounded(0), None, SearchLimits(_MOST_ORDERS))
        self._is_learning = False
        if found.coverage is Coverage.BUDGET_SPENT and found.problem is None:  # what is right would be accused
            self._shape.orders = None
            raise CannotExploreError(
                f"{self._test.attribute} compares its results with more than {_MOST_ORDERS} orders of its threads: "
                "compare those of fewer threads, or check the results in the test"
            )

    def _compared(self) -> Problem | None:
        """What is wrong with the results, where they are to be those of some order of the threads."""
        orders = self._shape.orders
        if orders is None or self._asked is None or not self._asked.is_serializable:
            return None
        ends = list(map(_end_of, self._parts))
        shown = compared(ends, self._left)
        told = ", ".join(map(str, ends))
        if self._asked.state is not None:
            told += f", and left {short(self._left)}"
        if self._is_learning:
            orders.setdefault(shown, told)
            return None
        if shown in orders:
            return None
        some = "; or ".join(list(orders.values())[:_MOST_ORDERS_TOLD])
        return Problem(FindingKind.NONLINEARIZABLE, f"the threads gave {told}; one after another, they give {some}")


def compared(ends: Sequence[Ended], left: object) -> object:
    """What threads gave and left, as it is compared."""
    return tuple((end.raised, plain_value(end.value)) for end in ends), plain_value(left)


def is_skip(error: BaseException | None) -> bool:
    """Whether a test asks to be left out, or says that its failure is expected."""
    outcomes = sys.modules.get("_pytest.outcomes")
    of_pytest = () if outcomes is None else (outcomes.Skipped, outcomes.XFailed)
    return isinstance(error, (SkipTest, *of_pytest))


def _failure(who: str, error: BaseException) -> Problem:
    return replace(ended_with(who, error), kind=FindingKind.FAILURE, rule="unexpected-error")


def _end_of(part: Part) -> Ended:
    """What came of a thread."""
    if part.error is not None:
        return Ended(raised=type(part.error).__name__, error=part.error)
    assert isinstance(part.work, CallSequence)
    end = part.work.outcomes[0] if part.work.outcomes else Ended()
    assert isinstance(end, Ended)
    return end
