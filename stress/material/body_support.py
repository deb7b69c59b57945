"""Bodies of interleaved tests, explored in this process: one file of them, and what a search of each found."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.dpor import Dpor
from kcache_stress.engine.execution import Execution
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage, Strategy
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.target.exploration_result import ExplorationResult
from kcache_stress.target.investigation import investigate

_USUAL = InterleavedProgram()

STARTED = """
import threading, time

def started(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def investigated(
    folder: Path, source: str, executions: int = 2_000, program: InterleavedProgram = _USUAL
) -> Iterator[tuple[str, ExplorationResult[object]]]:
    """Investigate each function ``test_*`` of a module: search it, and prove it if that is possible."""
    file, names = _written(folder, source)
    for name in names:
        exploration_target = BodyExplorationTarget(f"{file}:{name}")
        yield (
            name,
            investigate(
                lambda _, exploration_target=exploration_target: exploration_target.open_runner(program),  # type: ignore[misc]
                lambda _: [(Dpor(), executions)],
                seconds=60.0,
            ),
        )


@dataclass(frozen=True)
class Searched:
    """The result of a search.

    Attributes:
        name: of the body.
        coverage: how far the search got.
        problem: the text of what went wrong; empty if nothing did.
        unseen: why real threads may not do the same; empty if nothing is known.
        note: why the search proves nothing.
        executions: how many there were.
        events: of the longest execution.
        seconds: of virtual time that the first execution waited for.
    """

    name: str
    coverage: Coverage
    problem: str
    unseen: str
    note: str
    executions: int
    events: int
    seconds: float


def searched(
    folder: Path, source: str, executions: int = 200, strategy: type[Strategy] = Dpor, names: Sequence[str] = ()
) -> Iterator[Searched]:
    """Search the interleavings of each function ``test_*`` of a module, or of those that are named."""
    file, found = _written(folder, source)
    for name in names or found:
        yield _searched(file, name, executions, strategy())


def _written(folder: Path, source: str) -> tuple[Path, Sequence[str]]:
    text = STARTED + inspect.cleandoc(source) + "\n"
    file = folder / "bodies.py"
    file.write_text(text, encoding="utf-8")
    return file, [line[4:].partition("(")[0] for line in text.splitlines() if line.startswith("def test_")]


def _searched(file: Path, name: str, executions: int, strategy: Strategy) -> Searched:
    lengths, waited = [0], list[float]()

    def look(execution: Execution[object]) -> None:
        lengths.append(len(execution.trace))
        waited.append(execution.seconds)

    exploration_target = BodyExplorationTarget(f"{file}:{name}")
    with exploration_target.open_runner(InterleavedProgram()) as (runner, judge):
        result = search(runner, strategy, judge, SearchLimits(executions, 60.0), on_execution=look)
        shown = result.execution
        return Searched(
            name,
            result.coverage,
            str((result.problem and result.problem.summary) or ""),
            runner.sandbox.unseen(shown.trace) if shown is not None else "",
            result.note,
            result.executions,
            max(lengths),
            (waited or [0.0])[0],
        )
