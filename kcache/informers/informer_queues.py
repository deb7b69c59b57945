"""The queues that informers create between a reflector and a store (client-go ``newQueueFIFO``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ..errors import TransformError
from ..interfaces import KeyFunc, Transformer
from ..queues import DeltaFIFO, KeyListerGetter, Queue, RealFIFO

QueueFactory: TypeAlias = Callable[[KeyFunc[Any], KeyListerGetter, "Transformer[Any] | None"], Queue]
"""``factory(key_func, known_objects, transformer)``; ``known_objects`` is the store to which changes are applied."""


def in_order_queue(
    key_func: KeyFunc[Any],
    known_objects: KeyListerGetter,  # noqa: ARG001
    transformer: Transformer[Any] | None,
) -> Queue:
    """Create a queue in which changes keep their order and a relist is one change (client-go since v0.36)."""
    return RealFIFO(
        key_func,
        transformer=transformer,
        atomic_events=True,
        unlock_while_processing=True,
        emit_delta_type_bookmark=True,
    )


def queue_by_key(key_func: KeyFunc[Any], known_objects: KeyListerGetter, transformer: Transformer[Any] | None) -> Queue:
    """Create a queue that groups changes by object, so changes of different objects may be reordered (until v0.32)."""
    return DeltaFIFO(key_func, known_objects=known_objects, emit_delta_type_replaced=True, transformer=transformer)


def refusing(transformer: Transformer[Any] | None) -> Transformer[Any] | None:
    """Wrap a transformer so that its errors are raised as ``TransformError``.

    A reflector drops an object whose write raises such an error (a :class:`~kcache.KcacheError`); any other error ends
    its watch.
    """
    if transformer is None:
        return None

    def transformed(obj: Any) -> Any:
        try:
            return transformer(obj)
        except Exception as error:
            raise TransformError(error) from error

    return transformed
