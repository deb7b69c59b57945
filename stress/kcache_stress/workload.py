"""Random programs for real threads: few keys and values, so that calls meet."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from kcache_model import operations as op
from kcache_model.items import Item, Semantics, Style
from kcache_model.operations import INDEX_OPERATIONS, Operation, OperationName, WriteKind
from kcache_model.program import Program
from kcache_model.target import FAILING_FUNCTIONS, INDEXES, Target

_LATE_NAMES = ("zone", "tier")

_STYLES = (Style.PLAIN, Style.PLAIN, Style.EQUAL, Style.FALSY, Style.TUPLES)


@dataclass(frozen=True)
class Shape:
    """How large programs are.

    Attributes:
        threads: fewest and most threads.
        operations: fewest and most operations of one thread.
        keys: the most keys there are.
        values: the most values an index has.
    """

    threads: tuple[int, int] = (2, 4)
    operations: tuple[int, int] = (1, 4)
    keys: int = 3
    values: int = 2


_Choice = tuple[int, OperationName, Callable[["_Writer"], Operation]]
"""Weight, name, and what makes the operation."""


class _Writer:
    """Makes the operations of one program; numbers the stamps."""

    def __init__(self, rng: random.Random, shape: Shape, target: Target) -> None:
        self.rng = rng
        self.keys = [f"k{number}" for number in range(rng.randint(1, shape.keys))]
        self.values = [f"n{number}" for number in range(rng.randint(1, shape.values))]
        self.indexes = () if INDEXES in target.unsupported else ("node", "tags")
        self.may_fail = FAILING_FUNCTIONS not in target.unsupported
        self.late_indexes = False
        self._stamps = 0

    def item(self) -> Item:
        rng = self.rng
        self._stamps += 1
        values: dict[str, tuple[str, ...] | None] = {
            "node": (rng.choice(self.values),),
            "tags": tuple(rng.sample(self.values, rng.randint(0, len(self.values)))),
        }
        if self.late_indexes:
            values["zone"] = (rng.choice(self.values),)
        if self.may_fail and rng.random() < 0.02:
            values["tags"] = None
        return Item(rng.choice(self.keys), f"v{self._stamps}", values, style=rng.choice(_STYLES))

    def items(self) -> tuple[Item, ...]:
        return tuple(self.item() for _ in range(self.rng.randint(0, 3)))

    def entries(self) -> tuple[tuple[WriteKind, Item], ...]:
        return tuple((self.rng.choice(list(WriteKind)), self.item()) for _ in range(self.rng.randint(1, 3)))

    def late_names(self) -> list[str]:
        return self.rng.sample(_LATE_NAMES, self.rng.randint(1, len(_LATE_NAMES)))

    def index(self) -> str:
        return self.rng.choice(self.indexes)

    def value(self) -> str:
        return self.rng.choice(self.values)


_WRITES: tuple[_Choice, ...] = (
    (4, OperationName.UPDATE, lambda make: op.update(make.item())),
    (3, OperationName.ADD, lambda make: op.add(make.item())),
    (3, OperationName.DELETE, lambda make: op.delete(make.item())),
    (3, OperationName.REPLACE, lambda make: op.replace(make.items())),
    (1, OperationName.TRANSACTION, lambda make: op.transaction(*make.entries())),
)

_READS: tuple[_Choice, ...] = (
    (6, OperationName.BY_INDEX, lambda make: op.by_index(make.index(), make.value())),
    (3, OperationName.INDEX, lambda make: op.index(make.index(), make.item())),
    (3, OperationName.INDEX_KEYS, lambda make: op.index_keys(make.index(), make.value())),
    (2, OperationName.LIST_INDEX_FUNC_VALUES, lambda make: op.list_index_func_values(make.index())),
    (4, OperationName.LIST, lambda _: op.list_objects()),
    (2, OperationName.LIST_KEYS, lambda _: op.list_keys()),
    (3, OperationName.GET_BY_KEY, lambda make: op.get_by_key(make.rng.choice(make.keys))),
    (1, OperationName.GET, lambda make: op.get(make.item())),
)

_LATE_INDEXES: tuple[_Choice, ...] = (
    (4, OperationName.ADD_INDEXERS, lambda make: op.add_indexers(*make.late_names())),
    (4, OperationName.GET_INDEXERS, lambda _: op.get_indexers()),
    (2, OperationName.BY_INDEX, lambda make: op.by_index(make.rng.choice(_LATE_NAMES), make.value())),
)
"""Mixed into some programs: indices that come late."""


def random_program(seed: int, target: Target, semantics: Semantics, shape: Shape | None = None) -> Program:
    """The program of a seed: a prefix that fills the store, then writers, readers and threads that do both."""
    shape = shape or Shape()
    rng = random.Random(seed)
    make = _Writer(rng, shape, target)
    every_write = _supported(_WRITES, make, target)
    writes = _swarm(rng, every_write)
    reads = _swarm(rng, _supported(_READS, make, target))
    empty_start = rng.random() < 0.1
    if rng.random() < 0.2:
        make.late_indexes = True
        late = _supported(_LATE_INDEXES, make, target)
        writes, reads = writes + late, reads + late
        empty_start = semantics is Semantics.CLASSIC or rng.random() < 0.5
    prefix = () if empty_start else tuple(_pick(make, every_write) for _ in range(rng.randint(1, 3)))
    threads = []
    count = rng.randint(*shape.threads)
    for number in range(count):
        role = writes if number == 0 else rng.choice((writes, reads, reads, writes + reads))
        threads.append(tuple(_pick(make, role) for _ in range(rng.randint(*shape.operations))))
    return Program(make.indexes, prefix, tuple(threads), semantics)


def final_reads(program: Program, target: Target) -> list[Operation]:
    """Reads everything back that ``program`` may have left behind."""
    keys, values = set(), set()
    for operation in program.operations():
        for item in operation.written:
            keys.add(item.key or "")
            values |= {value for found in item.values.values() for value in found or ()}
    reads = [op.list_objects(), op.list_keys(), *(op.get_by_key(key) for key in sorted(keys))]
    late = {name for operation in program.operations() for name in operation.names}
    for index in (*program.indexes, *sorted(late)):
        reads.append(op.list_index_func_values(index))
        for value in sorted(values):
            reads += [op.by_index(index, value), op.index_keys(index, value)]
    return [read for read in reads if target.supports(read.name)]


def _supported(choices: tuple[_Choice, ...], make: _Writer, target: Target) -> tuple[_Choice, ...]:
    return tuple(
        choice
        for choice in choices
        if target.supports(choice[1]) and (make.indexes or choice[1] not in INDEX_OPERATIONS)
    )


def _swarm(rng: random.Random, choices: tuple[_Choice, ...]) -> tuple[_Choice, ...]:
    """A few of the operations: a program that mixes all of them seldom does the same thing twice at once.

    A. Groce et al.: Swarm Testing (2012).
    """
    return tuple(rng.sample(choices, min(len(choices), rng.randint(1, 3))))


def _pick(make: _Writer, choices: tuple[_Choice, ...]) -> Operation:
    (choice,) = make.rng.choices(choices, weights=[weight for weight, _, _ in choices])
    return choice[2](make)
