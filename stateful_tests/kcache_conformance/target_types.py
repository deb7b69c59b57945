"""The target types. To add one, describe it as a :class:`~.target_type.TargetType` and enter it here."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points
from typing import Final

from kcache_model.object_types.object_type import OBJECT_TOKENS, ObjectType
from kcache_model.target import TargetError
from kcache_stress.loading import load_object

from .fuzzing.target_types import INDEX_FUNCTION, KEY_FUNCTION
from .gallery import queue_gallery
from .indexers.target_type import INDEXER
from .informers.target_type import INFORMER
from .objects.target_type import target_type
from .queues.object_types import DELTA_FIFO, FIFO, REAL_FIFO
from .target_type import TargetType

ENTRY_POINTS: Final = "kcache.target_types"
"""The group of entry points under which other packages offer target types, or object types."""


def _queue(object_type: ObjectType) -> TargetType:
    return target_type(object_type, partial(queue_gallery, object_type.name))


TARGET_TYPES: Final[Mapping[str, TargetType]] = {
    found.name: found
    for found in (INDEXER, *map(_queue, (FIFO, DELTA_FIFO, REAL_FIFO)), INFORMER, INDEX_FUNCTION, KEY_FUNCTION)
}
"""Name -> target type."""


@functools.cache
def target_type_named(name: str) -> TargetType:
    """The target type of a name.

    It is one of :data:`TARGET_TYPES`, one that an installed package offers under the entry point group
    ``kcache.target_types``, or ``package.module:NAME`` of a target type or an object type.

    Raises:
        TargetError: there is no such thing.
    """
    found: object = TARGET_TYPES.get(name)
    if found is None and ":" in name:
        found = load_object(name, wanted="TYPE")
    elif found is None:
        offered = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if name not in offered:
            known = ", ".join([*TARGET_TYPES, *offered])
            raise TargetError(f"there is no target type {name}; known are {known}, or write package.module:TYPE")
        found = offered[name].load()
    if isinstance(found, ObjectType):
        found = target_type(replace(found, name=name))
    if not isinstance(found, TargetType):
        raise TargetError(f"{name} is a {type(found).__name__}, neither a TargetType nor an ObjectType")
    return found if found.name == name else replace(found, name=name)


def type_of_token(token: str) -> TargetType | None:
    """The target type whose findings carry such replay tokens.

    Raises:
        FormatError: the token is damaged.
        TargetError: its target type is not installed here.
    """
    if token.startswith(OBJECT_TOKENS):
        return target_type_named(token.removeprefix(OBJECT_TOKENS).rpartition(".")[0])
    found = [known for known in TARGET_TYPES.values() if token.startswith(known.tokens.prefix)]
    if len(found) > 1:
        program = found[0].tokens.decode(token).program
        found = [known for known in found if known.owns(program)]
    return found[0] if found else None
