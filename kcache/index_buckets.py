"""The index structure: index name -> index value -> bucket, and a bucket maps keys to objects.

Plain functions on plain dicts; nothing here knows of locks. The lookups take each of their steps on a shared dict in
one atomic call (``get``, ``copy``, ``update``, ``list``), so that they never fail while another thread writes; whether
the result is consistent is for the caller to judge.
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

    Each write comes through here, hence the counting: zip() takes twice as long for as few indices as there are.
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
    """Take ``key`` out of the buckets that it is not in ``after``, too; drop those left empty. O(number of values)."""
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
    """New indices of ``items``, and where each key stands in them. O(number of values).

    One index after the other: that way nothing is asked for each object but its values.

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
    shared: dict[Placement, Placement] = {}  # as many tuples as objects would keep the garbage collector busy
    return indices, {key: shared.setdefault(row, row) for key, row in zip(items, rows, strict=False)}


def objects_under(indices: Mapping[str, Buckets[T]], name: str, value: str) -> list[T] | None:
    """The objects under one value; ``None`` if there is no such index."""
    buckets = indices.get(name)
    if buckets is None:
        return None
    bucket = buckets.get(value)
    return [] if bucket is None else list(bucket.values())


def objects_under_any(indices: Mapping[str, Buckets[T]], name: str, values: Iterable[str]) -> list[T] | None:
    """The objects under at least one of the values, each once; ``None`` if there is no such index."""
    buckets = indices.get(name)
    if buckets is None:
        return None
    found: Bucket[T] = {}
    for value in values:
        bucket = buckets.get(value)
        if bucket is not None:
            found.update(bucket)
    return list(found.values())


def keys_under(indices: Mapping[str, Buckets[T]], name: str, value: str) -> list[str] | None:
    """The keys under one value, unsorted; ``None`` if there is no such index."""
    buckets = indices.get(name)
    if buckets is None:
        return None
    bucket = buckets.get(value)
    return [] if bucket is None else list(bucket)


def values_in_use(indices: Mapping[str, Buckets[T]], name: str) -> list[str]:
    """The values that have at least one object; ``[]`` if there is no such index."""
    buckets = indices.get(name)
    return [] if buckets is None else list(buckets)
