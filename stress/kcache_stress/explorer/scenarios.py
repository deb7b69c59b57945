"""Explores threads of any code, not only calls of an Indexer: for code that has a lock, a field and two threads.

A scenario says which modules are instrumented, what its threads do, and what must hold when they have ended. All of it
happens again in each execution: ``setup`` makes the objects anew, so that an execution depends on its schedule alone.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType, ModuleType
from typing import Final, Literal, TypeAlias, cast

from kcache_model.finding import FindingKind
from kcache_model.outcomes import error_text

from .counterexample import Counterexample, counterexample
from .events import KIND_NAMES, PAUSE, Pending
from .execution import Execution, Runner
from .granularity import Granularity
from .happens_before import HappensBefore
from .judgement.judge import Problem, ProgramJudge
from .sandbox import Roots, Sandbox
from .schedule import Replay, Schedule, as_steps
from .search import SearchLimits, search
from .strategies.dpor import DivergedError, Dpor
from .strategies.interface import STOP, Coverage, Ending, Strategy
from .strategies.partial_order_sampling import PartialOrderSampling
from .strategies.preemption_bounded import PreemptionBounded
from .virtual.scheduler import Aborted, Scheduler, SetupDeadlockError
from .waiting import Wait, waits

Load: TypeAlias = "Callable[[str | Path], ModuleType]"
"""Module name -> the private copy: of what is instrumented, and of ``threading``, ``queue``, ``time`` and their like."""

StrategyName: TypeAlias = Literal["dpor", "pos", "bounded"]

_TIMEOUTS: Final = 2
_MOST_PREEMPTIONS: Final = 3
_INSIDE: Final = str(Path(__file__).parent)
_MOST_REHEARSALS: Final = 20


def _nothing_wrong(_: list[object]) -> str | None:
    return None


@dataclass(frozen=True)
class Scenario:
    """Some threads, and what is asked of them.

    Attributes:
        instrument: the packages and modules whose code is copied and instrumented; dotted names are fine.
        setup: gets ``load``, makes what the threads share, and returns what each of them does. It runs before each
            execution, alone, and must do the same each time. Modules are copied once: what ``setup`` does not make
            anew, such as their globals, all executions share.
        check: gets what the threads returned, in the order of ``setup``, when all have ended; says what is wrong.
    """

    instrument: tuple[str, ...]
    setup: Callable[[Load], Sequence[Callable[[], object]]]
    check: Callable[[list[object]], str | None] = _nothing_wrong


@dataclass(frozen=True)
class ScenarioResult:
    """What exploring a scenario gave.

    Attributes:
        coverage: how much of its interleavings was covered.
        executions: how many executions the search took.
        seconds: how long it took.
        problem: the first thing found wrong: an exception that ended a thread, a deadlock, a livelock, a failed check.
        schedule: who runs for how many steps: shows the problem each time, with as few preemptions as could be found.
        preemptions: how often that schedule leaves a thread that could have gone on.
    """

    coverage: Coverage
    executions: int
    seconds: float
    problem: Problem | None = None
    schedule: Schedule = ()
    preemptions: int = 0


@dataclass(frozen=True)
class ScenarioReplay:
    """What following a schedule showed.

    Attributes:
        problem: what is wrong.
        followed: whether the schedule could be followed to its end.
        story: what happened, step by step: ``thread N, file:line in function: what it does next``.
    """

    problem: Problem | None
    followed: bool
    story: tuple[str, ...] = field(repr=False)


def explore_scenario(
    scenario: Scenario,
    *,
    seconds: float = 10.0,
    executions: int = 100_000,
    granularity: Granularity = Granularity.FREE,
    strategy: StrategyName = "dpor",
    seed: int = 0,
) -> ScenarioResult:
    """Search the interleavings of a scenario until something is wrong, nothing is left, or the budget is spent.

    Args:
        scenario: what to explore.
        seconds: the most time for the search; making its result smaller may take a little more.
        executions: the most executions.
        granularity: where threads may be switched.
        strategy: ``dpor`` is exhaustive, ``pos`` samples, ``bounded`` goes by the number of preemptions.
        seed: of ``pos``.

    Raises:
        CannotExploreError: the modules use something that cannot be scheduled.
        Exception: whatever ``setup`` raises.
    """
    runner, judge = _ScenarioRunner(scenario, granularity), _ScenarioJudge()
    as_runner, as_judge = cast(Runner, runner), cast(ProgramJudge, judge)  # all that a search asks of them
    chosen: Strategy = {
        "dpor": lambda: Dpor(steps_are_events=granularity is Granularity.FREE),
        "pos": lambda: PartialOrderSampling(seed),
        "bounded": lambda: PreemptionBounded(_MOST_PREEMPTIONS),
    }[strategy]()
    began = time.monotonic()
    try:
        found = search(as_runner, chosen, as_judge, SearchLimits(executions, seconds))
        result = ScenarioResult(found.coverage, found.executions, found.seconds)
        if found.problem is None:
            return result
        smallest = counterexample(as_runner, as_judge, found)
    except DivergedError as error:
        problem = Problem(FindingKind.NONDETERMINISM, str(error))
        return ScenarioResult(Coverage.BUDGET_SPENT, 0, time.monotonic() - began, problem)
    finally:
        runner.clean_up()
    if not isinstance(smallest, Counterexample):
        return replace(result, problem=smallest)
    return replace(result, problem=smallest.problem, schedule=smallest.schedule, preemptions=smallest.preemptions)


def replay_scenario(
    scenario: Scenario, schedule: Schedule, *, granularity: Granularity = Granularity.FREE
) -> ScenarioReplay:
    """Follow a schedule that :func:`explore_scenario` found with the same granularity."""
    runner, narrator = _ScenarioRunner(scenario, granularity), _Narrator(schedule)
    execution = runner.run(narrator)
    problem = _ScenarioJudge().judge(execution)
    runner.clean_up()
    return ScenarioReplay(problem, narrator.followed, tuple(line for line, _ in itertools.groupby(narrator.lines)))


class _ScenarioRunner:
    """Runs one scenario again and again.

    Attributes:
        subject: where the modules live.
    """

    def __init__(self, scenario: Scenario, granularity: Granularity) -> None:
        self.subject = Sandbox(Roots(frozenset(scenario.instrument)), granularity)
        self._scenario = scenario
        self._threads = 0
        self._modules: dict[str | Path, ModuleType] = {}
        self._rehearse()

    def run(self, strategy: Strategy) -> Execution:
        """Run the scenario once under ``strategy``."""
        sandbox, scheduler = self.subject, self.subject.scheduler
        sandbox.reset(self._threads)
        try:
            parts = [_Part(work) for work in self._scenario.setup(self._modules.__getitem__)]
            scheduler.settle()
            strategy.begin(scheduler)
            scheduler.explore([part.run for part in parts], strategy.choose, _TIMEOUTS)
            problem = self._problem(strategy.ending, parts)
        except SetupDeadlockError as error:
            return _Run(Ending.DEADLOCK, [], 0, [], [], problem=Problem(FindingKind.DEADLOCK, str(error)))
        return _Run(
            Ending.DEADLOCK if problem is not None and strategy.ending is Ending.ENDLESS else strategy.ending,
            scheduler.trace,
            len(scheduler.threads),
            spans=[],
            outcomes=[],
            timeouts_withheld=scheduler.timeouts_withheld,
            preemptions=scheduler.preemptions,
            problem=problem,
        )

    def clean_up(self) -> None:
        """Unwind the last execution."""
        self.subject.reset(self._threads)

    def _rehearse(self) -> None:
        """Run ``setup`` until it loads the same copies each time: a module may change how earlier ones are rewritten."""
        for _ in range(_MOST_REHEARSALS):
            before = dict(self._modules)
            self.subject.reset(self._threads)
            self._threads = len(self._scenario.setup(self._load))
            if before == self._modules:
                return
        raise AssertionError("setup never loads the same modules twice")

    def _load(self, name: str | Path) -> ModuleType:
        loaded = self._modules[name] = self.subject.load(name)
        return loaded

    def _problem(self, ending: Ending, parts: list[_Part]) -> Problem | None:
        if ending in (Ending.REDUNDANT, Ending.INFEASIBLE):
            return None
        scheduler = self.subject.scheduler
        errors = [(f"thread {number + 1}", part.error) for number, part in enumerate(parts) if part.error is not None]
        errors += [("a thread of the code under test", error) for error in scheduler.failures]
        for who, error in errors:
            return Problem(FindingKind.EXCEPTION, f"{who} ended with {error_text(error)}{_raised_at(error)}")
        if ending is Ending.DEADLOCK:
            return Problem(FindingKind.DEADLOCK, "no thread can go on: " + "; ".join(map(_as_text, waits(scheduler))))
        if ending is Ending.ENDLESS:
            return Problem(FindingKind.LIVELOCK, "its threads go on and on") if _is_livelock(scheduler) else None
        wrong = self._scenario.check([part.result for part in parts])
        return None if wrong is None else Problem(FindingKind.INVARIANT, wrong)


@dataclass
class _Run(Execution):
    """One execution.

    Attributes:
        problem: what is wrong with it.
    """

    problem: Problem | None = None


class _ScenarioJudge:
    """Knows no order of calls, and so judges each execution by itself."""

    def judge(self, execution: Execution, order: HappensBefore | None = None) -> Problem | None:  # noqa: ARG002
        """What the runner found wrong with it."""
        assert isinstance(execution, _Run)
        return execution.problem


class _Part:
    """What one thread does, and how that went."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self.result: object = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._work()
        except Aborted:
            raise
        except BaseException as error:
            self.error = error


