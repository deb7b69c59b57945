"""Restrictions: what programs are spared on an implementation that declares that it does otherwise.

A program without these things tells nothing of them; so the same table says which of them a failing program needs, and
thereby which rule is broken.
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
    """One thing that programs can do without.

    Attributes:
        declaration: its name in ``kcache_unsupported``.
        rule: the id of the rule that is broken where only programs with it fail.
        without: the operation without it.
    """

    declaration: str
    rule: str
    without: Callable[[Operation], Operation]


def _plain(*styles: Style) -> Callable[[Operation], Operation]:
    def change(item: Item) -> Item:
        return replace(item, style=Style.PLAIN) if item.style in styles else item

    return lambda operation: operation.with_items(change)


def _one_value(item: Item) -> Item:
    values = {index: found if found is None else found[:1] for index, found in item.values.items()}
    return item if values == item.values else replace(item, values=values)


def _no_failure(item: Item) -> Item:
    values = {index: () if found is None else found for index, found in item.values.items()}
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
            index: found if found is None else tuple(map(_named_value, found)) for index, found in item.values.items()
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
"""In the order in which a failing program is asked whether it needs them."""

_AVOIDED: Final[Mapping[str, str]] = {
    ErrorKind.KEY_FUNC: FAILING_KEY_FUNCTIONS,
    ErrorKind.INDEX_FUNC: FAILING_FUNCTIONS,
}
"""Kind of error -> the declaration with which calls that give it are left out."""


def restricted(operation: Operation, target: Target) -> Operation:
    """The operation without what the target does not offer; misuse by strict targets' users only."""
    operation = _without_idle_failures(operation)
    for restriction in RESTRICTIONS:
        is_spared = restriction.declaration == NONE_VALUES and not target.is_strict
        if is_spared or restriction.declaration in target.unsupported:
            operation = restriction.without(operation)
    return operation


def _without_idle_failures(operation: Operation) -> Operation:
    """A replacement without objects that fail and whose key a later one has.

    Client-go never asks index functions about such an object. To ask about all first, and to refuse all if one fails,
    is as right.
    """
    if operation.name is not OperationName.REPLACE:
        return operation
    last = {item.key: position for position, item in enumerate(operation.items)}
    if len(last) == len(operation.items):
        return operation
    items = (item for at, item in enumerate(operation.items) if last[item.key] == at or _no_failure(item) is item)
    return replace(operation, items=tuple(items))


def restricted_program(program: Program, target: Target) -> Program:
    """The program without what the target does not offer; with one writing thread, if it allows only one."""
    program = mapped(program, lambda operation: restricted(operation, target))
    prefix, *threads = restricted_threads((program.prefix, *program.threads), target, program.indexes, begin=1)
    return replace(program, prefix=prefix, threads=tuple(threads), may_evict=target.may_evict)


def restricted_threads(
    threads: tuple[tuple[Operation, ...], ...], target: Target, indexes: Iterable[str], *, begin: int = 0
) -> tuple[tuple[Operation, ...], ...]:
    """Threads without the calls that the target's declarations rule out.

    Args:
        threads: the calls of each.
        target: if it allows one writer, the first thread that writes is the only one to do so; if it says nothing of
            unknown indices, none but those that exist from the start are looked up.
        indexes: those.
        begin: the first thread that runs beside others.
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
    """The program without each of the things that it has."""
    for restriction in RESTRICTIONS:
        without = mapped(program, restriction.without)
        if without != program:
            yield restriction, without


def is_avoided(operation: Operation, error: str | None, target: Target, indexes: Container[str]) -> bool:
    """Whether a call is left out on the target.

    Args:
        operation: the call.
        error: that it gives.
        target: the implementation.
        indexes: the indices that there are.
    """
    if UNKNOWN_INDEX in target.unsupported and operation.index is not None and operation.index not in indexes:
        return True
    return error is not None and _AVOIDED.get(error) in target.unsupported
