"""Knowledge of the store that translating calls takes: its indices, its versions, and what some calls always give."""

from __future__ import annotations

from collections.abc import Iterable

from ...history import Call
from ..indexer_model import IndexerModel
from ..items import Semantics
from .contents import NEVER, Term, Version
from .reads import Impossible
from .suitability import Unsuitable, why_not_operation


class KnownStore:
    """The indices of a store, and the versions that may be in it, now or later.

    Args:
        indexes: the names of the indices of the store, each once.
        semantics: which generation of client-go decides.
        strict_errors: whether an error must be of the type that is due.

    Attributes:
        by_stamp: finds the versions that results may be about; always the same dict.
    """

    def __init__(self, indexes: tuple[str, ...], semantics: Semantics, *, strict_errors: bool) -> None:
        self.indexes = indexes
        self.strict_errors = strict_errors
        self.by_stamp: dict[str, Version] = {}
        self._foreseen: dict[str, Version] = {}
        self._semantics = semantics
        self._model = IndexerModel(semantics)
        self._empty = self._model.initial(indexes)

    def keep(self, versions: Iterable[Version]) -> None:
        """Forget all others."""
        kept = {version.stamp: version for version in versions}
        self.by_stamp.clear()
        self.by_stamp.update(kept)

    def foresee(self, versions: Iterable[Version]) -> None:
        """These are the versions of writes to come: reads that are open may have returned them."""
        self._foreseen = {version.stamp: version for version in versions}

    def new(self, key: str, stamp: str, terms: tuple[Term, ...], call: Call) -> Version:
        """The version that a write puts under ``key``.

        Raises:
            Unsuitable: there is one with this stamp.
        """
        if stamp in self.by_stamp:
            raise Unsuitable(f"the stamp {stamp!r} is written twice")
        version = self._foreseen.pop(stamp, None) if self._foreseen else None
        if version is None:
            due = NEVER if call.returned is None else call.returned
            version = Version(key, stamp, terms, call.invoked, due)
        self.by_stamp[stamp] = version
        return version

    def constant(self, position: int, call: Call) -> Impossible | None:
        """A call without effect, and with the same outcome in all states; ``None`` if it gave that: it says nothing.

        Raises:
            Unsuitable: whether it has an effect is more than the checker can tell.
        """
        indexes = frozenset(self.indexes)
        reason = why_not_operation(call.operation, indexes, self._semantics, strict_errors=self.strict_errors)
        if reason:
            raise Unsuitable(reason)
        if call.outcome is None:
            return None
        _, expected = self._model.apply(self._empty, call.operation)
        if call.outcome.agrees_with(expected, strict_errors=self.strict_errors):
            return None
        return Impossible(position, call)
