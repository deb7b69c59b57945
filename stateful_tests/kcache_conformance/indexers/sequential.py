"""Sequential runs of an implementation, compared with the model step by step."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.driver import Driver
from kcache_model.indexers.eviction import model_of
from kcache_model.indexers.invariants import View, broken_rules
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.journal import begin, reading, step
from kcache_model.indexers.operations import Operation, OperationName, list_keys
from kcache_model.indexers.outcome_rules import rule_of_outcome
from kcache_model.indexers.program import Program
from kcache_model.indexers.restrictions import is_avoided, restricted
from kcache_model.indexers.target import INDEXES, LISTS, Target
from kcache_model.outcomes import Outcome, error_text, returned
from kcache_model.places import place_of
from kcache_model.progress import NoProgress, ProgressListener
from kcache_model.render import operation_text, outcome_text
from kcache_model.rules import BrokenRule

from ..phases.phase import Coverage

_LISTING: Final = frozenset(
    {
        *(OperationName.LIST, OperationName.LIST_KEYS, OperationName.BY_INDEX, OperationName.INDEX),
        *(OperationName.INDEX_KEYS, OperationName.LIST_INDEX_FUNC_VALUES),
    }
)
"""Operations that return lists."""


class SequentialRun:
    """One Indexer and one model that run the same operations.

    Args:
        target: the implementation.
        indexes: the names of the indices to create it with.
        semantics: the generation of client-go that defines the correct results.
        strict_errors: require kcache's error types.
        reads_back: whether to read the whole content after each step and check the invariants.
        watch: records each step before its call.
        is_known: whether a finding is already known and is ignored; if the state may then be wrong, the run is over.

    Attributes:
        is_over: whether the stored objects are not known any more; further steps are skipped.
        coverage: (operation, outcome) -> number of calls.
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
        is_known: Callable[[Finding], bool] = lambda _: False,
    ) -> None:
        self._target = target
        self._strict_errors = strict_errors
        self._reads_back = reads_back
        self._watch = watch or NoProgress()
        self._is_known = is_known
        self._indexes = () if INDEXES in target.unsupported else tuple(indexes)
        self._semantics = semantics
        self._operations: list[Operation] = []
        self._kept: dict[OperationName, tuple[Operation, Outcome, Callable[[], object]]] = {}
        self._model = model_of(self.program)
        self._state = self._model.initial(self._indexes)
        self.is_over = False
        self.coverage: Coverage = Counter()
        begin(self._watch, self.program)
        try:
            self._driver = Driver(target, self._indexes, semantics)
        finally:
            self._watch.rest()  # the generation of the first step may take long

    @property
    def program(self) -> Program:
        """The operations so far, as a sequential program."""
        return Program(
            self._indexes, tuple(self._operations), semantics=self._semantics, may_evict=self._target.may_evict
        )

    def step(self, operation: Operation) -> Finding | None:
        """Run ``operation`` on the Indexer and the model; return the finding, or ``None``.

        Operations that the target does not support are skipped; unsupported features are removed from the operation.
        """
        operation = restricted(operation, self._target)
        if self.is_over or not self._target.supports(operation.name):
            return None
        _, expected = self._model.apply(self._state, operation)
        if is_avoided(operation, expected.error, self._target, self._state.indexes):
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
        if _index_function_fails(operation):
            observed = _in_a_thread(lambda: self._driver.call(operation))
        else:
            observed = self._driver.call(operation)
        self._state, expected = self._model.respond(self._state, operation, observed)
        self.coverage[operation.name.value, "ok" if observed.error is None else observed.error] += 1
        finding = None
        if not observed.agrees_with(expected, strict_errors=self._strict_errors):
            finding = disagreement(self.program, expected, observed)
            if not self._is_known(finding):
                return finding
            self.is_over = operation.is_write
        finding = self._changed_later(operation) if operation.is_write else None
        if not operation.is_write:
            self._keep(operation, observed)
        if finding is None or self._is_known(finding):
            finding = self._broken_rule() if self._reads_back and not self.is_over else None
        if finding is None or not self._is_known(finding):
            return finding
        self.is_over = True
        return None

    def _keep(self, operation: Operation, observed: Outcome) -> None:
        """Call an operation that returns a list once more, and leave its result unread until the next write."""
        later = getattr(self._driver.made, "kcache_later", None)  # adapters have it: they turn results into lists
        if later is None or LISTS in self._target.unsupported or self._target.may_evict:
            return
        if operation.name in _LISTING and observed.error is None:
            read = later(operation.name.value, *self._driver.arguments(operation))
            if read is not None:
                self._kept[operation.name] = operation, observed, read

    def _changed_later(self, write: Operation) -> Finding | None:
        """Return the finding if a kept result has changed: it is a live view, which shows the write or fails."""
        kept, self._kept = self._kept, {}
        for operation, before, read in kept.values():
            try:
                now = self._driver.outcome_so_far(operation.name, read())
            except Exception as error:
                now = self._driver.outcome_of_error(error)
            if now != before:
                summary = (
                    f"what {operation_text(operation)} returned was {outcome_text(before)}, and after "
                    f"{operation_text(write)} it is {outcome_text(now)}: it is a live view"
                )
                step = len(self._operations) - 1
                return Finding(FindingKind.DIVERGENCE, "", summary, self.program, step=step, rule="result-is-no-list")
        return None

    def _broken_rule(self) -> Finding | None:
        step = len(self._operations) - 1
        try:
            broken = self._broken_rules()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            summary = f"reading everything back after it raised {error_text(error)}"
            place = place_of(error)
            return Finding(FindingKind.EXCEPTION, "", summary, self.program, step=step, location=place)
        if not broken:
            return None
        first, *others = broken
        return Finding(
            FindingKind.INVARIANT,
            "",
            first.text,
            self.program,
            step=step,
            detail="\n".join(map(str, others)),
            rule=first.rule,
        )

    def _broken_rules(self) -> list[BrokenRule]:
        indexes = self._target.observable(sorted(self._state.indexes))
        if indexes is None:
            return []
        found = broken_rules(
            self._driver.made,
            indexes,
            self._indexed_values,
            self._driver.identify,
            before=lambda operation: reading(self._watch, operation),
            may_evict=self._target.may_evict,
            seen=self._narrow,
        )
        return [broken for broken in found if self._target.asks_order or broken.rule != "unsorted-keys"]

    def _narrow(self, view: View) -> None:
        """Remove the objects from the model's state that the observation did not show: evicted objects stay gone."""
        keys = returned(tuple(sorted(view.items)))
        self._state, _ = self._model.respond(self._state, list_keys(), keys)

    def _indexed_values(self, obj: Any, index: str) -> tuple[str, ...] | None:
        stored = self._state.stored.get(getattr(obj, "key", None) or "")
        if stored is None or stored.item.stamp != getattr(obj, "stamp", None):
            return None
        return stored.indexed.get(index, ())


