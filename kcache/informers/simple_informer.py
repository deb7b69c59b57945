"""A store that follows an API server, and one handler, without sharing (client-go ``NewInformer``)."""

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
    """A store and the controller that keeps it up to date (client-go ``NewInformer``).

    The handler runs in the controller's thread: while it works, nothing else happens. What it raises is logged.

    Args:
        lister_watcher: where objects come from.
        handler: is told of each change, after the store shows it.
        expected_type: objects of other types are dropped; ``None`` takes all.
        resync_seconds: how often the handler is shown all objects again; 0 for never.
        transformer: replaces each object before anybody sees it.
        clock: tells the time and waits.
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
    """As :func:`new_informer`, with indices (client-go ``NewIndexerInformer``).

    Args:
        lister_watcher: as there.
        handler: as there.
        indexers: index name -> index function.
        expected_type: as there.
        resync_seconds: as there.
        transformer: as there.
        clock: as there.
        key_func: object -> key.
        new_queue: makes the queue between the reflector and the store.
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
    """The store of an informer, which knows the keys of tombstones and takes indices at any time; with what is in it.

    Changes go straight to what is in it, under keys that are known already.
    """
    store = ThreadSafeMap[Any](indexers, Semantics.CURRENT)
    return Cache(lambda obj: key_of(key_func, obj), store), store


class _InPlace:
    """Tells a handler at once, in the thread that applies the changes."""

    def __init__(self, handler: ResourceEventHandler) -> None:
        self._handler = handler

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        deliver(AddNotification(obj, is_in_initial_list), self._handler)

    def on_update(self, old: Any, new: Any, /) -> None:
        deliver(UpdateNotification(old, new), self._handler)

    def on_delete(self, obj: Any, /) -> None:
        deliver(DeleteNotification(obj), self._handler)
