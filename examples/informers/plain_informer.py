"""A correct informer in a hundred lines: one thread lists and watches, one thread per handler tells.

The faulty informers beside it change one of its methods each.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from kcache import DeletedFinalStateUnknown, meta_namespace_index_func, meta_namespace_key_func, new_indexer
from kcache.informers import ListOptions, WatchEvent

Notification = Callable[[Any], object]


class Teller:
    """Tells one handler, in a thread of its own; is its registration, too."""

    def __init__(self, informer: PlainInformer, handler: Any) -> None:
        self.informer = informer
        self.handler = handler
        self.changed = threading.Condition()
        self.waiting: deque[tuple[Notification, bool]] = deque()
        self.initial_left = 0
        self.is_removed = False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def has_synced(self) -> bool:
        """Whether the handler was told of the whole initial list."""
        if not self.informer.has_synced():
            return False
        with self.changed:
            return self.initial_left == 0

    def tell(self, notification: Notification, is_initial: bool = False) -> None:
        """Let a notification wait for its turn."""
        with self.changed:
            self.initial_left += is_initial
            self.waiting.append((notification, is_initial))
            self.changed.notify()

    def remove(self) -> None:
        """Tell nothing more."""
        with self.changed:
            self.is_removed = True
            self.changed.notify()

    def run(self) -> None:
        """Tell until removed."""
        while True:
            with self.changed:
                while not self.waiting and not self.is_removed:
                    self.changed.wait()
                if self.is_removed:
                    return
                notification, is_initial = self.waiting.popleft()
            try:
                notification(self.handler)
            except Exception:
                pass  # a library would log it
            with self.changed:
                self.initial_left -= is_initial


class PlainInformer:
    """Lists, watches, and tells.

    Args:
        lister_watcher: where objects come from.
    """

    new_teller: type[Teller] = Teller

    def __init__(self, lister_watcher: Any) -> None:
        self.lister_watcher = lister_watcher
        self.store = new_indexer(self.key_of, {"namespace": meta_namespace_index_func}, semantics="current")
        self.lock = threading.RLock()  # whoever holds it sees a store of which all tellers know
        self.tellers: list[Teller] = []
        self.all_threads: list[threading.Thread] = []
        self.stopping = threading.Event()
        self.is_listed = False
        self.watch: Any = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def key_of(self, obj: Any) -> str:
        """Of objects and tombstones."""
        return obj.key if isinstance(obj, DeletedFinalStateUnknown) else meta_namespace_key_func(obj)

    def get_store(self) -> Any:
        """The cache."""
        return self.store

    def has_synced(self) -> bool:
        """Whether the cache shows the initial list."""
        return self.is_listed

    def add_indexers(self, indexers: Any) -> None:
        """Add index functions."""
        self.store.add_indexers(indexers)

    def add_event_handler(self, handler: Any) -> Teller:
        """Tell a handler of what is there, then of what changes."""
        teller = self.new_teller(self, handler)
        with self.lock:
            for obj in self.store.list():
                teller.tell(lambda handler, obj=obj: handler.on_add(obj, True), True)
            self.tellers.append(teller)
            if not self.stopping.is_set():
                teller.thread.start()
                self.all_threads.append(teller.thread)
        return teller

    def remove_event_handler(self, teller: Teller) -> None:
        """Tell a handler of nothing more."""
        with self.lock:
            if teller in self.tellers:
                self.tellers.remove(teller)
        teller.remove()

    def start(self) -> None:
        """Begin."""
        self.thread.start()

    def stop(self) -> None:
        """End, and wait for all threads."""
        with self.lock:
            self.stopping.set()
            if self.watch is not None:
                self.watch.stop()
        self.thread.join()
        for teller in list(self.tellers):
            self.remove_event_handler(teller)
        for thread in self.all_threads:
            thread.join()

    def run(self) -> None:
        """List, then watch; from the beginning whenever that fails."""
        while not self.stopping.is_set():
            try:
                version = self.list()
                while not self.stopping.is_set():
                    version = self.follow(version)
            except Exception:
                self.stopping.wait(1.0)

    def list(self) -> str:
        """Make the cache show what a list shows; its resource version."""
        listed = self.lister_watcher.list(ListOptions())
        if not self.stopping.is_set():
            with self.lock:
                self.replace(list(listed.items), listed.resource_version)
        return listed.resource_version

    def replace(self, objs: Any, version: str) -> None:
        """Make the cache show these objects."""
        before = {self.key_of(obj): obj for obj in self.store.list()}
        self.store.replace(objs, version)
        for obj in objs:
            old = before.pop(self.key_of(obj), None)
            self.tell_of(old, obj, not self.is_listed)
        for key, old in before.items():
            gone = DeletedFinalStateUnknown(key, old)
            self.tell_all(lambda handler, gone=gone: handler.on_delete(gone))
        self.is_listed = True

    def follow(self, version: str) -> str:
        """Watch until the watch ends; the last resource version that was seen."""
        watch = self.lister_watcher.watch(ListOptions(version))
        with self.lock:
            self.watch = watch
            if self.stopping.is_set():
                watch.stop()
        for event in watch:
            if self.stopping.is_set():
                break
            if event.type == "ERROR":
                raise RuntimeError(event.object)
            if event.type != "BOOKMARK":
                with self.lock:
                    self.apply(event)
            version = event.object["metadata"]["resourceVersion"]
        return version

    def apply(self, event: WatchEvent) -> None:
        """Change the cache, then tell."""
        obj = event.object
        if event.type == "DELETED":
            was_there = self.store.get(obj) is not None
            self.store.delete(obj)
            if was_there:
                self.tell_all(lambda handler: handler.on_delete(obj))
        else:
            old = self.store.get(obj)
            self.store.update(obj)
            self.tell_of(old, obj, False)

    def tell_of(self, old: Any, obj: Any, is_initial: bool) -> None:
        """Tell all handlers of a new state."""
        if old is None:
            self.tell_all(lambda handler: handler.on_add(obj, is_initial), is_initial)
        else:
            self.tell_all(lambda handler: handler.on_update(old, obj))

    def tell_all(self, notification: Notification, is_initial: bool = False) -> None:
        """Let all tellers tell."""
        for teller in self.tellers:
            teller.tell(notification, is_initial)


def make(lister_watcher: Any) -> PlainInformer:
    """As a target."""
    return PlainInformer(lister_watcher)


make.kcache_unsupported = ("set_transform",)  # type: ignore[attr-defined]
