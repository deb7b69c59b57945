"""Explorer engine: two virtual threads call the function, and the explorer runs all interleavings of the calls."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from kcache_model.errors import CannotExploreError
from kcache_model.finding import FindingKind
from kcache_stress.engine.strategy import Coverage
from kcache_stress.loading import named_packages
from kcache_stress.target.scenarios import Load, Scenario, explore_scenario, replay_scenario

from ..evenly_spaced import evenly_spaced
from ..evidence import Engine, Evidence
from ..judging.outcome import Answer, answer_of
from ..judging.violation import InputClass, Violation
from ..objects.fuzzed_object import FuzzedObject
from ..rules import Rule
from ..subject import Subject, load_subject

_MOST_PAIRS = 6
_SECONDS_PER_PAIR = 1.0


@dataclass(frozen=True)
class Interleavings:
    """The result of the exploration.

    Attributes:
        evidence: an interleaving with a wrong answer.
        executions: the number of interleavings that were run.
        is_complete: whether all interleavings of all pairs were run.
        reason: the reason why there is no result; empty if there is one.
    """

    evidence: Evidence | None = None
    executions: int = 0
    is_complete: bool = False
    reason: str = ""


def explore_calls(subject: Subject, fuzzed_objects: Sequence[FuzzedObject], *, seconds: float) -> Interleavings:
    """Explore pairs of calls, each call with a different object."""
    if subject.spec is None:
        return Interleavings(reason="the function cannot be loaded a second time")
    pairs = [(fuzzed_objects[0], fuzzed_objects[1])] if len(fuzzed_objects) == 2 else _pairs(subject, fuzzed_objects)
    if not pairs:
        return Interleavings(reason="it accepts no two different objects")
    end, executions, complete = time.monotonic() + seconds, 0, True
    for one, other in pairs[:_MOST_PAIRS]:
        remaining_seconds = end - time.monotonic()
        if remaining_seconds < 0.05:
            complete = False
            break
        try:
            scenario = _scenario(subject, one, other)
            result = explore_scenario(scenario, seconds=min(remaining_seconds, _SECONDS_PER_PAIR))
        except CannotExploreError as error:
            return Interleavings(executions=executions, reason=str(error))
        except Exception as error:
            return Interleavings(executions=executions, reason=f"{type(error).__name__}: {error}")
        executions += result.executions
        if result.refused:
            return Interleavings(executions=executions, reason=result.refused)
        complete = complete and result.coverage is Coverage.EXHAUSTED
        problem = result.problem
        if problem is None:
            continue
        if problem.kind is FindingKind.NONDETERMINISM:
            return Interleavings(executions=executions, reason="it keeps state from one execution to the next")
        story = (
            "\n".join(replay_scenario(scenario, result.schedule, granularity=result.granularity).story)
            if result.schedule
            else ""
        )
        return Interleavings(
            Evidence(
                Violation(Rule.THREAD_SAFE, problem.summary),
                InputClass.VALID,
                Engine.EXPLORER,
                (one, other),
                f"two threads, interleaved like this:\n{story}" if story else "two threads",
            ),
            executions,
        )
    return Interleavings(executions=executions, is_complete=complete)


def _pairs(subject: Subject, fuzzed_objects: Sequence[FuzzedObject]) -> list[tuple[FuzzedObject, FuzzedObject]]:
    """Return pairs of small objects with different answers; if all answers are equal, a pair of any two objects."""
    others: dict[str, FuzzedObject] = {}
    different: dict[Any, tuple[FuzzedObject, Answer]] = {}
    for fuzzed_object in sorted(fuzzed_objects, key=lambda fuzzed_object: fuzzed_object.size):
        answer = answer_of(subject.function, subject.kind, fuzzed_object.fresh())[0]
        if answer.values:
            different.setdefault(answer.meaning, (fuzzed_object, answer))
        if not answer.error:
            others[fuzzed_object.identity] = fuzzed_object
    chosen = [fuzzed_object for fuzzed_object, _ in different.values()]
    if len(chosen) < 2:
        chosen = [*others.values()][:2]
    # From the smallest to the largest object: they take different paths through the code.
    return list(itertools.pairwise(evenly_spaced(chosen, _MOST_PAIRS + 1)))


def _scenario(subject: Subject, *pair: FuzzedObject) -> Scenario:
    module = _module_of(subject)
    name = str(subject.spec).rpartition(":")[2]
    alone = [answer_of(subject.function, subject.kind, fuzzed_object.fresh())[0].meaning for fuzzed_object in pair]
    allowed = [alone, *_in_both_orders(subject, pair)]

    def call(function: Callable[[Any], Any], obj: Any) -> Callable[[], object]:
        return lambda: answer_of(function, subject.kind, obj)[0]

    def setup(load: Load) -> Sequence[Callable[[], object]]:
        function: Any = load(module)
        for part in name.split("."):
            function = getattr(function, part)
        return [call(function, fuzzed_object.fresh()) for fuzzed_object in pair]

    def check(answers: list[Any]) -> str | None:
        if [answer.meaning for answer in answers] in allowed:
            return None
        for answer, meaning in zip(answers, alone, strict=True):
            if answer.meaning != meaning:
                return f"{answer.text()} during another call, but {_values(meaning)} alone"
        return None

    named = named_packages(subject.function, str(subject.spec))
    return Scenario((_package(module), *named), setup, check)


def _in_both_orders(subject: Subject, pair: Sequence[FuzzedObject]) -> list[list[Any]]:
    """Return the answers of the calls in both sequential orders: another rule checks functions with state."""
    meanings_of_orders = []
    for order in ((0, 1), (1, 0)):
        function = load_subject(str(subject.spec), subject.kind).function
        meanings: list[Any] = [None, None]
        for position in order:
            meanings[position] = answer_of(function, subject.kind, pair[position].fresh())[0].meaning
        meanings_of_orders.append(meanings)
    return meanings_of_orders


def _values(meaning: Any) -> str:
    return "nothing" if meaning[0] is None else str(sorted(meaning[0]))


def _module_of(subject: Subject) -> str | Path:
    location = str(subject.spec).rpartition(":")[0]
    return Path(location).resolve() if location.endswith(".py") else location


def _package(module: str | Path) -> str:
    if isinstance(module, Path):
        return f"kcache_target_{module.stem}"
    loaded: ModuleType | None = sys.modules.get(module)
    return module if loaded is None or not hasattr(loaded, "__path__") else module.partition(".")[0]
