"""Runs two threads of a generated module, in one of the explorer's sandboxes, and notes what comes of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from kcache_stress.engine.execution import Execution
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.strategy import Ending, Strategy
from kcache_stress.modules.copies import Copies
from kcache_stress.runtime.threads.virtual_thread import Aborted
from kcache_stress.target.scenario_runner import Load, Scenario, ScenarioRunner

_MOST_EVENTS: Final = 3_000

Outcome = tuple[str, ...]
"""How it ended, what each thread returned or raised, what is left."""


@dataclass(frozen=True)
class Run:
    """An execution and its outcome, which is empty if it did not come to an end."""

    execution: Execution
    outcome: Outcome


class Bench:
    """A module at one granularity, and a pair of its threads.

    Args:
        file: the module; its folder must be on the import path.
        granularity: where threads are switched.
    """

    def __init__(self, file: Path, granularity: Granularity) -> None:
        importlib.invalidate_caches()
        self.granularity = granularity
        self._name = file.stem
        self._copies = Copies((file.stem,), granularity)
        self._ended = ["", ""]
        self._final = ""
        self._runner: Any = None

    @property
    def module(self) -> ModuleType:
        """The copy that runs."""
        return self._copies.modules[self._name]

    @property
    def runner(self) -> Any:
        """What a search of the pair needs."""
        return self._runner

    def choose(self, pair: tuple[int, int]) -> None:
        """Put two threads to work from now on."""
        shared: list[Any] = []

        def setup(load: Load) -> list[Callable[[], None]]:
            module: Any = self._copies.modules.get(self._name) or load(self._name)  # to load it again takes a while
            shared[:] = [module.make()]
            self._ended, self._final = ["unfinished"] * 2, ""
            works = (getattr(module, f"work{number}") for number in pair)
            return [_part(work, shared[0], self._ended, number) for number, work in enumerate(works)]

        def check(_: list[object]) -> None:
            self._final = _told(self.module, shared[0])

        self._runner = ScenarioRunner(Scenario((self._name,), setup, check), self._copies, _MOST_EVENTS)

    def run(self, strategy: Strategy) -> Run:
        """Run the pair once."""
        execution = self._runner.run(strategy)
        return Run(execution, self.outcome(execution))

    def outcome(self, execution: Execution[object]) -> Outcome:
        """What came of the last execution."""
        is_over = execution.ending in (Ending.COMPLETE, Ending.DEADLOCK)
        return (execution.ending.value, *self._ended, self._final) if is_over else ()

    def clean_up(self) -> None:
        """Unwind the last execution."""
        if self._runner is not None:
            self._runner.clean_up()


def _part(work: Callable[[Any], object], shared: object, ended: list[str], number: int) -> Callable[[], None]:
    def run() -> None:
        try:
            ended[number] = repr(work(shared))
        except Aborted:
            raise
        except BaseException as error:
            ended[number] = type(error).__name__

    return run


def _told(module: Any, shared: object) -> str:
    try:
        return repr(module.final(shared))
    except Exception as error:
        return type(error).__name__
