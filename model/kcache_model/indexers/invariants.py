"""Invariants of any Indexer between two writes, checked through its public methods alone.

An implementation may also offer its inner state as
``kcache_snapshot() -> {"items": {key: object}, "indices": {index: {value: keys}}}``; the rules are then checked on the
snapshot as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from kcache import Indexer

from ..rules import BrokenRule
from . import operations as op
from .operations import Operation

IndexValues = Callable[[Any, str], Iterable[str] | None]
"""(object, index name) -> the values that the object was indexed under; ``None`` if that is not known."""

Identify = Callable[[Any], object]
"""Object -> its identity: ``id``, or a function such as the stamp for an implementation that returns copies."""


@dataclass(frozen=True)
class View:
    """The content of an Indexer, as its public methods return it.

    Attributes:
        items: key -> object.
        listed: the objects that ``list`` returned.
        indices: index name -> index value -> the keys under it, in the returned order.
        objects: index name -> index value -> the objects under it.
    """

    items: Mapping[str, Any]
    listed: tuple[Any, ...]
    indices: Mapping[str, Mapping[str, tuple[str, ...]]]
    objects: Mapping[str, Mapping[str, tuple[Any, ...]]]


def broken_rules(
    indexer: Indexer[Any],
    indexes: Iterable[str],
    values_of: IndexValues,
    identify: Identify = id,
    before: Callable[[Operation], None] = lambda _: None,
    *,
    may_evict: bool = False,
    seen: Callable[[View], None] = lambda _: None,
) -> list[BrokenRule]:
    """Return the rules that the Indexer breaks now. Exceptions of its calls pass through.

    Args:
        indexer: the Indexer.
        indexes: the names of its indices.
        values_of: returns the values that an object was indexed under.
        identify: returns the identity of an object.
        before: called with each operation before it is called.
        may_evict: whether objects may be evicted at any time. An eviction during an observation can look like a broken
            rule; so the Indexer is observed again, up to once for each object, and the last observation counts.
        seen: called with each observation.
    """
    view = observe(indexer, indexes, before)
    seen(view)
    broken = violations(view, values_of, identify)
    for _ in view.items if may_evict else ():
        if broken:
            view = observe(indexer, indexes, before)
            seen(view)
            broken = violations(view, values_of, identify)
    snapshot = getattr(indexer, "kcache_snapshot", None)
    if callable(snapshot):
        broken += snapshot_violations(cast("Mapping[str, Any]", snapshot()), values_of)
    return broken


def observe(
    indexer: Indexer[Any], indexes: Iterable[str], before: Callable[[Operation], None] = lambda _: None
) -> View:
    """Read the whole content through the public methods; ``before`` is called first. Exceptions pass through."""
    before(op.list_keys())
    keys = list(indexer.list_keys())
    indices: dict[str, dict[str, tuple[str, ...]]] = {}
    objects: dict[str, dict[str, tuple[Any, ...]]] = {}
    for index in indexes:
        before(op.list_index_func_values(index))
        values = list(indexer.list_index_func_values(index))
        indices[index], objects[index] = {}, {}
        for value in values:
            before(op.index_keys(index, value))
            indices[index][value] = tuple(indexer.index_keys(index, value))
            before(op.by_index(index, value))
            objects[index][value] = tuple(indexer.by_index(index, value))
    items = {}
    for key in keys:
        before(op.get_by_key(key))
        items[key] = indexer.get_by_key(key)
    before(op.list_objects())
    return View(items, tuple(indexer.list()), indices, objects)


def violations(view: View, values_of: IndexValues, identify: Identify = id) -> list[BrokenRule]:
    """Return the rules that the content breaks; empty if all hold."""
    return [
        *_content(view, identify),
        *_empty_values(view),
        *_entries(view, values_of, identify),
        *_missing(view, values_of),
        *_order(view),
    ]


def snapshot_violations(snapshot: Mapping[str, Any], values_of: IndexValues) -> list[BrokenRule]:
    """Return the rules that the inner state breaks which ``kcache_snapshot`` returned."""
    items = dict(snapshot["items"])
    indices = {
        index: {value: tuple(sorted(keys)) for value, keys in values.items()}
        for index, values in snapshot["indices"].items()
    }
    objects = {
        index: {value: tuple(items[key] for key in keys if key in items) for value, keys in values.items()}
        for index, values in indices.items()
    }
    view = View(items, tuple(items.values()), indices, objects)
    return [replace(broken, text=f"inside: {broken}") for broken in violations(view, values_of)]


def _content(view: View, identify: Identify) -> Iterable[BrokenRule]:
    absent = [key for key, obj in view.items.items() if obj is None]
    if absent:
        yield BrokenRule(
            "listings-disagree", f"list_keys returns the key {absent[0]!r}, but get_by_key returns no object for it"
        )
    elif Counter(map(identify, view.listed)) != Counter(map(identify, view.items.values())):
        yield BrokenRule(
            "listings-disagree",
            f"list returns {len(view.listed)} objects, not the objects of the {len(view.items)} keys of list_keys",
        )


def _empty_values(view: View) -> Iterable[BrokenRule]:
    for index, values in view.indices.items():
        for value, keys in values.items():
            if not keys:
                yield BrokenRule(
                    "empty-index-value-kept",
                    f"index {index!r} lists the value {value!r}, which has no keys: its empty set was not removed",
                )


def _entries(view: View, values_of: IndexValues, identify: Identify) -> Iterable[BrokenRule]:
    for index, values in view.indices.items():
        for value, keys in values.items():
            for key in keys:
                if key not in view.items:
                    yield BrokenRule(
                        "dangling-index-key",
                        f"index {index!r} has key {key!r} under {value!r}, but nothing is stored under that key",
                    )
                    continue
                expected = values_of(view.items[key], index)
                if expected is not None and value not in expected:
                    yield BrokenRule(
                        "stale-index-entry",
                        f"index {index!r} has key {key!r} under {value!r}, but the object of that key does not have "
                        "that value",
                    )
            identities = Counter(map(identify, view.objects[index][value]))
            if identities != Counter(identify(view.items[key]) for key in keys if key in view.items):
                yield BrokenRule(
                    "lookups-disagree", f"by_index and index_keys disagree about the value {value!r} of index {index!r}"
                )


def _missing(view: View, values_of: IndexValues) -> Iterable[BrokenRule]:
    for index, values in view.indices.items():
        for key, obj in view.items.items():
            for value in () if obj is None else values_of(obj, index) or ():
                if key not in values.get(value, ()):
                    yield BrokenRule(
                        "missing-index-entry",
                        f"the object stored under {key!r} is missing under its value {value!r} of index {index!r}",
                    )


def _order(view: View) -> Iterable[BrokenRule]:
    for index, values in view.indices.items():
        for value, keys in values.items():
            description = f"index_keys gives {list(keys)} for value {value!r} of index {index!r}"
            if len(set(keys)) < len(keys):
                yield BrokenRule("duplicate-results", f"{description}: not distinct")
            elif list(keys) != sorted(keys):
                yield BrokenRule("unsorted-keys", f"{description}: not sorted")
