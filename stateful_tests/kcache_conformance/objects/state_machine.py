"""The Hypothesis state machine: random programs on an object, compared with the specification."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kcache_model.errors import TargetError
from kcache_model.object_types.object_type import ObjectTarget, ObjectType
from kcache_model.object_types.specification import may_wait_for_ever
from kcache_model.object_types.vocabulary import OperationTemplate
from kcache_model.progress import ProgressListener

from ..phases import stateful
from ..phases.phase import Coverage
from ..phases.stateful import FoundError
from .programs import offered
from .sequential import Mismatch, PatientCaller, SequentialRun


def operations(vocabulary: tuple[OperationTemplate, ...]) -> st.SearchStrategy[tuple[OperationTemplate, Any]]:
    """Return a strategy for a template of a vocabulary, by weight, and values for its arguments."""
    least = min(template.weight for template in vocabulary)
    weighted = [template for template in vocabulary for _ in range(round(template.weight / least))]
    return st.sampled_from(weighted).flatmap(
        lambda template: st.tuples(st.just(template), st.tuples(*map(st.sampled_from, template.arguments)))
    )


def concurrent_programs(
    object_type: ObjectType, target: ObjectTarget, threads: tuple[int, int], operation_counts: tuple[int, int]
) -> st.SearchStrategy[Any]:
    """Return a strategy for programs in which no thread may have to wait forever.

    Args:
        object_type: of the target.
        target: decides what can be called.
        threads: fewest and most threads.
        operation_counts: fewest and most calls of one thread.
    """
    calls = operations(offered(object_type, target))
    lists = st.lists(calls, min_size=operation_counts[0], max_size=operation_counts[1])

    def made(way: Any, drawn: list[list[tuple[OperationTemplate, tuple[Any, ...]]]]) -> Any:
        numbers = itertools.count(1)
        prefix, *own = (tuple(template.make(next(numbers), *values) for template, values in part) for part in drawn)
        return object_type.completed(way.with_calls(prefix, tuple(own)))

    def is_wanted(program: Any) -> bool:
        is_allowed = object_type.is_valid(program) and all(map(target.allows_call, program.operations()))
        return is_allowed and not may_wait_for_ever(object_type.specification(program), program)

    return st.builds(
        made,
        st.sampled_from(object_type.usual_ways(target)),
        st.builds(
            lambda first, own: [first, *own],
            st.lists(calls, max_size=1),
            st.lists(lists, min_size=threads[0], max_size=threads[1]),
        ),
    ).filter(is_wanted)


def make_state_machine(
    object_type: ObjectType,
    target: ObjectTarget,
    makes: PatientCaller,
    watch: ProgressListener,
    *,
    strict_errors: bool = False,
    patience_seconds: float = 1.0,
    coverage: Coverage | None = None,
) -> type[RuleBasedStateMachine]:
    """Create a state machine class for ``target``; a failing test case raises :class:`FoundError` with a mismatch.

    Args:
        object_type: of the target.
        target: the implementation.
        makes: makes the calls.
        watch: receives each call before it is made.
        strict_errors: require the same errors as the specification.
        patience_seconds: how long a call may take.
        coverage: counts the operations that were made.
    """
    counted = Counter() if coverage is None else coverage

    class Comparison(RuleBasedStateMachine):
        raised: ClassVar[list[Exception]] = []

        @initialize(program=st.sampled_from(object_type.ways(target)))
        def create(self, program: Any) -> None:
            self.made = 0
            self.is_wrong = False
            try:
                self.run = SequentialRun(
                    object_type,
                    target,
                    program,
                    makes,
                    watch,
                    strict_errors=strict_errors,
                    patience_seconds=patience_seconds,
                )
            except TargetError as error:
                self.raised.append(error)
                raise

        @rule(chosen=operations(object_type.vocabulary))
        def call(self, chosen: tuple[OperationTemplate, tuple[Any, ...]]) -> None:
            template, values = chosen
            self.made += 1
            self.fail_on(self.run.step(template.make(self.made, *values)))

        def fail_on(self, mismatch: Mismatch | None) -> None:
            if mismatch is not None:
                error = FoundError(mismatch, f"{mismatch.observed}; expected: {mismatch.expected}")
                self.raised.append(error)
                self.is_wrong = True
                raise error

        def teardown(self) -> None:
            run: SequentialRun | None = getattr(self, "run", None)
            if run is None:
                return
            try:
                if not self.is_wrong:
                    self.fail_on(run.read_back())
            finally:
                counted.update(run.coverage)

    return Comparison


def run_examples(machine: type[RuleBasedStateMachine], examples: int, random_seed: int) -> Mismatch | None:
    """Run random programs; return the mismatch of the first failing program, not made smaller, or ``None``.

    Raises:
        TargetError: the factory raised.
    """
    error = stateful.run_examples(machine, examples, random_seed)
    return None if error is None else error.found
