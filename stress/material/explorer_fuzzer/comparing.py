"""Compares what an exhaustive search has seen of a program with what the interpreter does."""

from __future__ import annotations

import enum
import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kcache_model.errors import CannotExploreError
from kcache_stress.engine.dpor import DivergedError, Dpor
from kcache_stress.engine.granularity import Granularity
from kcache_stress.engine.search import SearchLimits, search
from kcache_stress.engine.strategy import Coverage
from kcache_stress.target.observing import gap_in_reports

from .bench import Bench, Outcome
from .generator import Design
from .oracle import Oracle

_OPCODES: Final = {Granularity.FREE: Granularity.OPCODES, Granularity.GIL: Granularity.OPCODES_GIL}
"""Where the explorer switches, and the interpreter accordingly."""


class Verdict(enum.StrEnum):
    """What became of one program at one granularity."""

    SAME = "same"
    MISSING = "false exhausted"
    """The interpreter does what the explorer, which calls the program exhausted, has not seen."""
    EXTRA = "false alarm?"
    """The explorer has seen what the interpreter does not do however long it is tried."""
    NO_PROOF = "no proof"
    """The explorer itself names a reason; or its observer names one, and rightly: the interpreter does more."""
    GAP = "gap in the reports"
    """Only the observer prevents a proof: it names two accesses which no event orders. No outcome is missing."""
    TOO_LONG = "too long"
    DIVERGED = "diverged"
    REFUSED = "refused"


@dataclass(frozen=True)
class Effort:
    """How much is tried for one program.

    Attributes:
        executions: the most of the explorer; beyond, the program is skipped.
        double: how many schedules with two preemptions the oracle tries.
        extra: how many random schedules it tries for what the explorer alone has seen; 0 for nobody to ask.
    """

    executions: int = 150
    double: int = 6
    extra: int = 0


THOROUGH: Final = Effort(double=24, extra=400)
_THOROUGH: Final = 11
"""Every so many programs are compared thoroughly, both ways."""


@dataclass(frozen=True)
class Comparison:
    """What comparing gave.

    Attributes:
        pair: the threads.
        granularity: the explorer's.
        verdict: what became of it.
        outcomes: those that only the explorer or only the interpreter has.
        explored: what the explorer has seen.
        schedule: that shows the first of them.
        executions: of the explorer and of the oracle.
        note: the reason for the verdict, such as the gap that the observer names.
    """

    pair: tuple[int, int]
    granularity: Granularity
    verdict: Verdict
    outcomes: tuple[Outcome, ...] = ()
    explored: tuple[Outcome, ...] = ()
    schedule: Any = ()
    executions: tuple[int, int] = (0, 0)
    note: str = ""


def compare(
    design: Design,
    folder: Path,
    name: str,
    *,
    pairs: Sequence[tuple[int, int]] | None = None,
    granularities: Sequence[Granularity] = (Granularity.FREE, Granularity.GIL),
    effort: Effort | None = None,
) -> Iterator[Comparison]:
    """Compare programs of one module; all of its pairs, unless some are given."""
    file = folder / f"{name}.py"
    file.write_text(design.source(), encoding="utf-8")
    if pairs is None:
        pairs = [(one, two) for one in range(len(design.works)) for two in range(one, len(design.works))]
    try:
        for granularity in granularities:
            try:
                explored, plain = Bench(file, granularity), Bench(file, _OPCODES[granularity])
            except CannotExploreError as error:
                yield from (Comparison(pair, granularity, Verdict.REFUSED, note=str(error)) for pair in pairs)
                continue
            for number, pair in enumerate(pairs):
                yield _compare(explored, plain, pair, effort or (Effort() if number % _THOROUGH else THOROUGH))
            explored.clean_up()
            plain.clean_up()
    finally:
        file.unlink()
        gc.collect()


def _compare(explored: Bench, plain: Bench, pair: tuple[int, int], effort: Effort) -> Comparison:
    granularity = explored.granularity
    seen: set[Outcome] = set()
    explored.choose(pair)
    try:
        limits = SearchLimits(effort.executions)
        result = search(explored.runner, Dpor(), None, limits, on_execution=lambda run: seen.add(explored.outcome(run)))
    except DivergedError as error:
        return Comparison(pair, granularity, Verdict.DIVERGED, note=str(error))
    if result.coverage is not Coverage.EXHAUSTED or result.note:
        is_long = result.executions >= effort.executions
        return Comparison(pair, granularity, Verdict.TOO_LONG if is_long else Verdict.NO_PROOF, note=result.note)
    gap = gap_in_reports(explored.runner)
    plain.choose(pair)
    oracle = Oracle(plain, pair[0] * 1000 + pair[1])
    oracle.look(effort.double)
    extra = set()
    if effort.extra and oracle.seen.keys() <= seen:
        extra = oracle.reaches(seen, effort.extra)
    missing = tuple(sorted(oracle.seen.keys() - seen))
    if missing:
        verdict = Verdict.NO_PROOF if gap else Verdict.MISSING
    elif extra:
        verdict = Verdict.EXTRA
    else:
        verdict = Verdict.GAP if gap else Verdict.SAME
    return Comparison(
        pair,
        granularity,
        verdict,
        missing or tuple(sorted(extra)),
        tuple(sorted(seen)),
        oracle.seen[missing[0]] if missing else (),
        (result.executions, oracle.executions),
        gap,
    )