class _Narrator(Replay):
    """Follows a schedule one step at a time, and tells what each step is."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(tuple((thread, 1) for thread in as_steps(schedule)))
        self.lines: list[str] = []

    def choose(self, running: int) -> int:
        chosen = super().choose(running)
        if chosen != STOP:
            thread = self.scheduler.threads[chosen]
            frame = sys._getframe() if chosen == running or thread.greenlet is None else thread.greenlet.gr_frame
            self.lines.append(f"thread {chosen + 1}, {_place(frame)}: {_what(thread.pending)}")
        return chosen


def _what(pending: Pending | None) -> str:
    """What a thread is about to do."""
    kind, obj, slot = pending or (PAUSE, None, None)
    if kind == PAUSE:
        return "goes on"
    name = type(obj).__name__
    return f"{KIND_NAMES[kind]} {f'{name}.{slot}' if isinstance(slot, str) else name}"


def _place(frame: FrameType | None) -> str:
    """``file:line in function`` of the innermost frame that is neither the explorer's nor of ``threading``."""
    while frame is not None:
        code = frame.f_code
        if not _is_beneath(code.co_filename):
            return f"{Path(code.co_filename).name}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return "its end"


def _raised_at(error: BaseException) -> str:
    """Where an exception was raised."""
    stack = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_beneath(frame.filename)]
    return f" ({Path(stack[-1].filename).name}:{stack[-1].lineno} in {stack[-1].name})" if stack else ""


def _is_beneath(file: str) -> bool:
    return file.startswith(_INSIDE) or file == threading.__file__


def _as_text(wait: Wait) -> str:
    held = "" if wait.holder is None else f", held by thread {wait.holder + 1}"
    return f"thread {wait.thread + 1} waits for {wait.what} ({wait.where}){held}"


def _is_livelock(scheduler: Scheduler) -> bool:
    """Whether an execution without end was fair: whoever could go on did so lately, and it helped nobody."""
    lately = {event[0] for event in scheduler.trace[len(scheduler.trace) // 2 :]}
    return lately.issuperset(scheduler.enabled() + scheduler.next_timeouts())
