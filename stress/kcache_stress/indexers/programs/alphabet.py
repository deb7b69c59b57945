"""The calls that small programs are made of; :mod:`.small_scope` says how they are put together."""

from __future__ import annotations

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation, OperationName
from kcache_model.indexers.target import INDEXES, Target
from kcache_model.indexers.vocabulary import (
    INDEX,
    LATE_INDEXES,
    LATE_INDICES,
    RESOURCE_VERSION,
    Letter,
    is_offered,
    letters,
)

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


_NEEDS = {LATE_INDICES: OperationName.ADD_INDEXERS, RESOURCE_VERSION: OperationName.LAST_SYNC_RESOURCE_VERSION}
"""A group -> the call without which the rest of it is pointless."""


def alphabet(target: Target) -> tuple[Letter, ...]:
    """The calls that the target supports."""
    made: dict[Operation, Letter] = {}
    for letter in letters():
        if is_offered(letter.name, target) and is_offered(_NEEDS.get(letter.group, letter.name), target):
            # Without indices, objects that differ in their value only are the same.
            made.setdefault(letter.make(Maker("0", target)), letter)
    return tuple(made.values())


def fill(make: Maker, store: tuple[str, ...], target: Target) -> tuple[Operation, ...] | None:
    """The operations that put these objects in; ``None`` if the target cannot be filled."""
    for name, one in ((OperationName.ADD, op.add), (OperationName.UPDATE, op.update)):
        if target.supports(name):
            return tuple(one(item) for item in make.items(*store))
    if target.supports(OperationName.REPLACE):
        return (op.replace(make.items(*store)),) if store else ()
    return None if store else ()
