"""Explores threads of any code, not only calls of an Indexer.

A scenario says which modules are instrumented, what its threads do, and what must hold when they have ended. All of it
happens anew in each execution, so that what an execution does depends on its schedule alone.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Final, Literal, TypeAlias, cast

from kcache_model.finding import FindingKind
from kcache_model.outcomes import error_text

from .audit import audit, plain, sampling_granularity
from .counterexample import Counterexample, counterexample, smallest
from .execution import Execution, Runner
from .granularity import Granularity
from .judgement.judge import Problem, ProgramJudge
from .leftovers import Leftovers
from .sandbox import CannotExploreError, Roots, Sandbox
from .schedule import Replay, Schedule, schedule_of
from .search import SearchLimits, SearchResult, search
from .sources import fingerprint_of
from .state.namespaces import instrumented_modules
from .story.narrator import Narrator, place_of
from .strategies.dpor import DivergedError, Dpor
from .strategies.interface import MOST_EVENTS, Coverage, Ending, Strategy
from .strategies.opcode_sampling import OpcodeSampling
from .strategies.partial_order_sampling import PartialOrderSampling
from .strategies.preemption_bounded import PreemptionBounded
from .virtual.scheduler import FOREVER, MOST_PROGRAM_THREADS, Scheduler
from .virtual.standstill import Watched
from .virtual.virtual_thread import Aborted, SetupDeadlockError, UncontrolledError
from .waiting import Wait, waits

Load: TypeAlias = "Callable[[str | Path], ModuleType]"
"""The private copy of a module: of what a scenario instruments, of a file, of ``threading``, ``queue`` or ``time``."""

ScenarioStrategy: TypeAlias = Literal["dpor", "pos", "bounded", "opcodes"]
"""How the interleavings of a scenario are searched, see :func:`explore_scenario`."""

_TIMEOUTS: Final = 2


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
    check: Callable[[list[object]], str | None] = lambda _: None


@dataclass(frozen=True)
class ScenarioResult:
    """What exploring a scenario gave.

    Attributes:
        coverage: how much of its interleavings was covered.
        executions: how many executions the search took.
        seconds: how long it took.
        note: why the search proves nothing: ``FILE:LINE: what``, if it could have been exhaustive otherwise.
        problem: the first thing found wrong: an exception that ended a thread, a deadlock, a livelock, a failed check.
        schedule: who runs for how many steps: shows the problem each time, with as few preemptions as could be found.
        preemptions: how often that schedule leaves a thread that could have gone on.
        granularity: where threads are switched by that schedule: an audit switches them at opcodes.
        audited: how many executions at opcodes an exhaustive search was compared with.
        refused: the line that did what cannot be controlled; empty if none did. The search ended there.
        unseen: the code that ran unseen in what showed the problem: it may have locks of its own that exclude this.
        is_strict: whether the modules were loaded for unknown code, which may change whatever it reaches.
    """

    coverage: Coverage
    executions: int
    seconds: float
    problem: Problem | None = None
    schedule: Schedule = ()
    preemptions: int = 0
    note: str = ""
    granularity: Granularity = Granularity.FREE
    audited: int = 0
    refused: str = ""
    unseen: str = ""
    is_strict: bool = False


@dataclass(frozen=True)
class ScenarioReplay:
    """What following a schedule showed.

    Attributes:
        problem: what is wrong.
        followed: whether the schedule could be followed to its end.
        story: what happened, line by line: ``thread N, file:line in function: what that line says``.
        fingerprint: of the instrumented sources.
    """

    problem: Problem | None
    followed: bool
    story: tuple[str, ...]
    fingerprint: str = ""


def explore_scenario(
    scenario: Scenario,
    *,
    seconds: float = 10.0,
    executions: int = 100_000,
    granularity: Granularity = Granularity.FREE,
    strategy: ScenarioStrategy = "dpor",
    seed: int = 0,
    preemptions: int = 3,
    copies: Copies | None = None,
    most_events: int = MOST_EVENTS,
    samples: int = 150,
) -> ScenarioResult:
    """Search the interleavings until something is wrong, nothing is left, or the budget is spent.

    Args:
        scenario: what to explore.
        seconds: the most time for the search; making its result smaller may take a little more, and a search that meets
            unknown code late begins anew.
        executions: the most executions.
        granularity: where threads may be switched.
        strategy: ``dpor`` is exhaustive, ``pos`` samples, ``bounded`` tries up to ``preemptions``, fewest first;
            ``opcodes`` samples where steps are opcodes, which are too many and too little known for ``dpor``.
        seed: of ``pos`` and ``opcodes``.
        preemptions: the most of ``bounded``.
        copies: of the modules, from an earlier scenario that instruments the same; their granularity counts.
        most_events: an execution that is longer counts as a livelock, if all threads had their turns.
        samples: how many executions at opcodes an exhaustive search is compared with; 0 for no audit.

    Raises:
        CannotExploreError: the modules use something that cannot be scheduled. What ``setup`` raises passes through.
    """
    copies = copies or Copies(scenario.instrument, granularity)
    chosen: dict[str, Callable[[], Strategy]] = {
        "dpor": Dpor,
        "pos": lambda: PartialOrderSampling(seed),
        "bounded": lambda: PreemptionBounded(most=preemptions),
        "opcodes": lambda: OpcodeSampling(seed),
    }
    granularity = copies.sandbox.granularity
    if strategy == "dpor" and granularity.is_of_opcodes:
        raise ValueError('what an opcode accesses is not known; at this granularity, say strategy="opcodes"')
    seen: set[object] = set()

    def searched(runner: Runner, judge: ProgramJudge) -> SearchResult:
        limits = SearchLimits(executions, seconds)
        return search(runner, chosen[strategy](), judge, limits, on_execution=lambda run: seen.add(_outcome_of(run)))

    own = _ScenarioRunner(scenario, copies, most_events)
    result = _explored(own, searched)
    if own.is_surprised:  # a schedule is followed where the modules are loaded as they were for the search
        seen.clear()
        own, before = _ScenarioRunner(scenario, copies, most_events), result
        result = _explored(own, searched)
        took, spent = before.executions + result.executions, before.seconds + result.seconds
        result = replace(result, executions=took, seconds=spent)
    if result.problem is not None or not result.coverage.is_complete or samples == 0:
        return result
    sampled = _ScenarioRunner(scenario, copies.at(sampling_granularity(granularity)), most_events)
    note = ""

    def audited(runner: Runner, judge: ProgramJudge) -> SearchResult:
        nonlocal note
        found, note = audit(runner, judge, samples, seed, outcome=_outcome_of, seen=seen)
        return found

    shown = _explored(sampled, audited)
    took, spent = result.executions + shown.executions, result.seconds + shown.seconds
    if shown.problem is not None:
        return replace(shown, executions=took, seconds=spent, audited=shown.executions)
    note = "; ".join(filter(None, (shown.refused, note, result.note)))
    coverage = Coverage.NO_PROOF if note else result.coverage
    return replace(result, coverage=coverage, note=note, executions=took, seconds=spent, audited=shown.executions)


def _explored(own: _ScenarioRunner, searched: Callable[[Runner, ProgramJudge], SearchResult]) -> ScenarioResult:
    """What a search of a scenario gave, with the smallest schedule of what it found."""
    runner, judge = cast(Runner, own), cast(ProgramJudge, own)  # as far as a search is concerned
    subject = own.subject
    result = ScenarioResult(Coverage.BUDGET_SPENT, 0, 0.0, granularity=subject.granularity, is_strict=subject.is_strict)
    try:
        found = searched(runner, judge)
        result = replace(
            result, coverage=found.coverage, executions=found.executions, seconds=found.seconds, note=found.note
        )
        if found.problem is None:
            if own.leftovers.note and found.coverage.is_complete:
                note = "; ".join(filter(None, (own.leftovers.note, found.note)))
                return replace(result, coverage=Coverage.NO_PROOF, note=note)
            return result
        if own.leftovers.note and found.problem.kind is not FindingKind.LIVELOCK:
            return own.from_scratch(result, found)
        shown = counterexample(runner, judge, found)
        if isinstance(shown, Counterexample):
            shown = smallest(runner, judge, shown)
    except DivergedError as error:
        shown = Problem(FindingKind.NONDETERMINISM, "; ".join(filter(None, (str(error), own.leftovers.note))))
    except UncontrolledError as error:
        return replace(result, coverage=Coverage.BUDGET_SPENT, refused=str(error))
    finally:
        own.clean_up()
    if shown is None:
        return replace(result, coverage=Coverage.BUDGET_SPENT)
    if isinstance(shown, Problem):
        return replace(result, problem=shown)
    unseen = own.subject.unseen(shown.execution.trace)
    schedule, preemptions = shown.schedule, shown.preemptions
    return replace(result, problem=shown.problem, schedule=schedule, preemptions=preemptions, unseen=unseen)


def replay_scenario(
    scenario: Scenario,
    schedule: Schedule,
    *,
    granularity: Granularity = Granularity.FREE,
    copies: Copies | None = None,
    is_strict: bool = False,
    most_events: int = MOST_EVENTS,
) -> ScenarioReplay:
    """Follow a schedule that :func:`explore_scenario` found with the same arguments, and ``is_strict`` as it said."""
    copies = copies or Copies(scenario.instrument, granularity)
    runner = _ScenarioRunner(scenario, copies, most_events, is_strict=is_strict)
    narrator = Narrator(schedule)
    try:
        execution = runner.run(narrator)
    except UncontrolledError as error:
        raise CannotExploreError(str(error)) from error
    finally:
        runner.clean_up()
    fingerprint = fingerprint_of(runner.subject.sources)
    return ScenarioReplay(execution.problem, narrator.followed, narrator.story(), fingerprint)


class Copies:
    """Instrumented copies of modules, which several scenarios may use one after another: making them takes seconds.

    Args:
        instrument: as in :class:`Scenario`.
        granularity: where threads may be switched.
        folder: whose top-level modules are instrumented, too; ``None`` for none.
        expected: the modules that the scenarios will load; to name them saves time.
    """

    def __init__(
        self,
        instrument: tuple[str, ...],
        granularity: Granularity = Granularity.FREE,
        folder: Path | None = None,
        expected: Sequence[str | Path] = (),
    ) -> None:
        self._given = instrument, folder, expected
        self.sandbox = Sandbox(Roots(frozenset(instrument), folder), granularity, expected)
        self.modules: dict[str | Path, ModuleType] = {}
        self._served = 0
        self._others: dict[Granularity, Copies] = {}

    def serve(self) -> bool:
        """One more scenario is run on them; whether what it leaves in them is to be looked for: ever more rarely."""
        self._served += 1
        return not self._served & (self._served - 1)

    def at(self, granularity: Granularity) -> Copies:
        """Copies of the same modules for another granularity; made once."""
        if granularity is self.sandbox.granularity:
            return self
        instrument, folder, expected = self._given
        if granularity not in self._others:
            self._others[granularity] = Copies(instrument, granularity, folder, expected)
        return self._others[granularity]


class _ScenarioRunner:
    """Runs one scenario again and again; ``subject`` is where its modules live, ``leftovers`` what stays there."""

    def __init__(
        self, scenario: Scenario, copies: Copies, most_events: int = MOST_EVENTS, *, is_strict: bool = False
    ) -> None:
        self.subject = copies.sandbox
        self._most_events = most_events
        self._scenario = scenario
        self._threads = 0
        self._modules = copies.modules
        self._rehearse()
        looks = copies.serve()
        self.leftovers = self._leftovers(looks)
        if not (self.subject.is_strict or self.subject.granularity.is_of_opcodes):
            with contextlib.suppress(UncontrolledError):  # the search will meet it, too
                self.run(Replay(()))
        if self.is_surprised or (is_strict and not self.subject.is_strict):
            self._load_anew(is_strict=is_strict)
            self.leftovers = self._leftovers(looks)

    def _load_anew(self, *, is_strict: bool) -> None:
        self.subject.start_again(is_strict=is_strict)
        self._modules.clear()
        self._rehearse()

    def from_scratch(self, result: ScenarioResult, found: SearchResult) -> ScenarioResult:
        """What a problem is worth that was found when others had left something: it must show in modules made anew."""
        note, execution, problem = self.leftovers.note, found.execution, found.problem
        assert execution is not None
        assert problem is not None
        schedule = schedule_of(execution.trace, self.subject.granularity)
        self._load_anew(is_strict=self.subject.is_strict)
        again = self.run(Replay(schedule))
        if again.problem is None or again.problem.kind is not problem.kind:
            return replace(result, coverage=Coverage.NO_PROOF, note=f"{note}: {problem.summary}")
        unseen = self.subject.unseen(again.trace)
        preemptions = again.preemptions
        return replace(result, problem=again.problem, schedule=schedule, preemptions=preemptions, unseen=unseen)

    @property
    def is_surprised(self) -> bool:
        """Whether the modules did what they were not loaded for, and have to be loaded anew."""
        subject = self.subject
        return subject.is_surprised and not (subject.is_strict or subject.granularity.is_of_opcodes)

    def _leftovers(self, looks: bool) -> Leftovers:
        return Leftovers(instrumented_modules(self.subject) if looks else ())

    def run(self, strategy: Strategy) -> _Run:
        """Run the scenario once under ``strategy``."""
        with Watched(self.subject.scheduler), self.subject.present():
            return self._run(strategy)

    def _run(self, strategy: Strategy) -> _Run:
        scheduler = self.subject.scheduler
        self.clean_up()
        try:
            parts = [_Part(work) for work in self._scenario.setup(self._modules.__getitem__)]
            scheduler.settle()
            self.leftovers.look()
            strategy.most_events = self._most_events
            strategy.begin(scheduler)
            self.subject.watch_now_and_then([part.work for part in parts])
            scheduler.explore([part.run for part in parts], _impatient(strategy, scheduler), _TIMEOUTS)
            problem = self._problem(strategy.ending, parts, strategy.most_events)
        except SetupDeadlockError as error:
            return _Run(Ending.DEADLOCK, [], 0, [], [], problem=Problem(FindingKind.DEADLOCK, str(error)))
        ending = strategy.ending if strategy.ending is not Ending.ENDLESS or problem is None else Ending.DEADLOCK
        run = _Run(ending, scheduler.trace, len(scheduler.threads), [], [], problem=problem)
        run.doubts, run.results = self.subject.doubts, tuple(part.result for part in parts)
        run.timeouts_withheld, run.preemptions = scheduler.timeouts_withheld, scheduler.preemptions
        return run

    def judge(self, execution: _Run, order: object = None) -> Problem | None:  # noqa: ARG002
        """What is wrong with an execution; the order of calls says nothing here."""
        return execution.problem

    def clean_up(self) -> None:
        """Unwind the last execution."""
        self.subject.reset(self._threads)

    def _rehearse(self) -> None:
        """Run ``setup`` until it loads the same copies each time: a module may change how others are rewritten."""
        before: object = None
        while before != self._modules:
            before = dict(self._modules)
            self.clean_up()
            try:
                self._threads = len(self._scenario.setup(self._load))
            except UncontrolledError as error:
                raise CannotExploreError(str(error)) from error
        if self._threads > MOST_PROGRAM_THREADS:
            raise ValueError(f"a scenario has at most {MOST_PROGRAM_THREADS} threads")

    def _load(self, name: str | Path) -> ModuleType:
        loaded = self._modules[name] = self.subject.load(name)
        return loaded

    def _problem(self, ending: Ending, parts: list[_Part], most_events: int) -> Problem | None:
        if ending in (Ending.REDUNDANT, Ending.INFEASIBLE):
            return None
        scheduler = self.subject.scheduler
        errors = [(f"thread {number}", part.error) for number, part in enumerate(parts, 1) if part.error is not None]
        for who, error in errors + [("a thread of the code under test", error) for error in scheduler.failures]:
            place, _ = place_of(reversed([*traceback.walk_tb(error.__traceback__)]))
            return Problem(FindingKind.EXCEPTION, f"{who} ended with {error_text(error)} ({place})")
        if ending is Ending.DEADLOCK:
            return Problem(FindingKind.DEADLOCK, "no thread can go on: " + "; ".join(map(_as_text, waits(scheduler))))
        if ending is Ending.ENDLESS:
            if self.subject.granularity.is_of_opcodes:
                return None  # so many opcodes are not that much
            lately = {event[0] for event in scheduler.trace[-most_events // 2 :]}
            is_fair = lately.issuperset(scheduler.enabled() + scheduler.next_timeouts())
            return Problem(FindingKind.LIVELOCK, _endless(scheduler)) if is_fair else None
        wrong = self._scenario.check([part.result for part in parts])
        return None if wrong is None else Problem(FindingKind.INVARIANT, wrong)


@dataclass
class _Run(Execution):
    """One execution, what its threads returned, and what is wrong with it."""

    problem: Problem | None = None
    results: tuple[object, ...] = ()


def _outcome_of(run: Execution) -> object:
    """What the threads returned, if that is plain data."""
    assert isinstance(run, _Run)
    if run.ending is not Ending.COMPLETE:
        return run.ending
    try:
        return tuple(plain(result) for result in run.results)
    except TypeError:
        return None


@dataclass
class _Part:
    """What one thread does, and how that went."""

    work: Callable[[], object]
    result: object = None
    error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.work()
        except Aborted:
            raise
        except BaseException as error:
            self.error = error


def _endless(scheduler: Scheduler) -> str:
    places = []
    for thread in sorted(scheduler.enabled()):
        greenlet = scheduler.threads[thread].greenlet
        if greenlet is not None and greenlet.gr_frame is not None:
            places.append(f"thread {thread + 1} at {place_of(traceback.walk_stack(greenlet.gr_frame))[0]}")
    text = "all go on and on, and it helps nobody"
    return f"{text}; in the end: {', '.join(places)}" if places else text


def _as_text(wait: Wait) -> str:
    text = f"thread {wait.thread + 1} waits for {wait.what} ({wait.where})"
    return text if wait.holder is None else f"{text}, held by thread {wait.holder + 1}"


def _impatient(strategy: Strategy, scheduler: Scheduler) -> Callable[[int], int]:
    """The strategy's choices, asked for also where it lets a thread go on for ever: it may be one that does."""
    is_capped = False

    def choose(running: int) -> int:
        nonlocal is_capped
        if is_capped and scheduler.left > 0:
            scheduler.left = FOREVER
        chosen = strategy.choose(running)
        is_capped = scheduler.left == FOREVER
        scheduler.left = min(scheduler.left, MOST_EVENTS)
        return chosen

    return choose
