"""The vocabulary of a target type: one table from which all programs are made."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias


@dataclass(frozen=True)
class OperationTemplate:
    """One operation of the vocabulary.

    Attributes:
        name: of the operation; the target may lack it if it is optional.
        make: makes one: gets a number that no other operation of the program gets, by which it may name new objects,
            and a value for each argument.
        arguments: for each argument, the values to choose from; one that is listed twice is chosen twice as often.
        weight: how often it is chosen, compared with the others; 0 if no thread makes it, and it may only come before.
        is_optional: whether a target may lack it without a declaration.
        small: the values of small-scope verification; by default ``arguments``, each value once.
        small_too: further values of small-scope verification, each a value for each argument.
        ends: whether it ends what another operation began. Programs of several threads are completed with it, and it
            is never drawn for them.
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
        """All operations that it makes of its small values."""
        choices = self.arguments if self.small is None else self.small
        products = itertools.product(*(dict.fromkeys(choice) for choice in choices))
        for values in itertools.chain(products, self.small_too):
            yield self.make(number, *values)

    def random(self, number: int, rng: random.Random, keys: Mapping[str, Any] = MappingProxyType({})) -> Any:
        """An operation with random arguments, the first of which ``keys`` may give: see :func:`same_keys`."""
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
    """A random operation of the vocabulary, with these ``keys``."""
    (template,) = rng.choices(vocabulary, [template.weight for template in vocabulary])
    return template.random(number, rng, keys)


def same_keys(vocabulary: Sequence[OperationTemplate], rng: random.Random) -> dict[str, Any]:
    """Values from which the first argument may be chosen, as a text -> the one that all operations of a program get.

    The first argument of an operation that has several is taken for a key. Operations on different keys rarely meet.
    """
    keyed = {repr(one.arguments[0]): one.arguments[0] for one in vocabulary if len(one.arguments) > 1}
    return {text: rng.choice(choice) for text, choice in keyed.items()}


def alphabet(vocabulary: Sequence[OperationTemplate], number: int) -> list[Any]:
    """All operations of the vocabulary for small-scope verification, each once."""
    return list(dict.fromkeys(made for template in vocabulary for made in template.smallest(number)))
