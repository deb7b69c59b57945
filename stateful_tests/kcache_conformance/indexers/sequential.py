"""Sequential runs of an implementation, beside the model."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.indexer_model import IndexerModel
from kcache_model.indexers.invariants import broken_rules
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.journal import begin, step
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import INDEXES, Target
from kcache_model.outcomes import ErrorKind, Outcome, error_text
from kcache_model.progress import NoProgress, ProgressListener
from kcache_model.render import operation_text, outcome_text

from ..phase import Coverage

_HALF_DONE = (ErrorKind.INDEX_FUNC, ErrorKind.TRANSACTION)
"""A key function fails before anything is done."""


class SequentialRun:
    """One Indexer and one model that do the same.

    What a write leaves behind whose index function fails is judged of strict targets only: in client-go it is half
    done, and the next ``replace`` puts all right.

    Args:
        target: the implementation.
        indexes: the indices to create it with.
        semantics: which generation of client-go decides.
        strict_errors: ask for kcache's error types.
        reads_back: read everything back after each step, to see whether it fits together.
        watch: told of each step before it is done.

    Attributes:
        is_half_done: whether it is open what is stored, until the next ``replace``.
        coverage: counts the operations done.
    """

    def __init__(
        self,
        target: Target,
        indexes: Iterable[str],
        semantics: Semantics = Semantics.CLASSIC,
        *,
        strict_errors: bool = False,
        reads_back: bool = True,
        watch: ProgressListener | None = None,
    ) -> None:
        self._target = target
        self._strict_errors = strict_errors
        self._reads_back = reads_back
        self._watch = watch or NoProgress()
        self._indexes = () if INDEXES in target.unsupported else tuple(indexes)
        self._semantics = semantics
        self._operations: list[Operation] = []
        self._model = IndexerModel(semantics)
        self._state = self._model.initial(self._indexes)
        self.is_half_done = False
        self.coverage: Coverage = Counter()
        begin(self._watch, self.program)
        try:
            self._driver = Driver(target, self._indexes, semantics)
        finally:
            self._watch.rest()  # whoever draws the first step may take its time

    @property
    def program(self) -> Program:
        """What was done so far."""
        return Program(self._indexes, tuple(self._operations), semantics=self._semantics)

    @property
    def repair(self) -> Operation:
        """The ``replace`` that writes what is stored once more."""
        return op.replace(tuple(stored.item for stored in self._state.stored.values()), self._state.resource_version)

    def step(self, operation: Operation) -> Finding | None:
        """Do ``operation`` on both sides; returns what is wrong, or ``None``. Unsupported operations are left out."""
        if not self._target.supports(operation.name):
            return None
        self._operations.append(operation)
        step(self._watch, operation)
        try:
            return self._compare(operation)
        finally:
            self._watch.rest()

    def close(self) -> None:
        """Let the Indexer stop its threads."""
        self._driver.close()

    def _compare(self, operation: Operation) -> Finding | None:
        fails = _index_function_fails(operation)
        self._state, expected = self._model.apply(self._state, operation)
        observed = _in_a_thread(lambda: self._driver.run(operation)) if fails else self._driver.run(operation)
        self.coverage[operation.name.value, "ok" if observed.error is None else observed.error] += 1
        if operation.name is OperationName.REPLACE and observed.error is None:
            self.is_half_done = False
        if self.is_half_done:
            return None
        self.is_half_done = fails and expected.error in _HALF_DONE and not self._target.is_strict
        if not observed.agrees_with(expected, strict_errors=self._strict_errors):
            return self._disagreement(operation, expected, observed)
        return self._broken_invariant() if self._reads_back and not self.is_half_done else None

    def _disagreement(self, operation: Operation, expected: Outcome, observed: Outcome) -> Finding:
        raises = observed.error is not None and expected.error is None
        verb = "raised" if observed.error is not None else "returned"
        due = f"an error ({expected.error})" if expected.error is not None else outcome_text(expected)
        return Finding(
            kind=FindingKind.EXCEPTION if raises else FindingKind.DIVERGENCE,
            phase="",
            summary=f"{operation_text(operation)} {verb} {outcome_text(observed)}; the model gives {due}",
            program=self.program,
            step=len(self._operations) - 1,
            expected=expected,
            observed=observed,
        )

    def _broken_invariant(self) -> Finding | None:
        try:
            broken = self._violations()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            summary = f"reading everything back after it raised {error_text(error)}"
            return Finding(FindingKind.EXCEPTION, "", summary, self.program, step=len(self._operations) - 1)
        if not broken:
            return None
        return Finding(
            FindingKind.INVARIANT,
            "",
            broken[0],
            self.program,
            step=len(self._operations) - 1,
            detail="\n".join(broken[1:]),
        )

    def _violations(self) -> list[str]:
        indexes = self._target.observable(sorted(self._state.indexes))
        if indexes is None:
            return []
        return broken_rules(self._driver.indexer, indexes, self._indexed_values, self._driver.identify)

    def _indexed_values(self, obj: Any, index: str) -> tuple[str, ...] | None:
        stored = self._state.stored.get(getattr(obj, "key", None) or "")
        if stored is None or stored.item.stamp != getattr(obj, "stamp", None):
            return None
        return stored.indexed.get(index, ())


def _index_function_fails(operation: Operation) -> bool:
    """Whether an index function may fail in a write."""
    return operation.is_write and any(None in item.values.values() for item in operation.given)


def _in_a_thread(call: Callable[[], Outcome]) -> Outcome:
    """The outcome of a call that may raise: a lock that it keeps holds up the next call, even one that is reentrant."""
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(call()), daemon=True)
    thread.start()
    thread.join()
    return outcomes[0]


def run_program(
    target: Target,
    program: Program,
    *,
    strict_errors: bool = False,
    reads_back: bool = True,
    watch: ProgressListener | None = None,
) -> Finding | None:
    """Run a program step by step, the threads one after another; returns the first thing that is wrong, or ``None``."""
    run = SequentialRun(
        target, program.indexes, program.semantics, strict_errors=strict_errors, reads_back=reads_back, watch=watch
    )
    try:
        for operation in program.operations():
            finding = run.step(operation)
            if finding is not None:
                return finding
        return None
    finally:
        run.close()
