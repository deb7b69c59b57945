"""Reads that show the whole contents of a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import operations as op
from .items import Item
from .operations import Operation
from .program import Program
from .target import UNKNOWN_INDEX, Target


def final_reads(program: Program, target: Target) -> list[Operation]:
    """Return reads of everything that ``program`` may have stored, in its own indices and in the indices it adds."""
    late = {name for operation in program.operations() for name in operation.names} - set(program.indexes)
    if UNKNOWN_INDEX in target.unsupported:
        late.clear()  # add_indexers may have failed; these indices then do not exist, and must not be read
    indexes = (*program.indexes, *sorted(late))
    return reads_of([item for operation in program.operations() for item in operation.written], indexes, target)


def reads_of(items: Iterable[Item], indexes: Sequence[str], target: Target) -> list[Operation]:
    """Return reads of the whole store, of each key, and of each value of the objects in each index.

    Reads that the target does not support are left out.
    """
    keys, values = set(), set()
    for item in items:
        keys.add(item.key or "")
        values |= {value for texts in item.values.values() for value in texts or ()}
    reads = [op.list_objects(), op.list_keys(), *(op.get_by_key(key) for key in sorted(keys))]
    for index in indexes:
        reads.append(op.list_index_func_values(index))
        for value in sorted(values):
            reads += [op.by_index(index, value), op.index_keys(index, value)]
    return [read for read in reads if target.supports(read.name)]
