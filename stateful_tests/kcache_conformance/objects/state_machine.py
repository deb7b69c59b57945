"""The Hypothesis state machine: random programs on an object, compared with the specification."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kcache_model.errors import TargetError
from kcache_model.object_types.object_type import ObjectTarget, ObjectType
from kcache_model.object_types.specification import may_wait_for_ever
from kcache_model.object_types.vocabulary import OperationTemplate

from ..phases import stateful
from ..phases.phase import Coverage
from ..phases.stateful import FoundError
from .mismatches import Mismatch
from .programs import offered
from .sequential import SequentialRun, SequentialSetup


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
    setup: SequentialSetup, coverage: Coverage, rules: Mapping[str, Any] | None = None
) -> type[RuleBasedStateMachine]:
    """Create a state machine class; a failing test case raises :class:`FoundError` with a mismatch.

    Args:
        setup: the target and its type.
        coverage: counts the operations that were made.
        rules: name -> rule of Hypothesis, which calls ``step``; by default one rule that draws from the vocabulary.
    """
    object_type, target = setup.object_type, setup.target
    usual, every = object_type.usual_ways(target), object_type.ways(target)
    programs = st.sampled_from(every)
    if len(usual) < len(every):
        programs = st.one_of(st.sampled_from(usual), programs)

    class Comparison(RuleBasedStateMachine):
        raised: ClassVar[list[Exception]] = []

        @initialize(program=programs)
        def create(self, program: Any) -> None:
            self.made = 0
            self.is_wrong = False
            try:
                self.run = SequentialRun(setup, program)
            except TargetError as error:
                self.raised.append(error)
                raise

        def step(self, operation: Any) -> None:
            self.fail_on(self.run.step(operation))

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
                coverage.update(run.coverage)
                run.close()

    own = rules or {"call": _call_of(object_type.vocabulary)}
    return type(Comparison.__name__, (Comparison,), dict(own))


def _call_of(vocabulary: tuple[OperationTemplate, ...]) -> Any:
    @rule(chosen=operations(vocabulary))
    def call(self: Any, chosen: tuple[OperationTemplate, tuple[Any, ...]]) -> None:
        template, values = chosen
        self.made += 1
        self.step(template.make(self.made, *values))

    return call


def run_examples(machine: type[RuleBasedStateMachine], examples: int, random_seed: int) -> tuple[Mismatch | None, bool]:
    """Run random programs.

    Returns:
        The mismatch of the first failing program, not made smaller, or ``None``; and whether the same program failed
        when it was run again.

    Raises:
        TargetError: the factory raised.
    """
    error = stateful.run_examples(machine, examples, random_seed)
    return (None, True) if error is None else (error.found, error.is_steady)
