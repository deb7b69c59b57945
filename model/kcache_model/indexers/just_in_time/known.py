"""Knowledge of the store for the translation of calls: its indices, its versions, and constant outcomes of calls."""

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
        semantics: the generation of client-go that defines the correct results.
        strict_errors: whether errors must be of the expected type.

    Attributes:
        by_stamp: stamp -> version, for the versions that results may contain; always the same dict object.
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
        """Forget all versions except ``versions``."""
        retained = {version.stamp: version for version in versions}
        self.by_stamp.clear()
        self.by_stamp.update(retained)

    def foresee(self, versions: Iterable[Version]) -> None:
        """Record the versions of later writes; reads that are open may have returned them."""
        self._foreseen = {version.stamp: version for version in versions}

    def new(self, key: str, stamp: str, terms: tuple[Term, ...], call: Call) -> Version:
        """Return the version that a write stores under ``key``, foreseen or new, and record it.

        Raises:
            Unsuitable: a version with this stamp is already known.
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
        """Translate a call that has no effect and the same outcome in all states; ``None`` if it had this outcome.

        Raises:
            Unsuitable: the call may have an effect, or its outcome may depend on the state.
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
