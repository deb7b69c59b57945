"""The table of the standard specifications."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.sheet import Sheet
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.judging import judge_of
from kcache_model.standard_specifications import STANDARD_SPECIFICATIONS
from model.material.small_histories import History, random_history

if TYPE_CHECKING:
    from .tables import Effort

_SHAPES = (
    ("register", ("read", "write"), True),
    ("map", ("get", "put"), True),
    ("queue", ("enqueue", "dequeue"), True),
    ("stack", ("push", "pop"), True),
    ("priority-queue", ("push", "pop"), True),
    ("set", ("add", "remove", "contains"), False),
    ("cas-register", (), False),
    ("counter", (), False),
)


def specified(effort: Effort) -> Sheet:
    """Histories of the usual objects: valid ones, and ones in which two calls have exchanged their results."""
    calls = effort.calls // 10
    rows = []
    for name, names, distinct in _SHAPES:
        specification = STANDARD_SPECIFICATIONS[name]
        history = random_history(
            specification, Random(5), calls=calls, threads=8, names=names, distinct=distinct, pending=0.0, patience=0.5
        )
        row = [name, "distinct" if distinct else "two values"]
        for judged in (history, _exchanged(history)):
            told = list(map(specification.told, judged))
            began = process_time()
            verdict = judge_of(specification).judge(told, SearchBudget(effort.search_seconds, 10**12))
            row += [verdict.status.value, f"{1000 * (process_time() - began):,.0f}"]
        rows.append(tuple(row))
    title = f"Specified: {calls:,} calls, 8 threads; CPU ms"
    return Sheet(title, ("", "values", "valid", "ms", "exchanged", "ms"), rows)


def _exchanged(history: History) -> History:
    told = [at for at, call in enumerate(history) if call.outcome is not None and call.outcome.value is not None]
    one = told[len(told) // 3]
    other = next((at for at in told[len(told) // 2 :] if history[at].outcome != history[one].outcome), one)
    changed = list(history)
    changed[one] = replace(history[one], outcome=history[other].outcome)
    changed[other] = replace(history[other], outcome=history[one].outcome)
    return changed
