"""Small-scope verification: explores all interleavings of all programs up to a bound, and returns a certificate."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kcache_model.bound import Bound
from kcache_model.errors import TargetError
from kcache_stress.target.explore import ExploreOptions

from ..phases.suite_options import SuiteOptions, encode_options
from ..results.exploration_outcomes import Certificate, Part, Run, Tally
from ..targets.target_types import target_type_named
from .batch import Batch, describe, exploring_of
from .choice_tree_files import ChoiceTrees, Header
from .parts import carried, changed_files, read_part, setting_of
from .scope import Scope
from .spread import spread

_COUNTING_SHARE = 0.2
"""The share of the total time that may be spent on counting the programs."""

WITHOUT_LIMIT: Final = SuiteOptions(budget_seconds=inf)


def verify(
    target: str,
    bound: Bound,
    suite_options: SuiteOptions = WITHOUT_LIMIT,
    options: ExploreOptions | None = None,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    resume: Path | None = None,
    certificate: Path | None = None,
    on_progress: Callable[[int | None, Tally], None] = lambda _total, _tally: None,
) -> Certificate:
    """Explore every program of the bound, exhaustively.

    Args:
        target: name of the implementation.
        bound: the most threads, and the most operations of each.
        suite_options: the options of the run, among them the type of the target, and the time after which no further
            programs are begun; by default there is no limit.
        options: the options of the search; its strategy is always exhaustive, its errors as strict as those of the run.
        jobs: the number of processes.
        executor: see :func:`~.spread.spread`.
        resume: the certificate of earlier runs to continue; their programs are not explored again.
        certificate: the file for the choice trees of all programs. They take memory and time.
        on_progress: called with the number of programs and the sum so far.

    Raises:
        TargetError: the target cannot be loaded, or its sources changed after earlier runs.
        FormatError: there is no certificate to continue, or it belongs to another setting.
        HarnessError: the harness failed.
    """
    date, began = datetime.now(UTC), time.monotonic()
    options = replace(
        options or ExploreOptions(),
        strategy="dpor",
        strict_errors=suite_options.strict_errors,
        records=certificate is not None,
    )
    type, seconds = suite_options.kind, suite_options.budget_seconds
    exploring = exploring_of(type)
    description = describe(target, suite_options.instrument, options.granularity, type)
    template = Batch(target, options, suite_options, is_whole=True)
    setting = setting_of(template, bound, description)
    part = Part(setting) if resume is None else read_part(resume, setting, description.loaded)
    total, tally = part.programs, Tally(refused=description.refused)
    reached = part
    stand_in = exploring.stand_in(target, frozenset(description.unsupported))
    with contextlib.ExitStack() as then:
        if certificate is not None:
            template = replace(template, trees=then.enter_context(TemporaryDirectory(prefix="kcache-trees-")))
        if total is None and not description.refused:
            total = exploring.count(bound, stand_in, suite_options, began + _COUNTING_SHARE * seconds)
        if not description.refused:
            on_progress(total, part.tally)
            everything = exploring.small_scope(bound, stand_in, suite_options, began + seconds)
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
        if certificate is not None and tally.exhausted == total and tally.finding is None:
            header = Header(target, str(bound), encode_options(suite_options))
            programs = exploring.small_scope(bound, stand_in, suite_options, inf)
            encode = target_type_named(type).codec.encode_program
            ChoiceTrees(Path(template.trees)).write(certificate, header, map(encode, programs))
    number = None if description.refused else reached.programs
    waiting = 0 if number is None else exploring.waiting(bound, stand_in, number)
    changed = changed_files(part.tally.sources, tally.sources)
    if changed and tally.finding is None:
        raise TargetError(f"{', '.join(changed)} changed since {resume} was written: start again without --resume")
    run = Run(date, time.monotonic() - began, tally.programs)
    sources = tally.sources | carried(part.tally.sources, tally.sources)
    return Certificate(
        target,
        bound,
        type,
        suite_options.semantics if "semantics" in target_type_named(type).knows else None,
        options.granularity.value,
        replace(reached, tally=replace(part.tally.merged(tally), sources=sources), runs=(*part.runs, run)),
        description,
        waiting,
    )
