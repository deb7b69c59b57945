"""Vocabulary of a target type: the table of operations from which all programs are generated."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias


@dataclass(frozen=True)
class OperationTemplate:
    """The template of one operation of the vocabulary.

    Attributes:
        name: the name of the operation; the target may lack it if it is optional.
        make: creates an operation of a number and a value for each argument. No other operation of the program gets the
            same number, so the number may name new objects.
        arguments: for each argument, the values to choose from; a value that is listed twice is chosen twice as often.
        weight: how often it is chosen, relative to the others; 0 if it may occur only before the threads start.
        is_optional: whether a target may lack it without a declaration.
        small: the values of small-scope verification; by default ``arguments``, each value once.
        small_too: further tuples of values for small-scope verification, with one value for each argument.
        ends: whether it ends a block that another operation began. Programs of several threads are completed with it,
            and it is never drawn for them.
        is_inherited: whether a base class of the standard library has it: programs without it come first.
    """

    name: str
    make: Callable[..., Any]
    arguments: tuple[Sequence[Any], ...] = ()
    weight: float = 1.0
    is_optional: bool = False
    small: tuple[Sequence[Any], ...] | None = None
    small_too: tuple[tuple[Any, ...], ...] = ()
    ends: bool = False
    is_inherited: bool = False

    def smallest(self, number: int) -> Iterator[Any]:
        """Yield all operations with the values of small-scope verification."""
        choices = self.arguments if self.small is None else self.small
        products = itertools.product(*(dict.fromkeys(choice) for choice in choices))
        for values in itertools.chain(products, self.small_too):
            yield self.make(number, *values)

    def random(self, number: int, rng: random.Random, keys: Mapping[str, Any] = MappingProxyType({})) -> Any:
        """Create an operation with random arguments; ``keys`` may fix the first argument, see :func:`same_keys`."""
        values = [rng.choice(choice) for choice in self.arguments]
        if keys and values:
            values[0] = keys.get(repr(self.arguments[0]), values[0])
        return self.make(number, *values)


Vocabulary: TypeAlias = tuple[OperationTemplate, ...]


def random_operation(
    vocabulary: Sequence[OperationTemplate],
    number: int,
    rng: random.Random,
    keys: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Create a random operation of the vocabulary; for ``keys``, see :func:`same_keys`."""
    (template,) = rng.choices(vocabulary, [template.weight for template in vocabulary])
    return template.random(number, rng, keys)


def same_keys(vocabulary: Sequence[OperationTemplate], rng: random.Random) -> dict[str, Any]:
    """Choose one value for each list of possible first arguments; all operations of a program then share this value.

    The keys of the result are the ``repr`` of the lists. The first argument of an operation with several arguments is
    taken for a key. Sharing is useful because operations on different keys rarely conflict.
    """
    keyed = {repr(one.arguments[0]): one.arguments[0] for one in vocabulary if len(one.arguments) > 1}
    return {text: rng.choice(choice) for text, choice in keyed.items()}


def alphabet(vocabulary: Sequence[OperationTemplate], number: int) -> list[Any]:
    """All operations of the vocabulary for small-scope verification, each once."""
    return list(dict.fromkeys(made for template in vocabulary for made in template.smallest(number)))
