"""Reads that show everything that is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kcache_model.indexers import operations as op
from kcache_model.indexers.items import Item
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import UNKNOWN_INDEX, Target


def final_reads(program: Program, target: Target) -> list[Operation]:
    """Reads everything back that ``program`` may have left behind."""
    late = {name for operation in program.operations() for name in operation.names} - set(program.indexes)
    if UNKNOWN_INDEX in target.unsupported:
        late.clear()  # whoever adds one that is there already has added none
    indexes = (*program.indexes, *sorted(late))
    return reads_of([item for operation in program.operations() for item in operation.written], indexes, target)


def reads_of(items: Iterable[Item], indexes: Sequence[str], target: Target) -> list[Operation]:
    """Reads the whole store, each key and each value that one of the objects has."""
    keys, values = set(), set()
    for item in items:
        keys.add(item.key or "")
        values |= {value for found in item.values.values() for value in found or ()}
    reads = [op.list_objects(), op.list_keys(), *(op.get_by_key(key) for key in sorted(keys))]
    for index in indexes:
        reads.append(op.list_index_func_values(index))
        for value in sorted(values):
            reads += [op.by_index(index, value), op.index_keys(index, value)]
    return [read for read in reads if target.supports(read.name)]
