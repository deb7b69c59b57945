"""The target types. To add one, describe it as a :class:`~.target_type.TargetType` and enter it here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from kcache_model.object_types.object_type import ObjectType

from .gallery import queue_gallery
from .indexers.target_type import INDEXER
from .informers.target_type import INFORMER
from .objects.target_type import target_type
from .queues.object_types import DELTA_FIFO, FIFO, REAL_FIFO
from .target_type import TargetType


def _queue(object_type: ObjectType) -> TargetType:
    return target_type(object_type, partial(queue_gallery, object_type.name))


TARGET_TYPES: Final[Mapping[str, TargetType]] = {
    found.name: found for found in (INDEXER, *map(_queue, (FIFO, DELTA_FIFO, REAL_FIFO)), INFORMER)
}
"""Name -> target type."""


def type_of_token(token: str) -> TargetType | None:
    """The target type whose findings carry such replay tokens.

    Raises:
        FormatError: the token is damaged.
    """
    found = [known for known in TARGET_TYPES.values() if token.startswith(known.tokens.prefix)]
    if len(found) > 1:
        program = found[0].tokens.decode(token).program
        found = [known for known in found if known.owns(program)]
    return found[0] if found else None
