"""Diagnosis of a failing program: the broken rule is derived from the features that the program needs to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from ..finding import Finding, FindingKind
from .operations import OperationName
from .program import Program
from .restrictions import spared
from .target import KEPT_ARGUMENTS, LIVE_INDEXERS, LIVE_RESULTS, Target

Run = Callable[[Program, Target], Finding | None]
"""Function that runs a program on a target and returns the finding, or ``None``."""

_CALLERS: Final = (
    (KEPT_ARGUMENTS, "argument-is-kept"),
    (LIVE_RESULTS, "returned-container-is-live"),
    (LIVE_INDEXERS, "index-functions-shared"),
)
"""Pairs (declaration that stops a habit of rude callers, rule that is broken if the program fails only with it)."""

_PLAIN: Final = frozenset(
    {
        *("coroutine-returned", "result-is-no-list", "copies-returned", "write-returns-value", "unsorted-keys"),
        *("index-function-error-swallowed", "key-function-error-swallowed", "transaction-error-swallowed"),
        *("unknown-index-accepted", "indexer-conflict-accepted"),
    }
)
"""Rules that the outcome alone proves to be broken."""


def diagnosed(finding: Finding, target: Target, run: Run) -> Finding:
    """Return the finding with a more precise rule, if experiments with its program identify one.

    Args:
        finding: the finding of a program that fails again.
        target: the implementation as it was judged.
        run: runs the program without a feature, or with gentler callers.
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
