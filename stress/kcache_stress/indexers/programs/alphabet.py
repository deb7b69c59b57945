"""The calls that small programs are made of; :mod:`.small_scope` says how they are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import INDEX_OPERATIONS, Operation, OperationName, WriteKind
from kcache_model.target import INDEXES, Target

INDEX = "node"
"""The index that the Indexer is created with."""

LATE_INDEXES = ("zone", "tier")
"""What ``add_indexers`` adds; under the first of them objects have the same values as under ``node``."""

LATE_INDICES = "late indices"
"""The guests about indices that come late; they mean something only together, and to an empty store."""

RESOURCE_VERSION = "resource version"
"""The guests about the resource version; they mean something only together."""

JOINT_GROUPS = frozenset({LATE_INDICES, RESOURCE_VERSION})
"""The groups of which a program may have several writes."""

STORES: tuple[tuple[str, ...], ...] = ((), ("ax",), ("ax", "bx"), ("ax", "by"))
"""The objects that programs start with."""


class Maker:
    """Makes the operations of one place in a program; its stamps and versions are found at no other place.

    Args:
        place: a name for the place.
        target: decides whether there are indices.
        late: whether objects have values under the late index.
    """

    def __init__(self, place: str, target: Target, late: bool = False) -> None:
        self._place = place
        self._indexes = () if INDEXES in target.unsupported else (INDEX, LATE_INDEXES[0]) if late else (INDEX,)
        self._has_versions = target.supports(OperationName.LAST_SYNC_RESOURCE_VERSION)
        self._made = 0

    def item(self, text: str) -> Item:
        """``"ax"`` is an object with the key a and the value x; ``"axy"`` has two values, ``"a"`` none."""
        self._made += 1
        key, values = text[0], tuple(text[1:])
        return Item(key, f"{self._place}.{self._made}", {index: values for index in self._indexes if values})

    def items(self, *texts: str) -> tuple[Item, ...]:
        """Several objects."""
        return tuple(self.item(text) for text in texts)

    def version(self) -> str:
        """A resource version, if anybody can see it."""
        return self._place if self._has_versions else ""


@dataclass(frozen=True)
class Letter:
    """One call of the alphabet.

    Attributes:
        name: the call.
        make: what makes it.
        group: the group of guests that it belongs to; empty for the core.
    """

    name: OperationName
    make: Callable[[Maker], Operation]
    group: str = ""


_Name = OperationName

_CORE = (
    Letter(_Name.ADD, lambda make: op.add(make.item("ax"))),
    Letter(_Name.ADD, lambda make: op.add(make.item("ay"))),
    Letter(_Name.ADD, lambda make: op.add(make.item("bx"))),
    Letter(_Name.DELETE, lambda make: op.delete(make.item("a"))),
    Letter(_Name.GET_BY_KEY, lambda _: op.get_by_key("a")),
    Letter(_Name.LIST, lambda _: op.list_objects()),
    Letter(_Name.BY_INDEX, lambda _: op.by_index(INDEX, "x")),
    Letter(_Name.BY_INDEX, lambda _: op.by_index(INDEX, "y")),
)

_GUESTS = (
    Letter(_Name.ADD, lambda make: op.add(make.item("by")), "other key"),
    Letter(_Name.DELETE, lambda make: op.delete(make.item("b")), "other key"),
    Letter(_Name.GET_BY_KEY, lambda _: op.get_by_key("b"), "other key"),
    Letter(_Name.UPDATE, lambda make: op.update(make.item("ay")), "update"),
    Letter(_Name.REPLACE, lambda _: op.replace(()), "replace"),
    Letter(_Name.REPLACE, lambda make: op.replace(make.items("bx")), "replace"),
    Letter(_Name.REPLACE, lambda make: op.replace(make.items("ay", "bx"), make.version()), "replace"),
    Letter(
        _Name.TRANSACTION,
        lambda make: op.transaction((WriteKind.ADD, make.item("ay")), (WriteKind.ADD, make.item("bx"))),
        "transaction",
    ),
    Letter(
        _Name.TRANSACTION,
        lambda make: op.transaction((WriteKind.DELETE, make.item("a")), (WriteKind.ADD, make.item("bx"))),
        "transaction",
    ),
    Letter(_Name.GET, lambda make: op.get(make.item("a")), "get"),
    Letter(_Name.LIST_KEYS, lambda _: op.list_keys(), "list_keys"),
    Letter(_Name.INDEX, lambda make: op.index(INDEX, make.item("ax")), "index"),
    Letter(_Name.INDEX, lambda make: op.index(INDEX, make.item("axy")), "index"),
    Letter(_Name.INDEX_KEYS, lambda _: op.index_keys(INDEX, "x"), "index_keys"),
    Letter(_Name.INDEX_KEYS, lambda _: op.index_keys(INDEX, "y"), "index_keys"),
    Letter(_Name.LIST_INDEX_FUNC_VALUES, lambda _: op.list_index_func_values(INDEX), "index values"),
    Letter(_Name.ADD_INDEXERS, lambda _: op.add_indexers(*LATE_INDEXES), LATE_INDICES),
    Letter(_Name.GET_INDEXERS, lambda _: op.get_indexers(), LATE_INDICES),
    Letter(_Name.BY_INDEX, lambda _: op.by_index(LATE_INDEXES[0], "x"), LATE_INDICES),
    Letter(_Name.BOOKMARK, lambda make: op.bookmark(make.version()), RESOURCE_VERSION),
    Letter(_Name.LAST_SYNC_RESOURCE_VERSION, lambda _: op.last_sync_resource_version(), RESOURCE_VERSION),
    Letter(_Name.RESYNC, lambda _: op.resync(), "resync"),
)

_NEEDS = {LATE_INDICES: _Name.ADD_INDEXERS, RESOURCE_VERSION: _Name.LAST_SYNC_RESOURCE_VERSION}
"""A group -> the call without which the rest of it is pointless."""


def alphabet(target: Target) -> tuple[Letter, ...]:
    """The calls that the target supports."""
    made: dict[Operation, Letter] = {}
    for letter in _CORE + _GUESTS:
        if _is_offered(letter.name, target) and _is_offered(_NEEDS.get(letter.group, letter.name), target):
            # Without indices, objects that differ in their value only are the same.
            made.setdefault(letter.make(Maker("0", target)), letter)
    return tuple(made.values())


def fill(make: Maker, store: tuple[str, ...], target: Target) -> tuple[Operation, ...] | None:
    """The operations that put these objects in; ``None`` if the target cannot be filled."""
    for name, one in ((_Name.ADD, op.add), (_Name.UPDATE, op.update)):
        if target.supports(name):
            return tuple(one(item) for item in make.items(*store))
    if target.supports(_Name.REPLACE):
        return (op.replace(make.items(*store)),) if store else ()
    return None if store else ()


def _is_offered(name: OperationName, target: Target) -> bool:
    return target.supports(name) and not (INDEXES in target.unsupported and name in INDEX_OPERATIONS)
