"""A Hypothesis state machine that compares an implementation with the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kcache_model.errors import TargetError
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.target import FAILING_FUNCTIONS, Target
from kcache_model.indexers.vocabulary import MISUSE, VOCABULARY, Template, offered
from kcache_model.progress import ProgressListener

from ..phases import stateful
from ..phases.phase import Coverage
from ..phases.stateful import FoundError
from .sequential import SequentialRun
from .strategies import INDEXES, DrawnArguments


def make_state_machine(
    target: Target,
    semantics: Semantics,
    *,
    strict_errors: bool = False,
    watch: ProgressListener | None = None,
    coverage: Coverage | None = None,
    is_known: Callable[[Finding], bool] = lambda _: False,
) -> type[RuleBasedStateMachine]:
    """Create a state machine class for ``target``; a failing test case raises :class:`~..stateful.FoundError`.

    Args:
        target: the implementation.
        semantics: the generation of client-go that defines the correct results.
        strict_errors: require kcache's error types.
        watch: records each step before its call.
        coverage: the counter of calls by operation and outcome; it is updated.
        is_known: whether a finding is already known and is ignored.
    """
    counted = Counter() if coverage is None else coverage

    class IndexerComparison(RuleBasedStateMachine):
        raised: ClassVar[list[Exception]] = []

        @initialize(indexes=st.one_of(st.just(list(INDEXES[:2])), st.sets(st.sampled_from(INDEXES)).map(sorted)))
        def create(self, indexes: list[str]) -> None:
            self.arguments = DrawnArguments(may_fail=FAILING_FUNCTIONS not in target.unsupported)
            try:
                self.run = SequentialRun(
                    target, indexes, semantics, strict_errors=strict_errors, watch=watch, is_known=is_known
                )
            except TargetError as error:
                self.raised.append(error)
                raise

        def step(self, operation: Operation) -> None:
            finding = self.run.step(operation)
            if finding is not None:
                error = FoundError(finding, finding.summary)
                self.raised.append(error)
                raise error

        def teardown(self) -> None:
            run = getattr(self, "run", None)
            if run is not None:
                counted.update(run.coverage)
                run.close()

    templates = [template for template in offered(VOCABULARY, target) if target.is_strict or template.group != MISUSE]
    rules = {
        f"{template.name}_{number}_{again}": _rule_of(template)
        for number, template in enumerate(templates)
        for again in range(1 + template.is_write)  # writes twice as often: all is read back after each step anyway
    }
    return type(IndexerComparison.__name__, (IndexerComparison,), rules)


def _rule_of(template: Template) -> Any:
    @rule(data=st.data())
    def call(self: Any, data: st.DataObject) -> None:
        self.arguments.draw = data.draw
        self.step(template.make(self.arguments))

    return call


def run_examples(machine: type[RuleBasedStateMachine], examples: int, random_seed: int) -> Finding | None:
    """Run ``examples`` random programs; return the finding of the first failing program, not minimised, or ``None``.

    Raises:
        TargetError: the factory raised.
    """
    error = stateful.run_examples(machine, examples, random_seed)
    if error is None:
        return None
    finding: Finding = error.found
    if error.is_steady:
        return finding
    summary = f"not every time: {finding.summary}; the same program passed when it was run again"
    program = None if finding.program is None else replace(finding.program, is_unsteady=True)
    return replace(finding, kind=FindingKind.NONDETERMINISM, summary=summary, program=program)
