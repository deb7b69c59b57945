"""Small-scope verification: explores all interleavings of all programs up to a bound, and returns a certificate."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kcache import Semantics
from kcache_model.bound import Bound
from kcache_model.errors import TargetError
from kcache_stress.target.explore import ExploreOptions

from ..phases.suite_options import DEFAULT_TYPE
from ..results.exploration_outcomes import Certificate, Part, Run, Tally
from ..targets.target_types import target_type_named
from .batch import Batch, describe, exploring_of
from .parts import carried, changed_files, read_part, setting_of
from .scope import Scope
from .spread import spread

_COUNTING_SHARE = 0.2
"""The share of the total time that may be spent on counting the programs."""


def verify(
    target: str,
    bound: Bound,
    options: ExploreOptions | None = None,
    *,
    type: str = DEFAULT_TYPE,
    semantics: Semantics = Semantics.CLASSIC,
    instrument: tuple[str, ...] = (),
    jobs: int = 1,
    executor: Executor | None = None,
    seconds: float = float("inf"),
    patience_seconds: float = 3.0,
    resume: Path | None = None,
    on_progress: Callable[[int | None, Tally], None] = lambda _total, _tally: None,
) -> Certificate:
    """Explore every program of the bound, exhaustively.

    Args:
        target: name of the implementation.
        bound: the most threads, and the most operations of each.
        options: the options of the search; the strategy is always exhaustive.
        type: of the target.
        semantics: the generation of client-go that defines correct results.
        instrument: further packages to instrument.
        jobs: the number of processes.
        executor: see :func:`~.spread.spread`.
        seconds: the time after which no further programs are begun.
        patience_seconds: how long one execution may take.
        resume: the certificate of earlier runs to continue; their programs are not explored again.
        on_progress: called with the number of programs and the sum so far.

    Raises:
        TargetError: the target cannot be loaded, or its sources changed after earlier runs.
        FormatError: there is no certificate to continue, or it belongs to another setting.
        HarnessError: the harness failed.
    """
    date, began = datetime.now(UTC), time.monotonic()
    options = replace(options or ExploreOptions(), strategy="dpor")
    exploring = exploring_of(type)
    description = describe(target, instrument, options.granularity, type)
    template = Batch(
        target,
        options,
        type=type,
        semantics=semantics,
        instrument=instrument,
        patience_seconds=patience_seconds,
        is_whole=True,
    )
    setting = setting_of(template, bound, description)
    part = Part(setting) if resume is None else read_part(resume, setting, description.loaded)
    total, tally = part.programs, Tally(refused=description.refused)
    reached = part
    if not description.refused:
        stand_in = exploring.stand_in(target, frozenset(description.unsupported))
        if total is None:
            total = exploring.count(bound, stand_in, semantics, began + _COUNTING_SHARE * seconds)
        on_progress(total, part.tally)
        everything = exploring.small_scope(bound, stand_in, semantics, began + seconds)
        scope = Scope(template, everything, began + seconds, replace(part, programs=total), jobs)
        explored, _ = spread(
            scope.batches(),
            jobs=jobs,
            executor=executor,
            seconds=began + seconds - time.monotonic(),
            on_tally=lambda so_far: on_progress(total, part.tally.merged(so_far)),
            on_batch=scope.note,
        )
        tally, reached = tally.merged(explored), scope.reached()
    changed = changed_files(part.tally.sources, tally.sources)
    if changed and tally.finding is None:
        raise TargetError(f"{', '.join(changed)} changed since {resume} was written: begin anew without --resume")
    run = Run(date, time.monotonic() - began, tally.programs)
    sources = tally.sources | carried(part.tally.sources, tally.sources)
    return Certificate(
        target,
        bound,
        type,
        semantics if "semantics" in target_type_named(type).knows else None,
        options.granularity.value,
        replace(reached, tally=replace(part.tally.merged(tally), sources=sources), runs=(*part.runs, run)),
        description,
    )
