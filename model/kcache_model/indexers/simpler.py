"""Simpler calls and objects of a failing program on an Indexer, for the minimiser of all object types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .items import Item, Style
from .operations import Operation, OperationName
from .program import Program
from .renaming import with_short_names
from .restrictions import mapped


def simpler_programs(program: Program) -> Iterator[Program]:
    """Yield the program with one simpler object, with short names, and without one of its indices."""
    for item in _items(program):
        for simpler in _simpler_items(item):
            yield mapped(program, _with_item(simpler))
    renamed = with_short_names(program)
    if renamed != program:
        yield renamed
    for index in program.indexes:
        yield replace(program, indexes=tuple(name for name in program.indexes if name != index))


def simpler_operations(operation: Operation) -> Iterator[Operation]:
    """Yield the next simpler variants of an operation."""
    for position in range(len(operation.items)):
        yield replace(operation, items=operation.items[:position] + operation.items[position + 1 :])
    for position in range(len(operation.entries)):
        yield replace(operation, entries=operation.entries[:position] + operation.entries[position + 1 :])
    if operation.name is OperationName.REPLACE and operation.resource_version:
        yield replace(operation, resource_version="")
    for position in range(len(operation.names)):
        yield replace(operation, names=operation.names[:position] + operation.names[position + 1 :])


def _simpler_items(item: Item) -> Iterator[Item]:
    if item.style is not Style.PLAIN:
        yield replace(item, style=Style.PLAIN)
    if item.resource_version is not None:
        yield replace(item, resource_version=None)
    for index, values in item.values.items():
        others = {name: kept for name, kept in item.values.items() if name != index}
        yield replace(item, values=others)
        for position in range(len(values or ())):
            assert values is not None
            yield replace(item, values={**item.values, index: values[:position] + values[position + 1 :]})


def _items(program: Program) -> list[Item]:
    """Return the items of a program; the first item of each stamp."""
    items: dict[str, Item] = {}
    for operation in program.operations():
        for item in operation.given:
            items.setdefault(item.stamp, item)
    return list(items.values())


def _with_item(changed: Item) -> Callable[[Operation], Operation]:
    """Return a function that replaces every item with the stamp of ``changed``: these items represent one object."""
    return lambda operation: operation.with_items(lambda item: changed if item.stamp == changed.stamp else item)
