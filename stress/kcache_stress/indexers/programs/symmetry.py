"""Symmetry of programs: programs that differ only in names or in the order of threads are equivalent; one is enough.

Two programs are *equivalent* if renaming keys, index values, stamps and resource versions (each one to one) and
reordering the threads turns one program into the other. Everything else must agree, such as the names of indices and
the semantics. :func:`canonical` returns the same program for all programs of a class of equivalent programs.

The model behaves equally for equivalent programs, with one exception that does not matter: ``index_keys`` sorts by
key, so that renaming may reverse a result of two keys. An implementation may depend on names, because it hashes them or
sorts by them. Random programs have to cover faults that depend on names; small programs do not cover them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from kcache_model.indexers.items import Item, Values
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program
from kcache_model.indexers.renaming import with_short_names

Name: TypeAlias = tuple[str, str]
"""Kind of a name (key, value, stamp, version), and the name."""

Word: TypeAlias = tuple[tuple[bool, tuple[str, ...], tuple[int, ...]], ...]
"""Operations with numbers instead of names: for each operation, whether it is a read, its shape, and the numbers."""

Key: TypeAlias = tuple[Word, ...]
"""Prefix and threads. Keys have a total order, in which threads that begin with a write precede other threads."""


@dataclass(frozen=True)
class Form:
    """An operation, split into its shape and its names.

    Attributes:
        is_read: whether the operation cannot change the state.
        shape: all parts except the names of keys, values, stamps and versions. The length of each list precedes the
            list, so that two different operations never have both the same shape and the same names.
        names: the names of keys, values, stamps and versions, in the order in which the operation has them.
    """

    is_read: bool
    shape: tuple[str, ...]
    names: tuple[Name, ...]


def form_of(operation: Operation) -> Form:
    """Return the form of an operation."""
    parts = _Parts()
    parts.operation(operation)
    return Form(not operation.is_write, tuple(parts.shape), tuple(parts.names))


def least(prefix: Sequence[Form], threads: Sequence[Sequence[Form]]) -> tuple[Key, tuple[int, ...]]:
    """Return the least key of all orders of the threads, and the order that has it.

    The time grows with the factorial of the number of threads.
    """
    orders = itertools.permutations(range(len(threads)))
    return min((_key([prefix, *(threads[number] for number in order)]), order) for order in orders)


def canonical(program: Program) -> Program:
    """Return the canonical program of the class of equivalent programs to which this program belongs.

    Keys are called a, b, ...; index values n1, n2, ...; stamps v1, v2, ...; resource versions 1, 2, ...; each in order
    of appearance. Two programs are equivalent if and only if they have the same canonical program.
    """
    # The order of a mapping does not affect equality, so it must not affect the numbering.
    program = _each_operation(program, _with_sorted_values)
    prefix = [form_of(operation) for operation in program.prefix]
    _, order = least(prefix, [[form_of(operation) for operation in thread] for thread in program.threads])
    return in_order(program, order)


def in_order(program: Program, order: Iterable[int]) -> Program:
    """Return the program with its threads in this order, and with short names."""
    ordered = with_short_names(replace(program, threads=tuple(program.threads[number] for number in order)))
    versions: dict[str, str] = {}

    def renamed(version: str) -> str:
        return versions.setdefault(version, str(len(versions) + 1)) if version else version

    return _each_operation(ordered, lambda operation: _with_versions(operation, renamed))


def _key(words: Iterable[Sequence[Form]]) -> Key:
    numbers: dict[Name, int] = {}
    return tuple(
        tuple(
            (form.is_read, form.shape, tuple(numbers.setdefault(name, len(numbers)) for name in form.names))
            for form in word
        )
        for word in words
    )


class _Parts:
    """Collector of the shape and the names of an operation."""

    def __init__(self) -> None:
        self.shape: list[str] = []
        self.names: list[Name] = []

    def operation(self, operation: Operation) -> None:
        self.shape.append(operation.name.value)
        given = [] if operation.item is None else [operation.item]
        for items in (given, operation.items, [item for _, item in operation.entries]):
            self._count(items)
            for item in items:
                self._item(item)
        self.shape += [kind.value for kind, _ in operation.entries]
        self._name("key", operation.key)
        self._name("value", operation.value)
        self._name("version", operation.resource_version or None)
        self.shape += ["no index"] if operation.index is None else ["index", operation.index]
        self._count(operation.names)
        self.shape += operation.names
        if operation.values is not None:
            self._values(operation.values)

    def _item(self, item: Item) -> None:
        self.shape.append(item.style.value)
        self._name("key", item.key)
        self._name("stamp", item.stamp)
        # An empty version means that there is no version, so it must not be exchanged with a version.
        self._name("empty version" if item.resource_version == "" else "version", item.resource_version)
        self._values(item.values)

    def _values(self, values: Values) -> None:
        self._count(values)
        for index, found in sorted(values.items()):
            self.shape.append(index)
            if found is None:
                self.shape.append("fails")
                continue
            self._count(found)
            for value in found:
                self._name("value", value)

    def _name(self, kind: str, name: str | None) -> None:
        self.shape.append("none" if name is None else kind)
        if name is not None:
            self.names.append((kind, name))

    def _count(self, elements: Sequence[object] | Values) -> None:
        self.shape.append(str(len(elements)))


def _each_operation(program: Program, change: Callable[[Operation], Operation]) -> Program:
    return replace(
        program,
        prefix=tuple(map(change, program.prefix)),
        threads=tuple(tuple(map(change, thread)) for thread in program.threads),
    )


def _with_sorted_values(operation: Operation) -> Operation:
    operation = operation.with_items(lambda item: replace(item, values=dict(sorted(item.values.items()))))
    return operation if operation.values is None else replace(operation, values=dict(sorted(operation.values.items())))


def _with_versions(operation: Operation, renamed: Callable[[str], str]) -> Operation:
    def with_version(item: Item) -> Item:
        version = item.resource_version
        return item if version is None else replace(item, resource_version=renamed(version))

    if not operation.resource_version and all(item.resource_version is None for item in operation.given):
        return operation
    return replace(operation.with_items(with_version), resource_version=renamed(operation.resource_version))
