"""The index structure: index name -> index value -> bucket, and a bucket maps keys to objects.

These are plain functions on plain dicts, without locks. Each step of a lookup on a shared dict is one atomic call
(``get``, ``copy``, ``update``, ``list``), so lookups never fail while another thread writes. The caller has to decide
whether the result is consistent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import TypeVar

from .errors import IndexFuncError
from .index_values import Functions, Placement, Values, checked_values, packed

T = TypeVar("T")

Bucket = dict[str, T]
"""The objects under one index value: key -> object. No bucket stays empty (kubernetes#84959)."""

Buckets = dict[str, Bucket[T]]
"""One index: index value -> bucket."""


def insert(tables: Iterable[Buckets[T]], placement: Placement, key: str, obj: T) -> None:
    """Put ``obj`` into the bucket of each of its values. O(number of values).

    Every write calls this, so positions are counted by hand: for a few indices, zip() takes twice as long.
    """
    position = 0
    for buckets in tables:
        value = placement[position]
        position += 1  # noqa: SIM113 - enumerate() is slower, too
        if value in buckets:
            buckets[value][key] = obj
        else:
            for each in (value,) if type(value) is str else value:
                buckets.setdefault(each, {})[key] = obj


def remove(tables: Iterable[Buckets[T]], placement: Placement, key: str, after: Placement | None = None) -> None:
    """Remove ``key`` from its buckets, except the indices with equal values in ``after``; drop empty buckets.

    O(number of values).
    """
    position = 0
    for buckets in tables:
        value = placement[position]
        if after is None or after[position] != value:
            for each in (value,) if type(value) is str else value:
                bucket = buckets[each]
                del bucket[key]
                if not bucket:
                    del buckets[each]
        position += 1  # noqa: SIM113


def indexed(functions: Functions[T], items: Mapping[str, T]) -> tuple[dict[str, Buckets[T]], dict[str, Placement]]:
    """Return new indices of ``items``, and the placement of each key. O(number of values).

    The indices are built one after another, so that the loop over the objects does nothing but compute values.

    Raises:
        IndexFuncError: a function failed for one of the objects.
    """
    indices: dict[str, Buckets[T]] = {name: {} for name, _ in functions}
    columns: list[list[Values]] = []
    for name, func in functions:
        buckets = indices[name]
        column: list[Values] = []
        for key, obj in items.items():
            try:
                returned = func(obj)
                if type(returned) is list and len(returned) == 1 and type(returned[0]) is str:
                    value: Values = returned[0]
                else:
                    value = packed(checked_values(returned))
            except Exception as error:
                raise IndexFuncError(key, name, error) from error
            column.append(value)
            bucket = buckets.get(value)  # type: ignore[arg-type]
            if bucket is not None:
                bucket[key] = obj
            else:
                for each in (value,) if type(value) is str else value:
                    buckets.setdefault(each, {})[key] = obj
        columns.append(column)
    rows: Iterable[Placement] = zip(*columns, strict=True) if columns else repeat(())
    shared: dict[Placement, Placement] = {}  # one tuple per object would cost time in the garbage collector
    return indices, {key: shared.setdefault(row, row) for key, row in zip(items, rows, strict=False)}


def objects_under(indices: Mapping[str, Buckets[T]], name: str, value: str) -> list[T] | None:
    """Return the objects under one value; ``None`` if the index does not exist."""
    buckets = indices.get(name)
    if buckets is None:
        return None
    bucket = buckets.get(value)
    return [] if bucket is None else list(bucket.values())


def objects_under_any(indices: Mapping[str, Buckets[T]], name: str, values: Iterable[str]) -> list[T] | None:
    """Return the objects under at least one of the values, each once; ``None`` if the index does not exist."""
    buckets = indices.get(name)
    if buckets is None:
        return None
    objects: Bucket[T] = {}
    for value in values:
        bucket = buckets.get(value)
        if bucket is not None:
            objects.update(bucket)
    return list(objects.values())


def keys_under(indices: Mapping[str, Buckets[T]], name: str, value: str) -> list[str] | None:
    """Return the keys under one value, unsorted; ``None`` if the index does not exist."""
    buckets = indices.get(name)
    if buckets is None:
        return None
    bucket = buckets.get(value)
    return [] if bucket is None else list(bucket)


def values_in_use(indices: Mapping[str, Buckets[T]], name: str) -> list[str]:
    """Return the values that have at least one object; ``[]`` if the index does not exist."""
    buckets = indices.get(name)
    return [] if buckets is None else list(buckets)
