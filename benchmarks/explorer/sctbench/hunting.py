"""How many executions a search needs until it finds what is wrong with a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Final

from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.preemption_bounded import PreemptionBounded
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.modules.copies import Copies
from kcache_stress.strategies.partial_order_sampling import PartialOrderSampling
from kcache_stress.strategies.selective_walk import SelectiveWalk
from kcache_stress.target.scenario_runner import SCENARIO_JUDGE, Load, Scenario, ScenarioRunner

PACKAGE: Final = "benchmarks.explorer.sctbench"

Plan = Callable[[int], Sequence[tuple[Strategy, int]]]
"""seed -> the strategies to try in turn, each with the most executions that it may take."""

MOST_EXECUTIONS: Final = 10_000
SAMPLES: Final = 300

STRATEGIES: Final[Mapping[str, Plan]] = {
    "pos": lambda seed: [(PartialOrderSampling(seed), MOST_EXECUTIONS)],
    "bounded": lambda _: [(PreemptionBounded(3), MOST_EXECUTIONS)],
    "dpor": lambda _: [(Dpor(), MOST_EXECUTIONS)],
    "surw": lambda seed: [(SelectiveWalk(seed), MOST_EXECUTIONS)],
    "surw, dpor": lambda seed: [(SelectiveWalk(seed), SAMPLES), (Dpor(), MOST_EXECUTIONS - SAMPLES)],
}
"""The last one is the policy that is to find all of them: samples, then exhaustively."""

POLICY: Final = "surw, dpor"
DETERMINISTIC: Final = frozenset({"bounded", "dpor"})
"""Those whose searches do not depend on a seed."""


@dataclass(frozen=True)
class Hunted:
    """What a search found.

    Attributes:
        executions: how many it took; without those that were cut short as redundant, if the time was spent.
        found: what is wrong; empty if nothing was found.
        coverage: how much was covered.
    """

    executions: int
    found: str
    coverage: Coverage


def scenario(name: str, *, is_bad: bool) -> Scenario:
    """The scenario whose one thread is the main thread of a program."""

    def setup(load: Load) -> list[Callable[[], object]]:
        program = load(f"{PACKAGE}.catalog").PROGRAMS[name]
        return [lambda: program(is_bad=is_bad)]

    return Scenario((PACKAGE,), setup)


def copies() -> Copies:
    """The instrumented copies of all programs."""
    return Copies((PACKAGE,))


def hunt(name: str, plan: Plan, seed: int, seconds: float, given: Copies, *, is_bad: bool = True) -> Hunted:
    """Search a program by the strategies of a plan until something is found, or so much processor time was spent."""
    runner = ScenarioRunner(scenario(name, is_bad=is_bad), given)
    executions, last, coverage = 0, process_time() + seconds, Coverage.BUDGET_SPENT

    def watch(_: object) -> None:
        nonlocal executions
        executions += 1
        if process_time() > last:
            raise _SpentError

    for strategy, most in plan(seed):
        before = executions
        try:
            result = search(runner, strategy, SCENARIO_JUDGE, SearchLimits(most), on_execution=watch)
        except _SpentError:
            break
        executions, coverage = before + result.executions, result.coverage
        if result.problem is not None:
            return Hunted(executions, result.problem.kind.value, coverage)
        if coverage.is_complete:
            break
    return Hunted(executions, "", coverage)


class _SpentError(Exception):
    """No time is left."""
