"""Small-scope verification: all programs up to a bound, all interleavings of each, and a certificate that says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from kcache_model.bound import Bound
from kcache_model.errors import TargetError
from kcache_model.indexers.items import Semantics
from kcache_stress.target.explore import ExploreOptions

from ..suite_options import DEFAULT_TYPE
from ..target_types import target_type_named
from .batch import Batch, describe, exploring_of
from .outcomes import Certificate, Part, Run, Tally
from .parts import carried, changed_files, read_part, setting_of
from .scope import Scope
from .spread import spread

_COUNTING_SHARE = 0.2
"""Of the time for everything, how much may go into counting the programs."""


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
        bound: threads and operations of each, at most.
        options: how to explore; the strategy is always exhaustive.
        type: of the target.
        semantics: which generation of client-go decides.
        instrument: further packages to instrument.
        jobs: how many processes.
        executor: see :func:`~.spread.spread`.
        seconds: after which no further programs are begun.
        patience_seconds: how long one execution may take.
        resume: the certificate of earlier runs that this one goes on with; what they explored is not explored again.
        on_progress: told how many programs there are and what was done so far.

    Raises:
        TargetError: the target cannot be loaded, or its sources changed after earlier runs.
        FormatError: there is no certificate to go on with, or it is of something else.
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
