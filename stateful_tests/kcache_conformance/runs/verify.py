"""Small-scope verification: all programs up to a bound, all interleavings of each, and a certificate that says so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from kcache_model.bound import Bound
from kcache_model.indexers.items import Semantics
from kcache_model.verdict import Status
from kcache_stress.explorer.explore import ExploreOptions, StrategyName

from ..suite_options import DEFAULT_TYPE
from .batch import Batch, Description, Tally, describe, exploring_of
from .spread import spread

_BATCH_PROGRAMS = 600
_LONGEST_BATCH_SECONDS = 3600.0
_COUNTING_SHARE = 0.2
"""Of the time for everything, how much may go into counting the programs."""


@dataclass(frozen=True)
class Certificate:
    """What small-scope verification has shown.

    Attributes:
        target: name of the implementation.
        bound: threads and operations of each, at most.
        semantics: which generation of client-go decides.
        granularity: where threads were switched.
        programs: how many programs the bound has; ``None`` if they could not be counted in time.
        tally: what exploring them gave.
        seconds: how long it took.
        description: what the target is made of.
    """

    target: str
    bound: Bound
    semantics: Semantics
    granularity: str
    programs: int | None
    tally: Tally
    seconds: float
    description: Description

    @property
    def status(self) -> Status:
        """OK only if every interleaving of every program was covered."""
        if self.tally.finding is not None:
            return self.tally.finding.status
        return Status.OK if self.tally.exhausted == self.programs else Status.UNKNOWN


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
    began = time.monotonic()
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
        ended: list[int] = []
        tally, _ = spread(
            _batches(template, everything, began + seconds, ended.append),
            jobs=jobs,
            executor=executor,
            seconds=seconds,
            on_tally=lambda so_far: on_progress(total, so_far),
        )
        total = ended[0] if ended else total  # the count may have been cut short, the enumeration was not
    spent = time.monotonic() - began
    return Certificate(target, bound, semantics, options.granularity.value, total, tally, spent, description)


def _batches(
    template: Batch, programs: Iterator[Any], deadline: float, on_end: Callable[[int], None]
) -> Iterator[Batch]:
    """The programs in batches; ``on_end`` is told how many there were, if the deadline did not end them."""
    count = 0
    while some := tuple(islice(programs, _BATCH_PROGRAMS)):
        count += len(some)
        yield replace(template, programs=some, seconds=min(deadline - time.monotonic(), _LONGEST_BATCH_SECONDS))
    if time.monotonic() < deadline:
        on_end(count)
