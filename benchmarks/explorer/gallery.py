"""How long it takes to find the faults of the gallery from generated programs, in the way of `kcache check`."""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from time import process_time

from kcache_model.indexers.items import Semantics
from kcache_model.indexers.program import Program
from kcache_stress.indexers.programs.random_programs import explorer_program
from kcache_stress.target.explore import ExploreOptions, hunting

from .ours import Explorer
from .programs import GALLERY, reverse

OPTIONS = ExploreOptions(samples=20, executions=300, seconds=2.0)
MOST_PROGRAMS = 400
MOST_SECONDS = 10.0


@dataclass
class Hunt:
    """One target, several seeds.

    Attributes:
        name: the target.
        seconds: processor time until something was found, seed by seed.
        programs: how many programs that took.
        executions: and how many executions.
        missed: how many seeds found nothing.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    programs: list[int] = field(default_factory=list)
    executions: list[int] = field(default_factory=list)
    missed: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def worst(self) -> float:
        return max(self.seconds)


def names(*, faults: bool) -> list[str]:
    """The targets with concurrent faults, or the correct designs."""
    catalog = tomllib.loads((GALLERY / "catalog.toml").read_text(encoding="utf-8"))["target"]
    if faults:
        return [entry["name"] for entry in catalog if entry["kind"] == "concurrent"]
    return [entry["name"] for entry in catalog if entry["verdict"] == "correct"]


def explorer_of(name: str) -> Explorer:
    return Explorer(f"{GALLERY / name}.py:new_indexer")


def programs(seed: int, explorer: Explorer, turn: Callable[[Program], Program]) -> Iterator[Program]:
    number = seed * 100_003
    while True:
        yield turn(explorer_program(number, explorer.subject.target, Semantics.CLASSIC))
        number += 1


def as_it_is(program: Program) -> Program:
    return program


ORDERS: dict[str, Callable[[Program], Program]] = {"as generated": as_it_is, "reversed": reverse}
"""In which order the threads of each program are listed."""


def hunt(name: str, seeds: range, turn: Callable[[Program], Program]) -> Hunt:
    """Explore programs until one shows that the target is wrong."""
    explorer, result = explorer_of(name), Hunt(name)
    for seed in seeds:
        began, tried, executions, found = process_time(), 0, 0, ""
        for number, program in enumerate(islice(programs(seed, explorer, turn), MOST_PROGRAMS)):
            ran = explorer.explored(program, hunting(OPTIONS, number))
            tried, executions, found = tried + 1, executions + ran.executions, ran.found
            if found or process_time() - began > MOST_SECONDS:
                break
        result.seconds.append(process_time() - began)
        result.programs.append(tried)
        result.executions.append(executions)
        result.missed += not found
    return result


def false_alarms(name: str, count: int, turn: Callable[[Program], Program]) -> list[str]:
    """What is found in so many programs on a target that is correct."""
    explorer = explorer_of(name)
    return [
        found
        for program in islice(programs(0, explorer, turn), count)
        if (found := explorer.explored(program, OPTIONS).found)
    ]
