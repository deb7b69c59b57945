"""Where the time of an execution goes."""

from __future__ import annotations

import cProfile
import pstats
from collections import defaultdict
from typing import Any, Final

from kcache_model.indexers.program import Program
from kcache_stress.engine.search import SearchLimits

from .ours import Explorer, MakeStrategy

_GROUPS: Final = (
    ("happens-before", ("/engine/happens_before.py", "/engine/events.py")),
    ("judge", ("/kcache_stress/judgement/", "/linearizability/", "outcomes.py", "indexer_model.py")),
    ("strategy", ("/engine/dpor.py", "/engine/strategy.py", "/kcache_stress/strategies/", "/random.py")),
    ("scheduler", ("/kcache_stress/runtime/",)),
    ("instrumented code", ("/kcache_stress/instrument/", "/targets/", "contextlib.py")),
    ("calls and results", ("/engine/execution.py", "/driver.py", "objects.py", "/target.py")),
)
_OTHER: Final = "everything else"
_AROUND: Final = ("_one_by_one", "__init__")

_Row = tuple[int, int, float, float, dict[tuple[str, int, str], tuple[int, int, float, float]]]


def group_of(file: str) -> str:
    path = file.replace("\\", "/")
    return next((name for name, parts in _GROUPS if any(part in path for part in parts)), _OTHER)


def profile(explorer: Explorer, program: Program, make: MakeStrategy, seconds: float) -> tuple[dict[str, float], float]:
    """The share of each group, what C functions take counted for whoever calls them; and a share across the groups.

    The latter is what making the Indexer, filling it and reading it back takes, with all that these call.
    """
    profiler = cProfile.Profile()
    explorer.search(program, make, SearchLimits(200, seconds))
    profiler.runcall(explorer.keep_on, program, make, seconds)
    statistics: dict[tuple[str, int, str], _Row] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    spent: dict[str, float] = defaultdict(float)
    around = 0.0
    for (file, _, function), (_, _, own, cumulative, callers) in statistics.items():
        if function == "_one_by_one" or (function == "__init__" and file.endswith("driver.py")):
            around += cumulative
        if file == "~" and callers:
            for (caller, _, _), (_, _, part, _) in callers.items():
                spent[group_of(caller)] += part
        else:
            spent[group_of(file)] += own
    total = sum(spent.values())
    return {name: part / total for name, part in sorted(spent.items(), key=_share)}, around / total


def _share(entry: tuple[str, Any]) -> float:
    return -float(entry[1])
