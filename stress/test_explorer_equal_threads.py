"""Threads that do the same begin in order: against brute force, which lets them begin in any."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kcache_model.object_types.plain import MethodCall, ObjectProgram
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.equal_actors import EqualActors
from kcache_stress.engine.execution import Execution
from kcache_stress.engine.search import SearchLimits, SearchResult, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.objects.object_exploration import ObjectExplorationTarget
from kcache_stress.runtime.threads.scheduler import Scheduler
from kcache_stress.strategies.naive import Naive
from kcache_stress.target.explore import ExploreOptions
from stress.material.explorer_targets.micro_programs import Author, Micros

PROGRAMS = 20


class Told(Dpor):
    """The reduction, told which threads do the same."""

    def __init__(self, work: Sequence[object]) -> None:
        super().__init__()
        self._work = work

    def begin(self, scheduler: Scheduler) -> None:
        scheduler.equal_actors = EqualActors(self._work)
        super().begin(scheduler)


def shown(runner: Any, strategy: Strategy, equal: EqualActors) -> tuple[set[object], SearchResult[Any]]:
    """The ways in which executions end, whichever of equal threads did what."""
    seen: set[object] = set()

    def look(execution: Execution[Any]) -> None:
        noted = equal.in_order([notes[1:] for notes in execution.outcomes])
        seen.add((execution.ending, str(noted), execution.final, execution.failures))

    result = search(runner, strategy, None, SearchLimits(500), on_execution=look)
    return seen, result


@pytest.mark.one_in(48)
@pytest.mark.parametrize("batch", range(48))
def test_nothing_is_missed_that_brute_force_shows(batch: int, tmp_path: Path) -> None:
    """Random bodies on everything that threads synchronise with, some of them in two or three threads."""
    programs = []
    for seed in itertools.count(1_000 * batch):
        bodies = [body[:2] for body in Author(seed).bodies() if "CHILD" not in str(body)]
        if len(bodies) > 1:
            programs += [[bodies[0]] * 2, [bodies[0]] * 3, [bodies[0], bodies[1], bodies[0]]]
        if len(programs) > PROGRAMS:
            break
    micros = Micros(programs, tmp_path)
    compared = fewer = 0
    for number, bodies in enumerate(programs):
        equal = EqualActors(bodies)
        reduced, result = shown(micros.runner(number), Told(bodies), equal)
        everything, brute_force = shown(micros.runner(number), Naive(), equal)
        if {result.coverage, brute_force.coverage} <= {Coverage.EXHAUSTED, Coverage.NO_PROOF}:
            compared += 1
            fewer += result.executions < shown(micros.runner(number), Dpor(), equal)[1].executions
            assert reduced == everything, micros.name(number)
    assert compared > PROGRAMS // 3
    assert fewer, "none of them begin in order"


CODE = """
import threading

class Cells:
    def __init__(self):
        self.first = self.second = 0
        self.first_in = None
        self._lock = threading.Lock()

    def write(self) -> None:
        self.second = 1

    def count(self) -> None:
        self.first += 1

    def enter(self) -> None:
        with self._lock:
            if self.first_in is None:
                self.first_in = threading.get_ident()

    def last(self) -> bool:
        return self.first_in == 1002
"""
count, write, enter, last = (MethodCall(name) for name in ("count", "write", "enter", "last"))


@pytest.fixture
def exploration_target(tmp_path: Path) -> ObjectExplorationTarget:
    from kcache_conformance.targets.class_names import class_type_name
    from kcache_conformance.targets.target_types import target_type_named

    path = tmp_path / "cells.py"
    path.write_text(textwrap.dedent(CODE), encoding="utf-8")
    exploring = target_type_named(class_type_name(f"{path}:Cells")).exploring
    assert exploring is not None
    made = exploring.exploration_target(f"{path}:Cells", (), ExploreOptions().granularity)
    assert isinstance(made, ObjectExplorationTarget)
    return made


def searched(
    exploration_target: ObjectExplorationTarget, *threads: tuple[MethodCall, ...]
) -> tuple[set[object], SearchResult[Any]]:
    seen: set[object] = set()
    runner = exploration_target.runner(ObjectProgram(threads=threads))
    result = search(runner, Dpor(), None, on_execution=lambda run: seen.add(runner.outcome(run)))
    assert result.coverage is Coverage.EXHAUSTED
    return seen, result


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_calls_of_a_class_begin_in_order(exploration_target: ObjectExplorationTarget, threads: int) -> None:
    """Each call is one write: there are as many orders of two threads as of one."""
    assert searched(exploration_target, *[(write,)] * threads)[1].executions == 1
    different = [(write,), (write, write), (write, write, write)][:threads]
    assert searched(exploration_target, *different)[1].executions > 1


def test_lost_updates_are_still_seen(exploration_target: ObjectExplorationTarget) -> None:
    seen, result = searched(exploration_target, (count,), (count,), (count,))
    assert len(seen) == 3, "one, two or three of them counted"
    assert result.executions < math.factorial(6) // math.factorial(2) ** 3


def test_those_who_ask_who_they_are_are_told_apart(exploration_target: ObjectExplorationTarget) -> None:
    """The second thread begins first in some executions: only then is it the first."""
    seen, result = searched(exploration_target, (enter, last), (enter, last))
    assert any("True" in str(shown) for shown in seen)
    assert result.executions > 2


def test_values_that_are_equal_and_differ() -> None:
    assert not EqualActors([(MethodCall("add", (1,)),), (MethodCall("add", (True,)),)])
    equal = EqualActors([(count,), (write,), (count,), (count,)])
    assert [equal.in_place_of(thread, ()) for thread in range(4)] == [0, 1, 0, 0]
    assert [equal.in_place_of(thread, (0,)) for thread in range(4)] == [0, 1, 2, 2]
    assert equal.in_order("dcba") == ("a", "c", "b", "d")
