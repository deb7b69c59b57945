"""A Hypothesis state machine that runs an implementation beside the model."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import ClassVar

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Semantics, Values
from kcache_model.indexers.operations import Operation, OperationName, WriteKind
from kcache_model.progress import ProgressListener
from kcache_model.target import FAILING_FUNCTIONS, Target, TargetError

from ..phase import Coverage
from .sequential import SequentialRun
from .strategies import INDEXES, LATE_INDEXES, UNKNOWN_INDEX, Shape, all_values, index_names, index_values, keys, shapes

STEPS = 30
"""The most operations in one program."""


class FoundError(AssertionError):
    """The implementation and the model disagree.

    Attributes:
        finding: how.
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.summary)
        self.finding = finding


def make_state_machine(
    target: Target,
    semantics: Semantics,
    *,
    strict_errors: bool = False,
    watch: ProgressListener | None = None,
    coverage: Coverage | None = None,
) -> type[RuleBasedStateMachine]:
    """A state machine class for ``target``; a failing test case raises :class:`FoundError`.

    Args:
        target: the implementation.
        semantics: which generation of client-go decides.
        strict_errors: ask for kcache's error types.
        watch: told of each step before it is done.
        coverage: counts the operations done.
    """

    def supported(name: OperationName) -> bool:
        return target.supports(name)

    may_fail = FAILING_FUNCTIONS not in target.unsupported and (target.is_strict or supported(OperationName.REPLACE))
    may_fail_late = may_fail and target.is_strict
    shape = shapes(may_fail=may_fail, may_fail_late=may_fail_late)
    counted = Counter() if coverage is None else coverage

    class IndexerComparison(RuleBasedStateMachine):
        raised: ClassVar[list[Exception]] = []
        """What went wrong so far: Hypothesis keeps it to itself if it does not happen again."""

        @initialize(indexes=st.one_of(st.just(list(INDEXES[:2])), st.sets(st.sampled_from(INDEXES)).map(sorted)))
        def create(self, indexes: list[str]) -> None:
            self.items: list[Item] = []
            try:
                self.run = SequentialRun(target, indexes, semantics, strict_errors=strict_errors, watch=watch)
            except TargetError as error:
                self.raised.append(error)
                raise

        def stamp(self, shape: Shape) -> Item:
            item = shape.stamped(f"v{len(self.items) + 1}")
            self.items.append(item)
            return item

        def step(self, operation: Operation) -> None:
            self.compare(operation)
            if self.run.is_half_done:
                self.compare(self.run.repair)

        def compare(self, operation: Operation) -> None:
            finding = self.run.step(operation)
            if finding is not None:
                error = FoundError(finding)
                self.raised.append(error)
                raise error

        @rule(shape=shape)
        def add(self, shape: Shape) -> None:
            self.step(op.add(self.stamp(shape)))

        @rule(shape=shape)
        def update(self, shape: Shape) -> None:
            self.step(op.update(self.stamp(shape)))

        @precondition(lambda self: self.items)
        @rule(data=st.data())
        def update_known(self, data: st.DataObject) -> None:
            self.step(op.update(data.draw(st.sampled_from(self.items))))

        @rule(shape=shape)
        def delete(self, shape: Shape) -> None:
            self.step(op.delete(self.stamp(shape)))

        @rule(shapes=st.lists(shape, max_size=4), version=st.sampled_from(("", "7", "12")))
        def replace(self, shapes: list[Shape], version: str) -> None:
            self.step(op.replace(tuple(map(self.stamp, shapes)), version))

        @precondition(lambda self: self.items)
        @rule(data=st.data())
        def replace_known(self, data: st.DataObject) -> None:
            known = st.lists(st.sampled_from(self.items), max_size=4)
            self.step(op.replace(tuple(data.draw(known))))

        @precondition(lambda _: supported(OperationName.TRANSACTION))
        @rule(entries=st.lists(st.tuples(st.sampled_from(WriteKind), shape), max_size=4))
        def transaction(self, entries: list[tuple[WriteKind, Shape]]) -> None:
            self.step(op.transaction(*((kind, self.stamp(shape)) for kind, shape in entries)))

        @precondition(lambda _: supported(OperationName.ADD_INDEXERS))
        @rule(names=st.sets(st.sampled_from(INDEXES[:1] + LATE_INDEXES)).map(sorted))
        def add_indexers(self, names: list[str]) -> None:
            self.step(op.add_indexers(*names))

        @precondition(lambda _: target.is_strict)
        @rule(key=keys(), values=all_values(may_fail=may_fail, may_fail_late=may_fail_late))
        def mutate(self, key: str, values: Values) -> None:
            self.step(op.mutate(key, values))

        @rule(shape=shape)
        def get(self, shape: Shape) -> None:
            self.step(op.get(self.stamp(shape)))

        @rule(key=keys())
        def get_by_key(self, key: str) -> None:
            self.step(op.get_by_key(key))

        @rule()
        def list(self) -> None:
            self.step(op.list_objects())
            self.step(op.list_keys())

        @rule(name=index_names(), shape=shape)
        def index(self, name: str, shape: Shape) -> None:
            self.step(op.index(name, self.stamp(shape)))

        @precondition(lambda self: self.items)
        @rule(name=index_names(), data=st.data())
        def index_known(self, name: str, data: st.DataObject) -> None:
            self.step(op.index(name, data.draw(st.sampled_from(self.items))))

        @rule(name=index_names(), value=index_values())
        def look_up(self, name: str, value: str) -> None:
            self.step(op.by_index(name, value))
            self.step(op.index_keys(name, value))

        @rule(name=st.sampled_from((*INDEXES, UNKNOWN_INDEX)))
        def list_index_func_values(self, name: str) -> None:
            self.step(op.list_index_func_values(name))
            self.step(op.get_indexers())

        @rule(version=st.sampled_from(("", "3", "20")))
        def bookmark(self, version: str) -> None:
            self.step(op.bookmark(version))
            self.step(op.last_sync_resource_version())
            self.step(op.resync())

        def teardown(self) -> None:
            run = getattr(self, "run", None)
            if run is not None:
                counted.update(run.coverage)
                run.close()

    return IndexerComparison


def run_examples(machine: type[RuleBasedStateMachine], examples: int, random_seed: int) -> Finding | None:
    """Run ``examples`` random programs; returns what the first failing one shows, or ``None``.

    Nothing is shrunk and nothing is printed: the finding's program is minimised by whoever asked.
    """
    try:
        run_state_machine_as_test(
            seed(random_seed)(machine),
            settings=quiet_settings(examples),
        )
    except FoundError as found:
        return found.finding
    except Flaky as flaky:
        return _unsteady(machine, flaky)
    return None


def quiet_settings(examples: int) -> settings:
    """So many random programs, and nothing else: nothing is remembered, made smaller, or printed."""
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        verbosity=Verbosity.quiet,
    )


def _unsteady(machine: type[RuleBasedStateMachine], flaky: Exception) -> Finding:
    """What was raised once and did not come again when Hypothesis ran the same program once more."""
    raised: list[Exception] = getattr(machine, "raised", [])
    for error in raised:
        if not isinstance(error, FoundError):
            raise error
        summary = f"not every time: {error.finding.summary}; the same program passed when it was run again"
        return replace(error.finding, kind=FindingKind.NONDETERMINISM, summary=summary)
    raise flaky
