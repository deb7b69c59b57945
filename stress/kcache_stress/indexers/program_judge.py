"""The judge of programs on an Indexer."""

from __future__ import annotations

from collections.abc import Sequence

from kcache_model.indexers.indexer_model import IndexerModel, State
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program
from kcache_model.outcomes import Outcome

from ..explorer.judgement.call_judge import CallJudge


class IndexerSpecification:
    """The sequential specification of Indexers, see :class:`~kcache_model.indexers.indexer_model.IndexerModel`."""

    def __init__(self, semantics: Semantics) -> None:
        self._model = IndexerModel(semantics)

    def initial(self, program: Program) -> State:
        """A new Indexer with the indices of a program."""
        return self._model.initial(program.indexes)

    def effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        """The one thing that a call does."""
        return (self._model.apply(state, operation),)


class ProgramJudge(CallJudge):
    """Judges the executions of one program on an Indexer.

    Args:
        program: what the threads did.
        final_reads: what was read after they had ended.
        strict_errors: ask for kcache's error types.
    """

    def __init__(self, program: Program, final_reads: Sequence[Operation], *, strict_errors: bool = False) -> None:
        specification = IndexerSpecification(program.semantics)
        super().__init__(
            specification,
            program,
            lambda _: final_reads,
            strict_errors=strict_errors,
            text=lambda operation: str(operation.name),
        )
        state, expected = specification.initial(program), []
        for operation in program.prefix:
            ((state, outcome),) = specification.effects(state, operation)
            expected.append(outcome)
        # Whoever follows the calls of the threads alone begins where the prefix ends.
        self.monitor.start = self.alone(self.monitor.start, program.prefix, expected)
