"""A store that follows an API server, with a single handler (client-go ``NewInformer``)."""

from __future__ import annotations

from typing import Any

from ..interfaces import Indexer, Indexers, KeyFunc, Semantics, Store, ThreadSafeStore, Transformer
from ..keys import meta_namespace_key_func
from ..queues.keys import key_of
from ..store import Cache
from ..thread_safe_store import ThreadSafeMap
from .applying import Applier
from .clock import Clock, RealClock
from .controller import Config, Controller
from .handlers import ResourceEventHandler
from .informer_queues import QueueFactory, in_order_queue, refusing
from .list_watch import ListerWatcher
from .notifications import AddNotification, DeleteNotification, UpdateNotification, deliver


def new_informer(
    lister_watcher: ListerWatcher,
    handler: ResourceEventHandler,
    *,
    expected_type: type | None = None,
    resync_seconds: float = 0,
    transformer: Transformer[Any] | None = None,
    clock: Clock | None = None,
) -> tuple[Store[Any], Controller]:
    """Return a store, and the controller that keeps it up to date (client-go ``NewInformer``).

    The handler runs in the controller's thread: while it runs, no other change is processed. Its errors are logged.

    Args:
        lister_watcher: the source of the objects.
        handler: is called for each change, after the store was changed.
        expected_type: objects of other types are dropped; ``None`` accepts all.
        resync_seconds: the period of resyncs, in which the handler receives all objects again; 0 for never.
        transformer: replaces each object before it is stored or handled.
        clock: the source of the time, and of waits.
    """
    return new_indexer_informer(
        lister_watcher,
        handler,
        expected_type=expected_type,
        resync_seconds=resync_seconds,
        transformer=transformer,
        clock=clock,
    )


def new_indexer_informer(
    lister_watcher: ListerWatcher,
    handler: ResourceEventHandler,
    indexers: Indexers[Any] | None = None,
    *,
    expected_type: type | None = None,
    resync_seconds: float = 0,
    transformer: Transformer[Any] | None = None,
    clock: Clock | None = None,
    key_func: KeyFunc[Any] = meta_namespace_key_func,
    new_queue: QueueFactory = in_order_queue,
) -> tuple[Indexer[Any], Controller]:
    """Return an indexed store and its controller, like :func:`new_informer` (client-go ``NewIndexerInformer``).

    Args:
        lister_watcher: see :func:`new_informer`.
        handler: see :func:`new_informer`.
        indexers: index name -> index function.
        expected_type: see :func:`new_informer`.
        resync_seconds: see :func:`new_informer`.
        transformer: see :func:`new_informer`.
        clock: see :func:`new_informer`.
        key_func: object -> key.
        new_queue: creates the queue between the reflector and the store.
    """
    indexer, store = new_informer_indexer(key_func, indexers)
    applier = Applier(store, _InPlace(handler), key_func)
    config = Config(
        queue=new_queue(key_func, indexer, refusing(transformer)),
        lister_watcher=lister_watcher,
        process=applier.apply,
        process_batch=applier.apply_batch,
        expected_type=expected_type,
        resync_seconds=resync_seconds,
        clock=clock or RealClock(),
    )
    return indexer, Controller(config)


def new_informer_indexer(
    key_func: KeyFunc[Any], indexers: Indexers[Any] | None
) -> tuple[Indexer[Any], ThreadSafeStore[Any]]:
    """Return the store of an informer and its underlying map; it knows tombstones, and accepts indices at any time.

    Changes are written to the map directly, because their keys are known already.
    """
    store = ThreadSafeMap[Any](indexers, Semantics.CURRENT)
    return Cache(lambda obj: key_of(key_func, obj), store), store


class _InPlace:
    """A listener that calls the handler at once, in the thread that applies the changes."""

    def __init__(self, handler: ResourceEventHandler) -> None:
        self._handler = handler

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        deliver(AddNotification(obj, is_in_initial_list), self._handler)

    def on_update(self, old: Any, new: Any, /) -> None:
        deliver(UpdateNotification(old, new), self._handler)

    def on_delete(self, obj: Any, /) -> None:
        deliver(DeleteNotification(obj), self._handler)
