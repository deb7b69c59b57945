"""Restrictions: features of programs that are removed for an implementation that declares them as unsupported.

A program without a feature cannot fail because of it. So the same table is used to test whether a failing program needs
a feature; if it does, the rule of the feature is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ..outcomes import ErrorKind
from .items import Item, Style
from .operations import Operation, OperationName
from .program import Program
from .target import CONCURRENT_WRITES, FAILING_FUNCTIONS, FAILING_KEY_FUNCTIONS, NONE_VALUES, UNKNOWN_INDEX, Target


@dataclass(frozen=True)
class Restriction:
    """One feature that can be removed from programs.

    Attributes:
        declaration: its name in ``kcache_unsupported``.
        rule: the id of the rule that is broken if a program fails only with the feature.
        without: operation -> the operation without the feature.
    """

    declaration: str
    rule: str
    without: Callable[[Operation], Operation]


def _plain(*styles: Style) -> Callable[[Operation], Operation]:
    def change(item: Item) -> Item:
        return replace(item, style=Style.PLAIN) if item.style in styles else item

    return lambda operation: operation.with_items(change)


def _one_value(item: Item) -> Item:
    values = {index: texts if texts is None else texts[:1] for index, texts in item.values.items()}
    return item if values == item.values else replace(item, values=values)


def _no_failure(item: Item) -> Item:
    values = {index: () if texts is None else texts for index, texts in item.values.items()}
    return item if values == item.values else replace(item, values=values)


def _some_key(item: Item) -> Item:
    return replace(item, key="keyless") if item.key is None else item


def _named_key(key: str | None) -> str | None:
    return "empty" if key == "" else key


def _named_keys(operation: Operation) -> Operation:
    named = operation.with_items(lambda item: replace(item, key=_named_key(item.key)))
    return replace(named, key=_named_key(operation.key))


def _named_value(value: str) -> str:
    return value or "empty"


def _named_values(operation: Operation) -> Operation:
    def change(item: Item) -> Item:
        values = {
            index: texts if texts is None else tuple(map(_named_value, texts)) for index, texts in item.values.items()
        }
        return replace(item, values=values)

    named = operation.with_items(change)
    return named if operation.value is None else replace(named, value=_named_value(operation.value))


RESTRICTIONS: Final = (
    Restriction(NONE_VALUES, "none-values-refused", _plain(Style.TUPLES)),
    Restriction("falsy_objects", "falsy-object-lost", _plain(Style.FALSY)),
    Restriction("equal_objects", "equal-objects-confused", _plain(Style.EQUAL, Style.UNHASHABLE)),
    Restriction("empty_keys", "empty-key-mishandled", _named_keys),
    Restriction("empty_values", "empty-index-value-mishandled", _named_values),
    Restriction("multiple_values", "several-values-mishandled", lambda operation: operation.with_items(_one_value)),
    Restriction(FAILING_KEY_FUNCTIONS, "keyless-write-applied", lambda operation: operation.with_items(_some_key)),
    Restriction(FAILING_FUNCTIONS, "failed-write-applied", lambda operation: operation.with_items(_no_failure)),
)
"""All restrictions, in the order in which they are tried on a failing program."""

_AVOIDED: Final[Mapping[str, str]] = {
    ErrorKind.KEY_FUNC: FAILING_KEY_FUNCTIONS,
    ErrorKind.INDEX_FUNC: FAILING_FUNCTIONS,
}
"""Kind of error -> the declaration that excludes the calls that raise it."""

AVOIDABLE: Final = frozenset({UNKNOWN_INDEX, *_AVOIDED.values()})
"""The declarations that exclude calls; see :func:`is_avoided`."""


def restricted(operation: Operation, target: Target) -> Operation:
    """Return the operation without the features that the target does not support.

    Index functions that return tuples or ``None`` remain for strict targets only.
    """
    operation = _without_idle_failures(operation)
    for restriction in RESTRICTIONS:
        is_spared = restriction.declaration == NONE_VALUES and not target.is_strict
        if is_spared or restriction.declaration in target.unsupported:
            operation = restriction.without(operation)
    return operation


def _without_idle_failures(operation: Operation) -> Operation:
    """Remove from a ``replace`` the objects with a failing index function whose key a later object has, too.

    Client-go never calls index functions with such an object. An implementation that calls them with all objects
    first, and refuses the ``replace`` if one fails, is correct as well.
    """
    if operation.name is not OperationName.REPLACE:
        return operation
    last = {item.key: position for position, item in enumerate(operation.items)}
    if len(last) == len(operation.items):
        return operation
    items = (item for at, item in enumerate(operation.items) if last[item.key] == at or _no_failure(item) is item)
    return replace(operation, items=tuple(items))


def restricted_program(program: Program, target: Target) -> Program:
    """Return the program without unsupported features; with one writing thread if the target allows only one."""
    program = mapped(program, lambda operation: restricted(operation, target))
    prefix, *threads = restricted_threads((program.prefix, *program.threads), target, program.indexes, begin=1)
    return replace(program, prefix=prefix, threads=tuple(threads), may_evict=target.may_evict)


def restricted_threads(
    threads: tuple[tuple[Operation, ...], ...], target: Target, indexes: Iterable[str], *, begin: int = 0
) -> tuple[tuple[Operation, ...], ...]:
    """Return the threads without the calls that the target's declarations exclude.

    Args:
        threads: the calls of each thread.
        target: if it declares ``concurrent_writes``, only the first concurrent thread that writes keeps its writes; if
            it declares ``unknown_index``, lookups in other indices than ``indexes`` are removed.
        indexes: the indices that exist from the start.
        begin: the number of the first concurrent thread; the threads before it keep their writes.
    """
    if UNKNOWN_INDEX in target.unsupported:
        known = frozenset(indexes)
        threads = tuple(
            tuple(operation for operation in thread if operation.index is None or operation.index in known)
            for thread in threads
        )
    if CONCURRENT_WRITES not in target.unsupported:
        return threads
    beside = range(begin, len(threads))
    writer = next((number for number in beside if any(map(_is_write, threads[number]))), begin)
    writing = {*range(begin), writer}
    return tuple(
        thread if number in writing else tuple(operation for operation in thread if not _is_write(operation))
        for number, thread in enumerate(threads)
    )


def _is_write(operation: Operation) -> bool:
    return operation.is_write


def mapped(program: Program, change: Callable[[Operation], Operation]) -> Program:
    """The program with ``change`` applied to each operation."""
    threads = tuple(tuple(map(change, thread)) for thread in program.threads)
    return replace(program, prefix=tuple(map(change, program.prefix)), threads=threads)


def spared(program: Program) -> Iterator[tuple[Restriction, Program]]:
    """Yield each restriction that changes the program, with the program after the change."""
    for restriction in RESTRICTIONS:
        without = mapped(program, restriction.without)
        if without != program:
            yield restriction, without


def is_avoided(operation: Operation, error: str | None, target: Target, indexes: Container[str]) -> bool:
    """Whether the target's declarations exclude a call.

    Args:
        operation: the call.
        error: the kind of the error that it raises; ``None`` if it succeeds.
        target: the implementation.
        indexes: the names of the existing indices.
    """
    if UNKNOWN_INDEX in target.unsupported and operation.index is not None and operation.index not in indexes:
        return True
    return error is not None and _AVOIDED.get(error) in target.unsupported