def disagreement(program: Program, expected: Outcome, observed: Outcome, whose: str = "the model") -> Finding:
    """Return the finding for the last call of a program, whose outcome is not the expected outcome."""
    whose += " (what was seen to be gone stays gone)" if program.may_evict else ""
    operation = program.prefix[-1]
    raises = observed.error is not None and expected.error is None
    verb = "raised" if observed.error is not None else "returned"
    due = f"an error ({expected.error})" if expected.error is not None else outcome_text(expected)
    return Finding(
        kind=FindingKind.EXCEPTION if raises else FindingKind.DIVERGENCE,
        phase="",
        summary=f"{operation_text(operation)} {verb} {outcome_text(observed)}; {whose} gives {due}",
        program=program,
        step=len(program.prefix) - 1,
        expected=expected,
        observed=observed,
        rule=rule_of_outcome(operation, expected, observed),
        location=observed.where,
    )


def _index_function_fails(operation: Operation) -> bool:
    """Whether an index function may fail in a write."""
    return operation.is_write and any(None in item.values.values() for item in operation.given)


def _in_a_thread(call: Callable[[], Outcome]) -> Outcome:
    """Run a call that may raise in its own thread: if it keeps a lock, even a reentrant one, the next call hangs."""
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
    is_known: Callable[[Finding], bool] = lambda _: False,
) -> Finding | None:
    """Run a program step by step, the threads one after another; return the first finding, or ``None``."""
    run = SequentialRun(
        target,
        program.indexes,
        program.semantics,
        strict_errors=strict_errors,
        reads_back=reads_back,
        watch=watch,
        is_known=is_known,
    )
    try:
        for operation in program.operations():
            finding = run.step(operation)
            if finding is not None:
                return finding
        return None
    finally:
        run.close()
