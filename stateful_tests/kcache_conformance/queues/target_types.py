"""The queues as target types: object types with declarations of unsupported features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from kcache_model.object_types.object_type import ObjectType
from kcache_model.queues.program import QueueKind

from ..objects.as_target_type import target_type
from ..targets.gallery import queue_gallery
from ..targets.target_type import TargetType
from . import object_types
from .target import QueueTarget, make_queue_target


def _target_type(object_type: ObjectType) -> TargetType:
    def declared(factory: Any, unsupported: Iterable[str]) -> QueueTarget:
        return make_queue_target(factory, QueueKind(object_type.name), unsupported=unsupported)

    queue_type = target_type(object_type, partial(queue_gallery, object_type.name))
    return replace(queue_type, declared=declared, spare=_spare)


def _spare(target: QueueTarget, names: frozenset[str]) -> QueueTarget:
    return replace(target, unsupported=target.unsupported | names)


FIFO: Final = _target_type(object_types.FIFO)
DELTA_FIFO: Final = _target_type(object_types.DELTA_FIFO)
REAL_FIFO: Final = _target_type(object_types.REAL_FIFO)
