"""Diagnosis of a failing program: which rule is broken, told by what the program needs in order to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.operations import OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.restrictions import spared
from kcache_model.indexers.target import KEPT_ARGUMENTS, LIVE_INDEXERS, LIVE_RESULTS, Target

Run = Callable[[Program, Target], Finding | None]
"""Runs a program on a target; what is wrong."""

_CALLERS: Final = (
    (KEPT_ARGUMENTS, "argument-is-kept"),
    (LIVE_RESULTS, "returned-container-is-live"),
    (LIVE_INDEXERS, "index-functions-shared"),
)
"""What rude callers do, as the declaration that stops them -> the rule that is broken where only they see a fault."""

_PLAIN: Final = frozenset(
    {
        *("coroutine-returned", "result-is-no-list", "copies-returned", "write-returns-value", "unsorted-keys"),
        *("index-function-error-swallowed", "key-function-error-swallowed", "transaction-error-swallowed"),
        *("unknown-index-accepted", "indexer-conflict-accepted"),
    }
)
"""Rules of which the outcome itself says all."""


def diagnosed(finding: Finding, target: Target, run: Run) -> Finding:
    """The finding with the rule that it breaks, where the program tells more than the outcome does.

    Args:
        finding: of a program that fails again.
        target: the implementation as it was judged.
        run: tries programs that lack something, on callers that are gentler.
    """
    program = finding.program
    if finding.rule in _PLAIN or finding.kind is FindingKind.NONDETERMINISM:
        return finding
    for rule in _candidates(program, target, run):
        return replace(finding, rule=rule)
    return finding


def _candidates(program: Program, target: Target, run: Run) -> Iterator[str]:
    if any(operation.name is OperationName.MUTATE for operation in program.operations()):
        yield "object-changed-in-place"
    for declaration, rule in _CALLERS:
        gentle = replace(target, unsupported=target.unsupported | {declaration})
        if declaration not in target.unsupported and run(program, gentle) is None:
            yield rule
    for restriction, without in spared(program):
        if run(without, target) is None:
            yield restriction.rule
