"""The search of a scenario's interleavings, and the replay of what it finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from kcache_model.finding import FindingKind

from .audit import audit, sampling_granularity
from .counterexample import Counterexample, counterexample, smallest
from .execution import Judge, Problem
from .granularity import Granularity
from .sandbox import CannotExploreError
from .scenario_runner import AS_FOUND, CallSequence, Copies, Load, Scenario, ScenarioRunner, Work
from .schedule import Replay, Schedule, schedule_of
from .search import SearchLimits, SearchResult, search
from .sources import fingerprint_of
from .story.narrator import Narrator
from .strategies.dpor import DivergedError, Dpor
from .strategies.interface import MOST_EVENTS, Coverage, Strategy
from .strategies.opcode_sampling import OpcodeSampling
from .strategies.partial_order_sampling import PartialOrderSampling
from .strategies.preemption_bounded import PreemptionBounded
from .virtual.virtual_thread import UncontrolledError

__all__ = [
    "CallSequence",
    "Copies",
    "Load",
    "Scenario",
    "ScenarioReplay",
    "ScenarioResult",
    "ScenarioStrategy",
    "Work",
    "explore_scenario",
    "replay_scenario",
]

ScenarioStrategy: TypeAlias = Literal["dpor", "pos", "bounded", "opcodes"]
"""How the interleavings of a scenario are searched, see :func:`explore_scenario`."""

_UNREDUCED_EXECUTIONS: Final = 1_000


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
    judge: Judge[object] = AS_FOUND,
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
        judge: of executions; by default, wrong is what their runner found wrong.

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

    def searched() -> SearchResult[object]:
        limits = SearchLimits(executions, seconds)
        return search(own, chosen[strategy](), judge, limits, on_execution=lambda run: seen.add(own.outcome(run)))

    own = ScenarioRunner(scenario, copies, most_events)
    result = _explored(own, judge, searched)
    if own.is_surprised:  # a schedule is followed where the modules are loaded as they were for the search
        seen.clear()
        own, before = ScenarioRunner(scenario, copies, most_events), result
        result = _explored(own, judge, searched)
        took, spent = before.executions + result.executions, before.seconds + result.seconds
        result = replace(result, executions=took, seconds=spent)
    if result.problem is not None or not result.coverage.is_complete or samples == 0:
        return result
    sampled = ScenarioRunner(scenario, copies.at(sampling_granularity(granularity)), most_events)
    note = ""

    def audited() -> SearchResult[object]:
        nonlocal note
        found, note = audit(sampled, judge, samples, seed, seen=seen)
        return found

    shown = _explored(sampled, judge, audited)
    took, spent = result.executions + shown.executions, result.seconds + shown.seconds
    if shown.problem is not None:
        return replace(shown, executions=took, seconds=spent, audited=shown.executions)
    note = "; ".join(filter(None, (shown.refused, note, result.note)))
    coverage = Coverage.NO_PROOF if note else result.coverage
    return replace(result, coverage=coverage, note=note, executions=took, seconds=spent, audited=shown.executions)


def _explored(
    own: ScenarioRunner, judge: Judge[object], searched: Callable[[], SearchResult[object]]
) -> ScenarioResult:
    """What a search of a scenario gave, with the smallest schedule of what it found."""
    sandbox = own.sandbox
    result = ScenarioResult(Coverage.BUDGET_SPENT, 0, 0.0, granularity=sandbox.granularity, is_strict=sandbox.is_strict)
    try:
        found = searched()
        result = replace(
            result, coverage=found.coverage, executions=found.executions, seconds=found.seconds, note=found.note
        )
        if found.problem is None:
            if own.leftovers.note and found.coverage.is_complete:
                note = "; ".join(filter(None, (own.leftovers.note, found.note)))
                return replace(result, coverage=Coverage.NO_PROOF, note=note)
            return result
        if own.leftovers.note and found.problem.kind is not FindingKind.LIVELOCK:
            return _from_scratch(own, judge, result, found)
        shown = counterexample(own, judge, found)
        if shown is None:  # calls depend on each other behind the explorer's back: what is done in some order counts
            limits = SearchLimits(_UNREDUCED_EXECUTIONS, max(1.0, found.seconds))
            found = search(own, PartialOrderSampling(0), judge, limits)
            shown = None if found.problem is None else counterexample(own, judge, found)
        if isinstance(shown, Counterexample):
            shown = smallest(own, judge, shown)
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
    unseen = own.sandbox.unseen(shown.execution.trace)
    schedule, preemptions = shown.schedule, shown.preemptions
    return replace(result, problem=shown.problem, schedule=schedule, preemptions=preemptions, unseen=unseen)


def _from_scratch(
    own: ScenarioRunner, judge: Judge[object], result: ScenarioResult, found: SearchResult[object]
) -> ScenarioResult:
    """What a problem is worth that was found when others had left something: it must show in modules made anew."""
    note, execution, problem = own.leftovers.note, found.execution, found.problem
    assert execution is not None
    assert problem is not None
    schedule = schedule_of(execution.trace, own.sandbox.granularity)
    own.load_anew(is_strict=own.sandbox.is_strict)
    again = own.run(Replay(schedule))
    shown = judge.judge(again)
    if shown is None or shown.kind is not problem.kind:
        return replace(result, coverage=Coverage.NO_PROOF, note=f"{note}: {problem.summary}")
    unseen = own.sandbox.unseen(again.trace)
    return replace(result, problem=shown, schedule=schedule, preemptions=again.preemptions, unseen=unseen)


def replay_scenario(
    scenario: Scenario,
    schedule: Schedule,
    *,
    granularity: Granularity = Granularity.FREE,
    copies: Copies | None = None,
    is_strict: bool = False,
    most_events: int = MOST_EVENTS,
    judge: Judge[object] = AS_FOUND,
) -> ScenarioReplay:
    """Follow a schedule that :func:`explore_scenario` found with the same arguments, and ``is_strict`` as it said."""
    copies = copies or Copies(scenario.instrument, granularity)
    runner = ScenarioRunner(scenario, copies, most_events, is_strict=is_strict)
    narrator = Narrator(schedule)
    try:
        problem = judge.judge(runner.run(narrator))
    except UncontrolledError as error:
        raise CannotExploreError(str(error)) from error
    finally:
        runner.clean_up()
    fingerprint = fingerprint_of(runner.sandbox.sources)
    return ScenarioReplay(problem, narrator.followed, narrator.story(), fingerprint)
