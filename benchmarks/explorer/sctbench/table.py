"""The table of the programs: executions until each search finds what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median

from benchmarks.sheet import Sheet

from ..tables import Effort
from .catalog import CS_SET, HARDER, PROGRAMS
from .hunting import DETERMINISTIC, MOST_EXECUTIONS, STRATEGIES, Hunted, copies, hunt

MOST_SEEDS = 3


def searched(effort: Effort, note: Callable[[str], None]) -> Iterator[Sheet]:
    """Each program with each strategy; the median of up to three seeds where it has one."""
    given, rows = copies(), []
    for name in islice(PROGRAMS, effort.faults):
        row = [name]
        for strategy, plan in STRATEGIES.items():
            note(f"{name}, {strategy}")
            seeds = range(1 if strategy in DETERMINISTIC else min(effort.seeds, MOST_SEEDS))
            row.append(_shown([hunt(name, plan, seed, effort.search_seconds / 6, given) for seed in seeds]))
        rows.append(tuple(row))
    counted = [row for row in rows if row[0] in CS_SET]
    found = [sum(not row[column].startswith("-") for row in counted) for column in range(1, len(rows[0]))]
    rows.insert(len(counted), (f"found of {len(counted)}", *map(str, found)))
    title = f"SCTBench: executions until found, at most {MOST_EXECUTIONS:,}; the last {len(HARDER)} are harder"
    yield Sheet(title, ("", *STRATEGIES), rows)


def _shown(runs: list[Hunted]) -> str:
    middle = median(ran.executions if ran.found else float("inf") for ran in runs)
    if middle < float("inf"):
        return f"{middle:,.0f}"
    return f"- ({median(ran.executions for ran in runs):,.0f} tried)"
