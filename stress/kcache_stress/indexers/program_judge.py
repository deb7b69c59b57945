"""Judge of programs on an Indexer, and the specification that it uses."""

from __future__ import annotations

from collections.abc import Sequence

from kcache_model.indexers.eviction import model_of
from kcache_model.indexers.indexer_model import State
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program
from kcache_model.outcomes import Outcome

from ..judgement.call_judge import CallJudge


class IndexerSpecification:
    """The specification of the Indexer of a program, see :func:`~kcache_model.indexers.eviction.model_of`."""

    def __init__(self, program: Program) -> None:
        self._model = model_of(program)

    def initial(self, program: Program) -> State:
        """Return the state of a new Indexer with the indices of a program."""
        return self._model.initial(program.indexes)

    def effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        """Return the possible effects of a call: pairs of the next state and the outcome."""
        return self._model.effects(state, operation)


class ProgramJudge(CallJudge):
    """Judge of the executions of one program on an Indexer.

    Args:
        program: the program that the threads run.
        final_reads: the reads after the threads have ended.
        strict_errors: require kcache's error types.
    """

    def __init__(self, program: Program, final_reads: Sequence[Operation], *, strict_errors: bool = False) -> None:
        specification = IndexerSpecification(program)
        super().__init__(
            specification,
            program,
            lambda _: final_reads,
            strict_errors=strict_errors,
            text=lambda operation: str(operation.name),
        )
        state, expected = specification.initial(program), []
        for operation in program.prefix:
            (state, outcome), *_ = specification.effects(state, operation)
            expected.append(outcome)
        # The monitor follows only the calls of the threads, so it starts in the state after the prefix.
        self.monitor.start = self.alone(self.monitor.start, program.prefix, expected)
