"""The subjects: stores behind one interface that costs nothing, since it holds the stores' own functions.

Adapters are written only where a subject lacks an operation that is made of its others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module

import kcache
from kcache_stress.interpreter import has_gil

from .naive import NaiveIndexer
from .pods import INDEXERS, Pod, key_of


@dataclass(frozen=True)
class Subject:
    """The operations of one store; ``None`` where it has no such operation."""

    add: Callable[[Pod], object]
    update: Callable[[Pod], object]
    delete: Callable[[Pod], object]
    get_by_key: Callable[[str], Pod | None]
    replace: Callable[[Sequence[Pod]], object] | None = None
    by_index: Callable[[str, str], Iterable[Pod]] | None = None
    index_keys: Callable[[str, str], list[str]] | None = None
    thread_safe: bool = True
    close: Callable[[], object] = lambda: None


def plain_dicts() -> Subject:
    """The limit: dicts kept by hand for pods, which stay in their namespace; no lock, no checks."""
    items: dict[str, Pod] = {}
    nodes: dict[str, dict[str, Pod]] = {}
    namespaces: dict[str, dict[str, Pod]] = {}
    indices = {"node": nodes, "namespace": namespaces}

    def add(pod: Pod) -> None:
        key = pod.key
        old = items.get(key)
        if old is not None and old.node != pod.node:
            leave(nodes, old.node, key)
        items[key] = pod
        nodes.setdefault(pod.node, {})[key] = pod
        namespaces.setdefault(pod.namespace, {})[key] = pod

    def delete(pod: Pod) -> None:
        key = pod.key
        old = items.pop(key)
        leave(nodes, old.node, key)
        leave(namespaces, old.namespace, key)

    def leave(index: dict[str, dict[str, Pod]], value: str, key: str) -> None:
        bucket = index[value]
        del bucket[key]
        if not bucket:
            del index[value]

    def replace(pods: Sequence[Pod]) -> None:
        for each in (items, nodes, namespaces):
            each.clear()
        for pod in pods:
            add(pod)

    return Subject(
        add=add,
        update=add,
        delete=delete,
        get_by_key=items.get,
        replace=replace,
        by_index=lambda name, value: list(indices[name].get(value, {}).values()),
        index_keys=lambda name, value: sorted(indices[name].get(value, ())),
        thread_safe=False,
    )


def kcache_indexer() -> Subject:
    """The reference."""
    indexer = kcache.new_indexer(key_of, INDEXERS)
    return Subject(
        add=indexer.add,
        update=indexer.update,
        delete=indexer.delete,
        get_by_key=indexer.get_by_key,
        replace=indexer.replace,
        by_index=indexer.by_index,
        index_keys=indexer.index_keys,
    )


def naive_port() -> Subject:
    """What the others are compared with."""
    indexer = NaiveIndexer(key_of, INDEXERS)
    return Subject(
        add=indexer.add,
        update=indexer.update,
        delete=indexer.delete,
        get_by_key=indexer.get_by_key,
        replace=indexer.replace,
        by_index=indexer.by_index,
        index_keys=indexer.index_keys,
    )


def littletable_table() -> Subject:
    """littletable: a table with indices, not for several threads; it has no update, and looks for what it removes."""
    table = import_module("littletable").Table()
    table.create_index("key", unique=True).create_index("node").create_index("namespace")
    by_key, indices = table.by.key, {name: table.by(name) for name in INDEXERS}

    def delete(pod: Pod) -> None:
        table.remove(by_key[pod.key])

    def update(pod: Pod) -> None:
        delete(pod)
        table.insert(pod)

    def replace(pods: Sequence[Pod]) -> None:
        table.clear()
        table.insert_many(pods)

    return Subject(
        add=table.insert,
        update=update,
        delete=delete,
        get_by_key=lambda key: by_key.get(key),
        replace=replace,
        by_index=lambda name, value: indices[name][value],
        index_keys=lambda name, value: sorted(pod.key for pod in indices[name][value]),
        thread_safe=False,
    )


def nimbuskv_store() -> Subject:
    """nimbuskv: a key-value store on persistent maps; no indices, no replacement of the whole content."""
    if not has_gil():
        raise ImportError("immutables, which it is built on, would turn the GIL on")
    store = import_module("nimbuskv").NimbusKV()

    def add(pod: Pod) -> None:
        store.set(pod.key, pod)

    return Subject(
        add=add,
        update=add,
        delete=lambda pod: store.delete(pod.key),
        get_by_key=store.get,
        close=store.stop,
    )


def kubernetes_cache() -> Subject:
    """The object cache of the official client's informer: no indices. Its writers are the informer's own."""
    cache = import_module("kubernetes.informer.cache").ObjectCache(key_of)
    return Subject(
        add=cache._put,
        update=cache._put,
        delete=cache._remove,
        get_by_key=cache.get_by_key,
        replace=cache._replace_all,
    )


NAIVE = "naive port"

FACTORIES: dict[str, Callable[[], Subject]] = {
    "plain dicts": plain_dicts,
    "kcache": kcache_indexer,
    NAIVE: naive_port,
    "littletable": littletable_table,
    "nimbuskv": nimbuskv_store,
    "kubernetes": kubernetes_cache,
}


def installed() -> dict[str, Callable[[], Subject]]:
    """The subjects whose packages are there."""
    found = {}
    for name, factory in FACTORIES.items():
        try:
            factory().close()
        except ImportError:
            continue
        found[name] = factory
    return found
