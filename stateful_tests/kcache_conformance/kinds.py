"""The kinds of targets beside Indexers. To add one, describe it as a :class:`~.kind.Kind` and enter it here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .informers.kinds import INFORMER
from .kind import Kind
from .queues.kinds import DELTA_FIFO, FIFO, REAL_FIFO

INDEXER: Final = "indexer"
"""The kind that goes a way of its own: :mod:`.phases`."""

KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in (FIFO, DELTA_FIFO, REAL_FIFO, INFORMER)}
"""Name -> kind."""

KIND_NAMES: Final = (INDEXER, *KINDS)


def kind_of_word(word: str) -> Kind | None:
    """The kind whose findings carry such words."""
    return next((kind for kind in KINDS.values() if word.startswith(kind.prefix)), None)
