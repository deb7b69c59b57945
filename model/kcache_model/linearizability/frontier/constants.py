"""Calls that have no effect, and the same outcome in all states."""

from __future__ import annotations

from ...history import Call
from ...indexers.indexer_model import IndexerModel
from ...indexers.items import Semantics
from .contents import NEVER
from .reads import Impossible
from .suitability import Unsuitable, why_not_operation


class Constants:
    """Compares such calls with the model.

    Args:
        indexes: the names of the indices of the store, each once.
        semantics: which generation of client-go decides.
        strict_errors: whether an error must be of the type that is due.
    """

    def __init__(self, indexes: tuple[str, ...], semantics: Semantics, *, strict_errors: bool) -> None:
        self.strict_errors = strict_errors
        self._indexes = frozenset(indexes)
        self._semantics = semantics
        self._model = IndexerModel(semantics)
        self._empty = self._model.initial(indexes)

    def translate(self, position: int, call: Call) -> Impossible | None:
        """``None`` if the call gave what it must; it then says nothing.

        Raises:
            Unsuitable: whether it has an effect is more than the checker can tell.
        """
        reason = why_not_operation(call.operation, self._indexes, self._semantics, strict_errors=self.strict_errors)
        if reason:
            raise Unsuitable(reason)
        if call.outcome is None:
            return None
        _, expected = self._model.apply(self._empty, call.operation)
        if call.outcome.agrees_with(expected, strict_errors=self.strict_errors):
            return None
        return Impossible(position, call.invoked, NEVER if call.returned is None else call.returned)
