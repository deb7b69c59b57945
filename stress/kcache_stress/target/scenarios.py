"""The search of a scenario's interleavings, and the replay of what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kcache_model.errors import CannotExploreError

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
from .investigation import ExplorationResult, RunnerAndJudge, investigate, with_fewest_preemptions
from .scenario_runner import AS_FOUND, CallSequence, Load, Scenario, ScenarioRunner, Work

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
"""How the interleavings of a scenario are searched, see :func:`explore_scenario`."""

ScenarioResult: TypeAlias = ExplorationResult[object]
"""What exploring a scenario gave; its schedule has as few preemptions as could be found."""


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
        strategy: ``dpor`` is exhaustive, ``pos``, ``surw`` and ``guided`` sample, ``bounded`` tries up to
            ``preemptions``, fewest first; ``opcodes`` samples where steps are opcodes, which are too many and too
            little known for ``dpor``.
        seed: of ``pos``, ``surw``, ``guided`` and ``opcodes``.
        preemptions: the most of ``bounded``.
        copies: of the modules, from an earlier scenario that instruments the same; their granularity counts.
        most_events: an execution that is longer counts as a livelock, if all threads had their turns.
        samples: how many executions at opcodes an exhaustive search is compared with; 0 for no audit.

    Raises:
        CannotExploreError: the modules use something that cannot be scheduled. What ``setup`` raises passes through.
    """
    copies = copies or Copies(scenario.instrument, granularity)
    granularity = copies.sandbox.granularity
    if strategy == "dpor" and granularity.is_of_opcodes:
        raise ValueError('what an opcode accesses is not known; at this granularity, say strategy="opcodes"')
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
            yield RunnerAndJudge(runner, AS_FOUND)
        finally:
            runner.clean_up()

    found = investigate(
        open_runner,
        lambda _: [(chosen[strategy](), executions)],
        granularity=granularity,
        seconds=seconds,
        samples=samples,
        seed=seed,
    )
    return with_fewest_preemptions(open_runner, found)


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
