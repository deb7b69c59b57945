"""Alphabet of small programs: the calls that they consist of. :mod:`.small_scope` combines the calls into programs."""

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
    CallTemplate,
    call_templates,
    is_offered,
)

JOINT_GROUPS = frozenset({LATE_INDICES, RESOURCE_VERSION})
"""Groups that may contribute several writes to one program."""

STORES: tuple[tuple[str, ...], ...] = ((), ("ax",), ("ax", "bx"), ("ax", "by"))
"""The objects that the store may hold when the threads start; for the notation see :meth:`Maker.item`."""


class Maker:
    """Source of the arguments for one place in a program. Its stamps and versions occur at no other place.

    Args:
        place: a unique name for the place.
        target: determines whether there are indices and resource versions.
        late: whether objects have values under the late index.
    """

    def __init__(self, place: str, target: Target, late: bool = False) -> None:
        self._place = place
        self._indexes = () if INDEXES in target.unsupported else (INDEX, LATE_INDEXES[0]) if late else (INDEX,)
        self._has_versions = target.supports(OperationName.LAST_SYNC_RESOURCE_VERSION)
        self._made = 0

    def item(self, text: str) -> Item:
        """Return an object: ``"ax"`` has the key a and the value x; ``"axy"`` has two values; ``"a"`` has no value."""
        self._made += 1
        key, values = text[0], tuple(text[1:])
        return Item(key, f"{self._place}.{self._made}", {index: values for index in self._indexes if values})

    def items(self, *texts: str) -> tuple[Item, ...]:
        """Return one object for each text."""
        return tuple(self.item(text) for text in texts)

    def version(self) -> str:
        """Return a resource version; empty if the target has no call that reads it."""
        return self._place if self._has_versions else ""


_NEEDS = {LATE_INDICES: OperationName.ADD_INDEXERS, RESOURCE_VERSION: OperationName.LAST_SYNC_RESOURCE_VERSION}
"""Group -> the call that the other calls of the group depend on: without it they are pointless."""


def alphabet(target: Target) -> tuple[CallTemplate, ...]:
    """Return the calls of small programs that the target supports, without duplicates."""
    made: dict[Operation, CallTemplate] = {}
    for template in call_templates():
        if is_offered(template.name, target) and is_offered(_NEEDS.get(template.group, template.name), target):
            # Without indices, objects that differ only in their value are equal, and so are the calls.
            made.setdefault(template.make(Maker("0", target)), template)
    return tuple(made.values())


def fill(make: Maker, store: tuple[str, ...], target: Target) -> tuple[Operation, ...] | None:
    """Return the operations that store these objects; ``None`` if the target has no call that can store them."""
    for name, one in ((OperationName.ADD, op.add), (OperationName.UPDATE, op.update)):
        if target.supports(name):
            return tuple(one(item) for item in make.items(*store))
    if target.supports(OperationName.REPLACE):
        return (op.replace(make.items(*store)),) if store else ()
    return None if store else ()
