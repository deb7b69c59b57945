"""Search of a scenario's interleavings, and replay of the schedules that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kcache_model.errors import CannotExploreError

from ..engine.audit import NO_AUDIT, AuditShare
from ..engine.dpor import Dpor
from ..engine.execution import Problem
from ..engine.granularity import Granularity
from ..engine.preemption_bounded import PreemptionBounded
from ..engine.schedule import Schedule
from ..engine.strategy import MOST_EVENTS, Strategy
from ..modules.copies import Copies
from ..modules.sources import fingerprint_of
from ..runtime.threads.virtual_thread import UncontrolledError
from ..strategies.guided import Guided
from ..strategies.opcode_sampling import OpcodeSampling
from ..strategies.partial_order_sampling import PartialOrderSampling
from ..strategies.selective_walk import SelectiveWalk
from ..trace.step_renderer import StepRenderer
from .exploration_result import ExplorationResult, RunnerAndJudge
from .investigation import investigate
from .reproducing import with_fewest_preemptions
from .scenario_runner import SCENARIO_JUDGE, CallSequence, Load, Scenario, ScenarioRunner, Work

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

ScenarioStrategy: TypeAlias = Literal["dpor", "pos", "surw", "guided", "bounded", "opcodes"]
"""Name of the search of a scenario's interleavings, see :func:`explore_scenario`."""

ScenarioResult: TypeAlias = ExplorationResult[object]
"""Result of exploring a scenario; its schedule has the fewest preemptions that were found."""


@dataclass(frozen=True)
class ScenarioReplay:
    """Result of replaying a schedule.

    Attributes:
        problem: the failure; ``None`` if nothing failed.
        followed: whether the schedule could be followed to its end.
        story: the steps, one line each: ``thread N, file:line in function: source text of that line``.
        fingerprint: the fingerprint of the instrumented sources.
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
    audits: bool = True,
) -> ScenarioResult:
    """Search the interleavings until one fails, none is left, or the budget is spent.

    Args:
        scenario: the scenario to explore.
        seconds: the most time for the search. Minimising the failing schedule may take longer, and a search that meets
            unknown code late is restarted.
        executions: the most executions of one search.
        granularity: the points at which threads may be switched.
        strategy: ``dpor`` is exhaustive; ``pos``, ``surw`` and ``guided`` sample; ``bounded`` tries schedules with up
            to ``preemptions`` preemptions, fewest first; ``opcodes`` samples at opcode granularity, where ``dpor`` is
            impossible: there are too many steps, and their accesses are unknown.
        seed: the seed of ``pos``, ``surw``, ``guided``, ``opcodes`` and the audit.
        preemptions: the most preemptions of ``bounded``.
        copies: module copies of an earlier scenario with the same ``instrument``; they determine the granularity.
        most_events: an execution with more events is a livelock, if all threads had their turns.
        audits: whether an exhaustive search is audited.

    Raises:
        CannotExploreError: the modules use something that cannot be scheduled. Exceptions of ``setup`` pass through.
        ValueError: ``dpor`` was requested at opcode granularity.
    """
    copies = copies or Copies(scenario.instrument, granularity)
    granularity = copies.sandbox.granularity
    if strategy == "dpor" and granularity.is_of_opcodes:
        raise ValueError(
            'dpor needs the accesses of each step, which are not known for opcodes; write strategy="opcodes"'
        )
    chosen: dict[str, Callable[[], Strategy]] = {
        "dpor": Dpor,
        "pos": lambda: PartialOrderSampling(seed),
        "surw": lambda: SelectiveWalk(seed),
        "guided": lambda: Guided(seed),
        "bounded": lambda: PreemptionBounded(most=preemptions),
        "opcodes": lambda: OpcodeSampling(seed),
    }

    @contextmanager
    def open_runner(at: Granularity) -> Iterator[RunnerAndJudge[object]]:
        runner = ScenarioRunner(scenario, copies.at(at), most_events)
        try:
            yield RunnerAndJudge(runner, SCENARIO_JUDGE)
        finally:
            runner.clean_up()

    result = investigate(
        open_runner,
        lambda _: [(chosen[strategy](), executions)],
        granularity=granularity,
        seconds=seconds,
        budget=AuditShare(is_single=True).due(seconds) if audits else NO_AUDIT,
        seed=seed,
    )
    return with_fewest_preemptions(open_runner, result)


def replay_scenario(
    scenario: Scenario,
    schedule: Schedule,
    *,
    granularity: Granularity = Granularity.FREE,
    copies: Copies | None = None,
    is_strict: bool = False,
    most_events: int = MOST_EVENTS,
) -> ScenarioReplay:
    """Replay a schedule of :func:`explore_scenario`, with the same arguments and the ``is_strict`` of its result.

    Raises:
        CannotExploreError: the scenario cannot be scheduled.
    """
    copies = copies or Copies(scenario.instrument, granularity)
    runner = ScenarioRunner(scenario, copies, most_events, is_strict=is_strict)
    renderer = StepRenderer(schedule)
    try:
        problem = runner.run(renderer).problem
    except UncontrolledError as error:
        raise CannotExploreError(str(error)) from error
    finally:
        runner.clean_up()
    fingerprint = fingerprint_of(runner.sandbox.sources)
    return ScenarioReplay(problem, renderer.followed, renderer.lines(), fingerprint)
