"""Listers: functions that list the objects of a store that a label selector matches (client-go ``listers.go``)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, TypeVar

from .errors import IndexNotFoundError
from .index_funcs import NAMESPACE_INDEX
from .interfaces import Indexer, Store
from .labels import Selector, everything
from .metadata import accessor

T = TypeVar("T")

_log = logging.getLogger(__name__)


class _NamespaceProbe:
    """Bare metadata with only a namespace: stands for any object of the namespace in an index lookup."""

    def __init__(self, namespace: str) -> None:
        self.name = ""
        self.namespace = namespace


def list_all(store: Store[T], selector: Selector | None = None) -> list[T]:
    """Return the objects that ``selector`` matches (by default all objects); O(n). Source: client-go ``ListAll``.

    Raises:
        NoMetadataError: an object has no metadata, and the selector is neither everything nor nothing.
    """
    selector = everything() if selector is None else selector
    return [] if selector.matches_nothing else _matching(store.list(), selector)


def list_all_by_namespace(indexer: Indexer[T], namespace: str, selector: Selector | None = None) -> list[T]:
    """Return the objects of one namespace that ``selector`` matches; the empty string means all namespaces.

    Uses the index :data:`~kcache.NAMESPACE_INDEX`, and does not check its results. If the index does not exist or its
    function fails, logs a warning and scans the whole store; O(n). Source: client-go ``ListAllByNamespace``.

    Raises:
        NoMetadataError: an object has no metadata, and the selector or the scan needs it.
    """
    selector = everything() if selector is None else selector
    if selector.matches_nothing:
        return []
    if not namespace:
        return list_all(indexer, selector)
    probe: Any = _NamespaceProbe(namespace)
    try:
        objects = indexer.index(NAMESPACE_INDEX, probe)
    except IndexNotFoundError:
        _log.warning(
            "no index called %r: listing namespace %r by a scan of the whole store", NAMESPACE_INDEX, namespace
        )
    except Exception as error:
        _log.warning(
            "index %r failed for namespace %r (%s): listing it by a scan of the whole store",
            NAMESPACE_INDEX,
            namespace,
            error,
        )
    else:
        return _matching(objects, selector)
    return [obj for obj in indexer.list() if _is_in(obj, namespace, selector)]


def _matching(objs: Iterable[T], selector: Selector) -> list[T]:
    return [obj for obj in objs if selector.is_everything or selector.matches(accessor(obj).labels)]


def _is_in(obj: object, namespace: str, selector: Selector) -> bool:
    metadata = accessor(obj)
    return metadata.namespace == namespace and selector.matches(metadata.labels)
