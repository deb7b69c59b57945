"""The operations to choose from, with their weights."""

from __future__ import annotations

import random
from collections.abc import Callable

from kcache_model.indexers import operations as op
from kcache_model.indexers.operations import INDEX_OPERATIONS, Operation, OperationName
from kcache_model.target import Target

from .writer import Writer

Choice = tuple[int, OperationName, Callable[[Writer], Operation]]
"""Weight, name, and what makes the operation."""

Choices = tuple[Choice, ...]

_MOST_KINDS = 3

MOST_WRITERS = 4
"""More threads that write find nothing more, and make histories hard to judge."""

WRITES: Choices = (
    (4, OperationName.UPDATE, lambda make: op.update(make.item())),
    (3, OperationName.ADD, lambda make: op.add(make.item())),
    (3, OperationName.DELETE, lambda make: op.delete(make.item())),
    (3, OperationName.REPLACE, lambda make: op.replace(make.items())),
    (1, OperationName.TRANSACTION, lambda make: op.transaction(*make.entries())),
)

READS: Choices = (
    (6, OperationName.BY_INDEX, lambda make: op.by_index(make.index(), make.value())),
    (3, OperationName.INDEX, lambda make: op.index(make.index(), make.item())),
    (3, OperationName.INDEX_KEYS, lambda make: op.index_keys(make.index(), make.value())),
    (2, OperationName.LIST_INDEX_FUNC_VALUES, lambda make: op.list_index_func_values(make.index())),
    (4, OperationName.LIST, lambda _: op.list_objects()),
    (2, OperationName.LIST_KEYS, lambda _: op.list_keys()),
    (3, OperationName.GET_BY_KEY, lambda make: op.get_by_key(make.key())),
    (1, OperationName.GET, lambda make: op.get(make.item())),
)

LATE_INDEXES: Choices = (
    (4, OperationName.ADD_INDEXERS, lambda make: op.add_indexers(*make.late_names())),
    (4, OperationName.GET_INDEXERS, lambda _: op.get_indexers()),
    (2, OperationName.BY_INDEX, lambda make: op.by_index(make.late_index(), make.value())),
)
"""Mixed into some programs: indices that come late."""


def of(names: frozenset[OperationName] | set[OperationName], choices: Choices) -> Choices:
    """Those of the choices that have one of the names."""
    return tuple(choice for choice in choices if choice[1] in names)


def supported(choices: Choices, make: Writer, target: Target) -> Choices:
    """Those of the choices that the target offers."""
    return tuple(
        choice
        for choice in choices
        if target.supports(choice[1]) and (make.indexes or choice[1] not in INDEX_OPERATIONS)
    )


def swarm(rng: random.Random, choices: Choices) -> Choices:
    """A few of the operations: a program that mixes all of them seldom does the same thing twice at once.

    A. Groce et al.: Swarm Testing (2012).
    """
    return tuple(rng.sample(choices, min(len(choices), rng.randint(1, _MOST_KINDS))))


def pick(make: Writer, choices: Choices) -> Operation:
    """One operation."""
    (choice,) = make.rng.choices(choices, weights=[weight for weight, _, _ in choices])
    return choice[2](make)
