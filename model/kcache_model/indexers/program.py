"""Programs on an Indexer, and histories of what was observed, as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..call_program import CallProgram
from ..history import Call
from .drawing import changed_items, facts
from .eviction import model_of
from .indexer_model import IndexerModel, State
from .items import Semantics
from .operations import Operation


@dataclass(frozen=True)
class Program(CallProgram[Operation]):
    """A program on an Indexer: a sequential prefix, then one list of operations for each thread.

    Attributes:
        indexes: the names of the indices that the Indexer is created with.
        prefix: the operations that run first, in one thread.
        threads: the operations of each thread; the threads run concurrently after the prefix. A sequential program has
            no threads.
        semantics: the generation of client-go that defines the correct results.
        hash_seed: ``PYTHONHASHSEED`` of the process that runs it; it determines the order of sets of texts.
        may_evict: whether the Indexer may drop objects by itself.
        is_unsteady: whether it failed once and then passed when it was run again; a passing run then proves nothing.
    """

    indexes: tuple[str, ...] = ()
    prefix: tuple[Operation, ...] = ()
    threads: tuple[tuple[Operation, ...], ...] = ()
    semantics: Semantics = Semantics.CLASSIC
    hash_seed: int = 0
    may_evict: bool = False
    is_unsteady: bool = False

    def drawn(self, calls: tuple[Call[Operation], ...]) -> History:
        """A history of these calls on an Indexer as this program creates it, to be drawn with its states."""
        return History(self.indexes, calls, self.semantics, self.may_evict)

    @property
    def creation(self) -> str:
        """A line of Python that creates the Indexer."""
        indexes = "{" + ", ".join(f"{name!r}: ..." for name in self.indexes) + "}"
        semantics = "" if self.semantics is Semantics.CLASSIC else f", semantics={self.semantics.value!r}"
        return f"indexer = factory(key_func, {indexes}{semantics})"

    def as_unsteady(self) -> Program:
        """The program, marked as unsteady."""
        return dataclasses.replace(self, is_unsteady=True)

    def with_hash_seed(self, seed: int) -> Program:
        """The program with another hash seed."""
        return dataclasses.replace(self, hash_seed=seed)


@dataclass(frozen=True, slots=True)
class History:
    """All calls of one run, ordered by invocation.

    Attributes:
        indexes: the names of the indices that the Indexer was created with.
        calls: the calls.
        semantics: the generation of client-go that defines the correct results.
        may_evict: whether the Indexer may drop objects by itself.
    """

    indexes: tuple[str, ...]
    calls: tuple[Call[Operation], ...]
    semantics: Semantics = Semantics.CLASSIC
    may_evict: bool = False

    def model(self) -> IndexerModel:
        """The specification that the calls are judged by."""
        return model_of(self)

    def initial(self) -> State:
        """The state of the Indexer before the first call."""
        return self.model().initial(self.indexes)

    def facts(self, state: State) -> Mapping[str, str]:
        """Texts of a state, see :func:`.drawing.facts`."""
        return facts(state)

    def changed_items(self, before: State, after: State) -> Iterator[tuple[str, str | None]]:
        """Texts of the difference between two states, see :func:`.drawing.changed_items`."""
        return changed_items(before, after)
