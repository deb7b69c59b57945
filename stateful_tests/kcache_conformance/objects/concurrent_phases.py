"""The phases on an object that have threads: the explorer, and stress with real ones."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kcache_model.object_types.object_type import ObjectType
from kcache_stress.explorer.explore import ExploreOptions, hunting
from kcache_stress.objects.laboratory import ObjectLaboratory
from kcache_stress.objects.threads import ObjectStress

from ..budget_slices import as_time_passes
from ..explorer_phase import Search, explorer_phase
from ..phase import PhaseContext, PhaseOutcome
from .context import own_patience, setting_of
from .programs import LARGER_SHAPES, SHAPES, litmus_tests, lonely_calls, random_program, shapes_within

_EXECUTIONS: Final = 400
_PROGRAM_SECONDS: Final = 2.0
_MINIMISE_SECONDS: Final = 8.0
_PROGRESS_SECONDS: Final = 0.2
_PROGRAMS_UNDER_STRESS: Final = 200
_ROUNDS_AT_ONCE: Final = 8


def explorer(object_type: ObjectType, context: PhaseContext) -> PhaseOutcome:
    """The interleavings of small programs."""
    options = ExploreOptions(
        executions=_EXECUTIONS,
        seconds=_PROGRAM_SECONDS,
        strict_errors=context.options.strict_errors,
        minimise_seconds=_MINIMISE_SECONDS,
    )

    def searches(_: str) -> Iterator[Search]:
        laboratory = ObjectLaboratory(object_type, context.target, context.options.instrument)
        alone = lonely_calls(object_type, context.target)
        for number, program in enumerate(itertools.chain(alone, _programs(object_type, context))):
            yield Search(laboratory, program, hunting(options, number))

    return explorer_phase(context, searches, object_type.called)


def stress(object_type: ObjectType, context: PhaseContext) -> PhaseOutcome:
    """Small programs with real threads."""
    told = 0.0
    counts = Counter(programs=0, operations=0, overlapping=0, undecided=0)
    setting = setting_of(object_type, context)
    stress = ObjectStress(context.target, setting, context.watch, context.seed, own_patience(context))
    covered = stress.coverage.counts, stress.coverage.overlapped
    with stress.underway():
        programs = itertools.cycle(itertools.islice(_programs(object_type, context), _PROGRAMS_UNDER_STRESS))
        rounds = (program for program in programs for _ in range(_ROUNDS_AT_ONCE))
        for program, fraction in zip(rounds, as_time_passes(context.seconds), strict=False):
            if time.monotonic() - told >= _PROGRESS_SECONDS:
                told = time.monotonic()
                context.on_progress(fraction, PhaseOutcome(counts, None, *covered))
            found = stress.run(program)
            counts["programs"], counts["operations"] = stress.rounds, stress.coverage.counts.total()
            counts["overlapping"], counts["undecided"] = stress.overlapping, stress.undecided
            if found.kind is not None:
                context.on_finding(stress.finding(program, found, is_small=True))
                finding = stress.finding(program, found)
                return PhaseOutcome(counts, finding, *covered)
    return PhaseOutcome(counts, None, *covered)


def _programs(object_type: ObjectType, context: PhaseContext) -> Iterator[Any]:
    """Litmus tests, then random ones. A second turn comes from the other end: the first may have been short."""
    litmus = list(litmus_tests(object_type, context.target))
    yield from litmus if context.seed % 2 == 0 else reversed(litmus)
    for number in itertools.count():
        shapes: Sequence[tuple[int, ...]] = LARGER_SHAPES if number % 5 == 4 else SHAPES
        if context.options.shape is not None:
            shapes = shapes_within(*context.options.shape)
        yield random_program(context.seed * 1_000_003 + number, object_type, context.target, shapes)
