"""Hypothesis strategies for objects and operations, made to hit corners.

Few keys and few values, so that objects meet: the same key again, values that move between objects, values that lose
their last object. Stamps are given by whoever runs the operations, see :class:`Shape`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item, Style, Values
from kcache_model.indexers.operations import Operation, WriteKind

INDEXES = ("node", "tags", "group")
"""The indices that a program may be created with."""

LATE_INDEXES = ("zone", "tier")
"""The indices that a program may add."""

UNKNOWN_INDEX = "nowhere"

_COMMON_KEYS = ("a", "b", "ns/a")
_ODD_KEYS = ("", "a/b/c", "A", "a b", "\u00e9", "\U0001f600", "__class__", "0")
_COMMON_VALUES = ("n1", "n2", "n3")
_ODD_VALUES = ("", "N1", "n1 ", "\u00fc", "a=b")


@dataclass(frozen=True)
class Shape:
    """An item without its stamp."""

    key: str | None
    values: Values
    resource_version: str | None = None
    style: Style = Style.PLAIN

    def stamped(self, stamp: str) -> Item:
        """The item."""
        return Item(self.key, stamp, self.values, self.resource_version, self.style)


def keys() -> st.SearchStrategy[str]:
    """Keys, mostly one of three."""
    return _mostly(_COMMON_KEYS, _ODD_KEYS)


def index_values() -> st.SearchStrategy[str]:
    """Index values, mostly one of three."""
    return _mostly(_COMMON_VALUES, _ODD_VALUES)


def index_names() -> st.SearchStrategy[str]:
    """Index names, mostly of those that a program is created with."""
    return _mostly(INDEXES, (*LATE_INDEXES, UNKNOWN_INDEX))


def value_lists(*, may_fail: bool) -> st.SearchStrategy[tuple[str, ...] | None]:
    """What an index function returns: none, one, several, duplicates; ``None`` stands for a function that fails."""
    lists = st.one_of(
        st.tuples(index_values()),
        st.lists(index_values(), max_size=3).map(tuple),
        st.just(()),
        index_values().map(lambda value: (value, value)),
    )
    if not may_fail:
        return lists
    return st.integers(0, 15).flatmap(lambda roll: st.none() if roll == 15 else lists)


def all_values(*, may_fail: bool = True, may_fail_late: bool = True) -> st.SearchStrategy[Values]:
    """The values of an object under every index that a program may ever have."""
    usual = {index: value_lists(may_fail=may_fail) for index in INDEXES}
    late = {index: value_lists(may_fail=may_fail_late) for index in LATE_INDEXES}
    return st.fixed_dictionaries({}, optional=usual | late)


def shapes(*, may_fail: bool = True, may_fail_late: bool = True) -> st.SearchStrategy[Shape]:
    """Objects: one in sixteen without a key if ``may_fail``."""
    key: st.SearchStrategy[str | None] = keys()
    if may_fail:
        key = st.integers(0, 15).flatmap(lambda roll: st.none() if roll == 15 else keys())
    return st.builds(
        Shape,
        key=key,
        values=all_values(may_fail=may_fail, may_fail_late=may_fail_late),
        resource_version=st.sampled_from((None, None, "1", "9", "10", "")),
        style=st.sampled_from((Style.PLAIN, *Style)),
    )


def items() -> st.SearchStrategy[Item]:
    """Objects with random stamps, for tests that need no program."""
    return st.builds(lambda shape, number: shape.stamped(f"v{number}"), shapes(), st.integers(0, 99))


def operations() -> st.SearchStrategy[Operation]:
    """Operations of every kind."""
    return st.one_of(
        st.builds(op.add, items()),
        st.builds(op.update, items()),
        st.builds(op.delete, items()),
        st.builds(op.get, items()),
        st.builds(op.replace, st.lists(items(), max_size=3).map(tuple), st.sampled_from(("", "7"))),
        st.lists(st.tuples(st.sampled_from(WriteKind), items()), max_size=3).map(
            lambda entries: op.transaction(*entries)
        ),
        st.builds(op.get_by_key, keys()),
        st.builds(op.mutate, keys(), all_values()),
        st.builds(op.index, index_names(), items()),
        st.builds(op.index_keys, index_names(), index_values()),
        st.builds(op.by_index, index_names(), index_values()),
        st.builds(op.list_index_func_values, index_names()),
        st.lists(index_names(), max_size=2).map(lambda names: op.add_indexers(*names)),
        st.builds(op.bookmark, st.sampled_from(("", "3"))),
        st.sampled_from(
            [op.list_objects(), op.list_keys(), op.get_indexers(), op.resync(), op.last_sync_resource_version()]
        ),
    )


def _mostly(common: tuple[str, ...], odd: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.integers(0, 7).flatmap(lambda roll: st.sampled_from(odd if roll == 7 else common))
