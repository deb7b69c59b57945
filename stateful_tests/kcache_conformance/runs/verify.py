"""Small-scope verification: all programs up to a bound, all interleavings of each, and a certificate that says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from kcache_model.bound import Bound
from kcache_model.indexers.items import Semantics
from kcache_stress.explorer.explore import ExploreOptions, StrategyName
from kcache_stress.interruption import is_interrupted

from ..suite_options import DEFAULT_TYPE
from ..target_types import target_type_named
from .batch import Batch, describe, exploring_of
from .outcomes import Certificate, Tally
from .spread import spread

_BATCH_PROGRAMS = 600
_LONGEST_BATCH_SECONDS = 3600.0
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
        on_progress: told how many programs there are and what was done so far.

    Raises:
        TargetError: the target cannot be loaded.
        HarnessError: the harness failed.
    """
    date, began = datetime.now(UTC), time.monotonic()
    options = replace(options or ExploreOptions(), strategy=StrategyName.DPOR)
    exploring = exploring_of(type)
    description = describe(target, instrument, options.granularity, type)
    stand_in = exploring.stand_in(target, frozenset(description.unsupported))
    if description.refused:
        total, tally = None, Tally(refused=description.refused)
    else:
        total = exploring.count(bound, stand_in, semantics, began + _COUNTING_SHARE * seconds)
        everything = exploring.small_scope(bound, stand_in, semantics, began + seconds)
        template = Batch(
            target,
            options,
            type=type,
            semantics=semantics,
            instrument=instrument,
            patience_seconds=patience_seconds,
        )
        scope = _Scope(template, everything, began + seconds)
        tally, _ = spread(
            scope.batches(),
            jobs=jobs,
            executor=executor,
            seconds=seconds,
            on_tally=lambda so_far: on_progress(total, so_far),
        )
        total = scope.total if total is None else total
    return Certificate(
        target,
        bound,
        type,
        semantics if "semantics" in target_type_named(type).knows else None,
        options.granularity.value,
        total,
        tally,
        date,
        time.monotonic() - began,
        description,
    )


class _Scope:
    """The programs of a bound in batches.

    Attributes:
        total: how many there are; ``None`` as long as they have not come to their end.
    """

    def __init__(self, template: Batch, programs: Iterator[Any], deadline: float) -> None:
        self._template, self._programs, self._deadline = template, programs, deadline
        self.total: int | None = None

    def batches(self) -> Iterator[Batch]:
        count = 0
        while some := tuple(islice(self._programs, _BATCH_PROGRAMS)):
            count += len(some)
            seconds = min(self._deadline - time.monotonic(), _LONGEST_BATCH_SECONDS)
            yield replace(self._template, programs=some, seconds=seconds)
        if time.monotonic() <= self._deadline and not is_interrupted():  # neither has ended them
            self.total = count
