"""Runs of one program on an Indexer, without concurrency."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import closing
from typing import Final

from kcache_model.call_program import serial_orders
from kcache_model.finding import Finding
from kcache_model.indexers.diagnosis import diagnosed
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.program import Program
from kcache_model.indexers.reads import final_reads
from kcache_model.indexers.target import Target
from kcache_model.object_types.smaller import smaller
from kcache_model.progress import NoProgress, ProgressListener
from kcache_stress.objects.findings import Setting

from ..objects import sequential
from ..objects.mismatches import finding_of
from ..objects.patient_caller import DirectCaller
from ..objects.sequential import SequentialSetup

_MOST_ORDERS: Final = 30
_SMALLER_SECONDS: Final = 5.0
_SMALLER_ATTEMPTS: Final = 2_000


def run_program(
    target: Target,
    program: Program,
    *,
    strict_errors: bool = False,
    watch: ProgressListener | None = None,
    is_known: Callable[[Finding], bool] = lambda _: False,
) -> Finding | None:
    """Run a program step by step, the threads one after another; return the first unknown finding.

    Args:
        target: the implementation.
        program: the program.
        strict_errors: require kcache's error types.
        watch: records each step before its call.
        is_known: whether a finding is already known and is ignored.
    """
    setting = Setting(INDEXER_OBJECTS, target.name, strict_errors)
    with closing(DirectCaller()) as caller:
        setup = SequentialSetup(
            INDEXER_OBJECTS,
            target,
            caller,
            watch or NoProgress(),
            strict_errors=strict_errors,
            is_known=lambda mismatch: is_known(finding_of(setting, "", mismatch)),
        )
        mismatch = sequential.run_program(setup, program)
    return None if mismatch is None else finding_of(setting, "", mismatch)


def in_any_order(target: Target, program: Program, watch: ProgressListener, *, strict_errors: bool) -> Finding | None:
    """Run a program without concurrency, in up to ``_MOST_ORDERS`` sequential orders; return the first finding."""
    reads = final_reads(program, target)
    for order in itertools.islice(serial_orders(program), _MOST_ORDERS):
        calls = order.with_calls((*order.prefix, *reads))
        finding = run_program(target, calls, strict_errors=strict_errors, watch=watch)
        if finding is not None:
            return finding
    return None


def smallest(finding: Finding, target: Target, watch: ProgressListener, *, strict_errors: bool) -> Finding:
    """Return the finding of the smallest program that breaks the same rule at the same location, diagnosed.

    The finding is returned unchanged if its own program does not fail again.
    """
    best = None

    def run(program: Program, target: Target) -> Finding | None:
        return run_program(target, program, strict_errors=strict_errors, watch=watch)

    def fails(program: Program) -> bool:
        nonlocal best
        found = run(program, target)
        if found is None or (found.rule, found.location) != (finding.rule, finding.location):
            return False
        best = found
        return True

    if fails(finding.program):
        smaller(INDEXER_OBJECTS, finding.program, fails, seconds=_SMALLER_SECONDS, attempts=_SMALLER_ATTEMPTS)
    return finding if best is None else diagnosed(best, target, run)
