"""Minimisation of a failing program: fewer operations, simpler objects.

Greedy, after delta debugging (A. Zeller, R. Hildebrandt, 2002): chunks of operations are left out, from all of them
down to single operations; operations are moved from the threads to the prefix; the remaining operations and objects
are simplified one by one. A step is kept if the program still fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from .items import Item, Style
from .operations import Operation, OperationName
from .program import Program
from .renaming import with_short_names

Fails = Callable[[Program], bool]


@dataclass(frozen=True)
class MinimiseBudget:
    """Limits of a minimisation.

    Attributes:
        seconds: of wall-clock time.
        attempts: calls of ``fails``.
    """

    seconds: float = 5.0
    attempts: int = 2000


class _BudgetSpent(Exception):
    pass


def minimise(program: Program, fails: Fails, budget: MinimiseBudget | None = None) -> Program:
    """Return a program that still fails and has no more operations; as small as the budget allows."""
    search = _Search(program, fails, budget or MinimiseBudget())
    try:
        size = None
        while size != len(search.best):
            size = len(search.best)
            search.drop_operations()
            search.begin_later()
            search.simplify()
    except _BudgetSpent:
        pass
    return search.best


class _Search:
    def __init__(self, program: Program, fails: Fails, budget: MinimiseBudget) -> None:
        self.best = program
        self._fails = fails
        self._attempts = budget.attempts
        self._deadline = time.monotonic() + budget.seconds

    def attempt(self, candidate: Program) -> bool:
        if self._attempts <= 0 or time.monotonic() > self._deadline:
            raise _BudgetSpent
        self._attempts -= 1
        if not self._fails(candidate):
            return False
        self.best = candidate
        return True

    def drop_operations(self) -> None:
        for part in range(-1, len(self.best.threads)):
            chunk = len(_part(self.best, part))
            while chunk:
                start = len(_part(self.best, part)) - chunk
                while start > -chunk:
                    operations = _part(self.best, part)
                    rest = (*operations[: max(start, 0)], *operations[start + chunk :])
                    self.attempt(_with_part(self.best, part, rest))
                    start -= chunk
                chunk //= 2

    def begin_later(self) -> None:
        """Move first operations of threads to the end of the prefix: sequential calls are easier to follow."""
        for part in range(len(self.best.threads)):
            while self.best.threads[part]:
                first, *rest = self.best.threads[part]
                alone = replace(self.best, prefix=(*self.best.prefix, first))
                if not self.attempt(_with_part(alone, part, rest)):
                    break
        self.attempt(replace(self.best, threads=tuple(thread for thread in self.best.threads if thread)))

    def simplify(self) -> None:
        for part in range(-1, len(self.best.threads)):
            for position in range(len(_part(self.best, part))):
                self._simplify_operation(part, position)
        for item in _items(self.best):
            self._simplify_item(item)
        renamed = with_short_names(self.best)
        if renamed != self.best:
            self.attempt(renamed)
        for index in self.best.indexes:
            self.attempt(replace(self.best, indexes=tuple(name for name in self.best.indexes if name != index)))

    def _simplify_operation(self, part: int, position: int) -> None:
        progress = True
        while progress:
            operations = _part(self.best, part)
            before, after = operations[:position], operations[position + 1 :]
            progress = any(
                self.attempt(_with_part(self.best, part, (*before, simpler, *after)))
                for simpler in _simpler_operations(operations[position])
            )

    def _simplify_item(self, item: Item) -> None:
        simpler: Item | None = item
        while simpler is not None:
            item = simpler
            simpler = next((one for one in _simpler_items(item) if self.attempt(_with_item(self.best, one))), None)


def _items(program: Program) -> list[Item]:
    """Return the items of a program; the first item of each stamp."""
    items: dict[str, Item] = {}
    for operation in program.operations():
        for item in operation.given:
            items.setdefault(item.stamp, item)
    return list(items.values())


def _with_item(program: Program, changed: Item) -> Program:
    """Replace every item that has the stamp of ``changed`` by ``changed``: these items represent one object."""

    def change(operations: Sequence[Operation]) -> tuple[Operation, ...]:
        return tuple(
            operation.with_items(lambda item: changed if item.stamp == changed.stamp else item)
            for operation in operations
        )

    return replace(program, prefix=change(program.prefix), threads=tuple(map(change, program.threads)))


def _part(program: Program, part: int) -> Sequence[Operation]:
    return program.prefix if part < 0 else program.threads[part]


def _with_part(program: Program, part: int, operations: Sequence[Operation]) -> Program:
    if part < 0:
        return replace(program, prefix=tuple(operations))
    threads = list(program.threads)
    threads[part] = tuple(operations)
    return replace(program, threads=tuple(threads))


def _simpler_operations(operation: Operation) -> Iterator[Operation]:
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
        others = {name: texts for name, texts in item.values.items() if name != index}
        yield replace(item, values=others)
        for position in range(len(values or ())):
            assert values is not None
            yield replace(item, values={**item.values, index: values[:position] + values[position + 1 :]})
