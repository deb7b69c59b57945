"""Checks of an Indexer around each call: it must not share what it returns, and its content must satisfy all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ..finding import FindingKind
from ..object_types.noted_programs import reading
from ..object_types.specification import States
from ..object_types.step_checks import StepProblem
from ..outcomes import Outcome, error_text, returned
from ..places import place_of
from ..progress import ProgressListener
from ..render import operation_text, outcome_text
from ..rules import BrokenRule
from .codec import INDEXERS
from .driver import Driver
from .eviction import model_of
from .indexer_model import State
from .invariants import View, broken_rules
from .operations import Operation, OperationName, list_keys
from .program import Program
from .restrictions import AVOIDABLE, is_avoided, restricted
from .target import LISTS, Target

_LISTING: Final = frozenset(
    {
        *(OperationName.LIST, OperationName.LIST_KEYS, OperationName.BY_INDEX, OperationName.INDEX),
        *(OperationName.INDEX_KEYS, OperationName.LIST_INDEX_FUNC_VALUES),
    }
)
"""Operations that return lists."""


class IndexerChecks:
    """The checks of one Indexer.

    Args:
        driver: calls the Indexer.
        target: the implementation.
        program: has the semantics.
        watch: receives the operations that read the content back.

    Attributes:
        under_way: the operation that reads the content back now.
        reads: the number of operations that have read the content back.
    """

    def __init__(self, driver: Driver, target: Target, program: Program, watch: ProgressListener) -> None:
        self.under_way: Operation | None = None
        self.reads = 0
        self._driver = driver
        self._target = target
        self._watch = watch
        self._model = model_of(program)
        self._kept: dict[OperationName, tuple[Operation, Outcome, Callable[[], object]]] = {}
        self._state: State = self._model.initial(())

    def prepared(self, operation: Operation, states: States) -> Operation | None:
        """Return the operation without unsupported features; ``None`` if the target does not support it at all."""
        operation = restricted(operation, self._target)
        if not self._target.supports(operation.name):
            return None
        if self._target.unsupported.isdisjoint(AVOIDABLE):
            return operation
        (state,) = states
        _, expected = self._model.apply(state, operation)
        return None if is_avoided(operation, expected.error, self._target, state.indexes) else operation

    def problems(
        self, operation: Operation, observed: Outcome, states: States, learn: Callable[[Any, Outcome], States]
    ) -> Iterator[StepProblem]:
        """Yield a result that changed later, and the first broken rule."""
        (self._state,) = states
        if operation.is_write:
            yield from self._changed_later(operation)
        else:
            self._keep(operation, observed)
        yield from self._broken_rule(learn)

    def _keep(self, operation: Operation, observed: Outcome) -> None:
        """Call an operation that returns a list once more, and leave its result unread until the next write."""
        later = getattr(self._driver.made, "kcache_later", None)  # adapters have it: they turn results into lists
        if later is None or LISTS in self._target.unsupported or self._target.may_evict:
            return
        if operation.name in _LISTING and observed.error is None:
            read = later(operation.name.value, *self._driver.arguments(operation))
            if read is not None:
                self._kept[operation.name] = operation, observed, read

    def _changed_later(self, write: Operation) -> Iterator[StepProblem]:
        """Yield the first kept result that has changed: it is a live view, which shows the write or fails."""
        kept, self._kept = self._kept, {}
        for operation, before, read in kept.values():
            try:
                now = self._driver.outcome_so_far(operation.name, read())
            except Exception as error:
                now = self._driver.outcome_of_error(error)
            if now != before:
                summary = (
                    f"{operation_text(operation)} returned {outcome_text(before)}, but after {operation_text(write)} "
                    f"the same result shows {outcome_text(now)}: it is a live view"
                )
                yield StepProblem(FindingKind.DIVERGENCE, summary, rule="result-is-no-list", is_of_state=False)
                return

    def _broken_rule(self, learn: Callable[[Any, Outcome], States]) -> Iterator[StepProblem]:
        try:
            broken = self._broken_rules(learn)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            summary = f"reading everything back after it raised {error_text(error)}"
            yield StepProblem(FindingKind.EXCEPTION, summary, location=place_of(error))
            return
        finally:
            self.under_way = None
        if broken:
            first, *others = broken
            yield StepProblem(FindingKind.INVARIANT, first.text, first.rule, detail="\n".join(map(str, others)))

    def _broken_rules(self, learn: Callable[[Any, Outcome], States]) -> list[BrokenRule]:
        indexes = self._target.observable(sorted(self._state.indexes))
        if indexes is None:
            return []

        def narrow(view: View) -> None:
            """Remove the objects from the state that the observation did not show: evicted objects stay gone."""
            (self._state,) = learn(list_keys(), returned(tuple(sorted(view.items))))

        found = broken_rules(
            self._driver.made,
            indexes,
            self._indexed_values,
            self._driver.identify,
            before=self._note,
            may_evict=self._target.may_evict,
            seen=narrow,
        )
        return [broken for broken in found if self._target.asks_order or broken.rule != "unsorted-keys"]

    def _note(self, operation: Operation) -> None:
        self.under_way = operation
        self.reads += 1
        reading(self._watch, INDEXERS, operation)

    def _indexed_values(self, obj: Any, index: str) -> tuple[str, ...] | None:
        stored = self._state.stored.get(getattr(obj, "key", None) or "")
        if stored is None or stored.item.stamp != getattr(obj, "stamp", None):
            return None
        return stored.indexed.get(index, ())
