"""The target types. To add one, describe it as a :class:`~.target_type.TargetType` and enter it here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .indexers.target_type import INDEXER
from .informers.target_type import INFORMER
from .queues.target_types import DELTA_FIFO, FIFO, REAL_FIFO
from .target_type import TargetType

TARGET_TYPES: Final[Mapping[str, TargetType]] = {
    found.name: found for found in (INDEXER, FIFO, DELTA_FIFO, REAL_FIFO, INFORMER)
}
"""Name -> target type."""


def type_of_token(token: str) -> TargetType | None:
    """The target type whose findings carry such replay tokens."""
    return next((found for found in TARGET_TYPES.values() if token.startswith(found.tokens.prefix)), None)
