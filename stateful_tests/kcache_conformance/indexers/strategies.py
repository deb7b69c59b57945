"""Hypothesis strategies for objects and operations, designed for corner cases.

There are few keys and few values, so that objects often share them: keys are written again, values move between
objects, values lose their last object. Stamps are added by the caller of the operations, see :class:`Shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import rule

from kcache_model.indexers.items import Item, Style, Values
from kcache_model.indexers.operations import Operation, WriteKind
from kcache_model.indexers.target import FAILING_FUNCTIONS, Target
from kcache_model.indexers.vocabulary import (
    ALL_INDEXES,
    LATE_INDEXES,
    MISUSE,
    VOCABULARY,
    ArgumentSource,
    Template,
    offered,
)

UNKNOWN_INDEX = "nowhere"

_COMMON_KEYS = ("a", "b", "ns/a")
_ODD_KEYS = ("", "a/b/c", "A", "a b", "\u00e9", "\U0001f600", "__class__", "0")
_COMMON_VALUES = ("n1", "n2", "n3")
_ODD_VALUES = ("", "N1", "n1 ", "\u00fc", "a=b")


@dataclass(frozen=True)
class Shape:
    """An item without its stamp."""

    key: str | None
    values: Values
    resource_version: str | None = None
    style: Style = Style.PLAIN

    def stamped(self, stamp: str) -> Item:
        """Build the item with this stamp."""
        return Item(self.key, stamp, self.values, self.resource_version, self.style)


def keys() -> st.SearchStrategy[str]:
    """Keys; seven in eight are one of three common keys."""
    return _mostly(_COMMON_KEYS, _ODD_KEYS)


def index_values() -> st.SearchStrategy[str]:
    """Index values; seven in eight are one of three common values."""
    return _mostly(_COMMON_VALUES, _ODD_VALUES)


def index_names() -> st.SearchStrategy[str]:
    """Index names; seven in eight are indices that a program may be created with."""
    return _mostly(ALL_INDEXES, (*LATE_INDEXES, UNKNOWN_INDEX))


def value_lists(*, may_fail: bool) -> st.SearchStrategy[tuple[str, ...] | None]:
    """Results of an index function: no value, one, several, duplicates; ``None`` represents a function that fails."""
    lists = st.one_of(
        st.tuples(index_values()),
        st.lists(index_values(), max_size=3).map(tuple),
        st.just(()),
        index_values().map(lambda value: (value, value)),
    )
    if not may_fail:
        return lists
    return st.integers(0, 15).flatmap(lambda roll: st.none() if roll == 15 else lists)


def all_values(*, may_fail: bool = True) -> st.SearchStrategy[Values]:
    """The values of an object under any of the indices that a program may have, from the start or later."""
    return st.fixed_dictionaries(
        {}, optional={index: value_lists(may_fail=may_fail) for index in (*ALL_INDEXES, *LATE_INDEXES)}
    )


def shapes(*, may_fail: bool = True) -> st.SearchStrategy[Shape]:
    """Objects without stamps; if ``may_fail``, one in sixteen has no key."""
    key: st.SearchStrategy[str | None] = keys()
    if may_fail:
        key = st.integers(0, 15).flatmap(lambda roll: st.none() if roll == 15 else keys())
    return st.builds(
        Shape,
        key=key,
        values=all_values(may_fail=may_fail),
        resource_version=st.sampled_from((None, None, "1", "9", "10", "")),
        style=st.sampled_from((Style.PLAIN, *Style)),
    )


def items() -> st.SearchStrategy[Item]:
    """Objects with random stamps, for tests that need no program."""
    return st.builds(lambda shape, number: shape.stamped(f"v{number}"), shapes(), st.integers(0, 99))


class DrawnArguments(ArgumentSource):
    """Arguments of calls, drawn by Hypothesis.

    One object in four has been used before in the program. Stamps are numbered.

    Attributes:
        draw: draws from a strategy; it must be set before each call is built.
    """

    draw: Callable[[st.SearchStrategy[Any]], Any]

    def __init__(self, *, may_fail: bool = True) -> None:
        self._shapes = shapes(may_fail=may_fail)
        self._all_values = all_values(may_fail=may_fail)
        self._known: list[Item] = []

    def item(self) -> Item:
        """A new version of an object, or a version that was used before."""
        if self._known and self.draw(st.integers(0, 3)) == 3:
            return cast("Item", self.draw(st.sampled_from(self._known)))
        return self._stamped(self.draw(self._shapes))

    def items(self) -> tuple[Item, ...]:
        """The objects of a ``replace``."""
        return tuple(self.item() for _ in range(self.draw(st.integers(0, 4))))

    def entries(self) -> list[tuple[WriteKind, Item]]:
        """The writes of a ``transaction``."""
        return [(kind, self.item()) for kind in self.draw(st.lists(st.sampled_from(WriteKind), max_size=4))]

    def key(self) -> str:
        """A key."""
        return cast("str", self.draw(keys()))

    def index(self) -> str:
        """The name of an index, which may not exist."""
        return cast("str", self.draw(index_names()))

    def late_index(self) -> str:
        """The name of an index that may have been added by now."""
        return cast("str", self.draw(st.sampled_from(LATE_INDEXES)))

    def late_names(self) -> list[str]:
        """Names of indices to add; some may already exist."""
        return cast("list[str]", self.draw(st.sets(st.sampled_from(ALL_INDEXES[:1] + LATE_INDEXES)).map(sorted)))

    def value(self) -> str:
        """A value of an index."""
        return cast("str", self.draw(index_values()))

    def version(self) -> str:
        """A resource version."""
        return cast("str", self.draw(st.sampled_from(("", "7", "12"))))

    def values(self) -> Values:
        """The values of an object under each index."""
        return cast("Values", self.draw(self._all_values))

    def _stamped(self, shape: Shape) -> Item:
        self._known.append(shape.stamped(f"v{len(self._known) + 1}"))
        return self._known[-1]


def rules_for(target: Target) -> Mapping[str, Any]:
    """Return name -> rule of a state machine, for each kind of call that the target supports."""
    templates = [template for template in offered(VOCABULARY, target) if target.is_strict or template.group != MISUSE]
    return {
        f"{template.name}_{number}_{again}": _rule_of(template, may_fail=FAILING_FUNCTIONS not in target.unsupported)
        for number, template in enumerate(templates)
        for again in range(1 + template.is_write)  # writes twice as often: all is read back after each step anyway
    }


def _rule_of(template: Template, *, may_fail: bool) -> Any:
    @rule(data=st.data())
    def call(self: Any, data: st.DataObject) -> None:
        if not hasattr(self, "arguments"):
            self.arguments = DrawnArguments(may_fail=may_fail)
        self.arguments.draw = data.draw
        self.step(template.make(self.arguments))

    return call


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    """Operations of every kind."""
    arguments = DrawnArguments()
    arguments.draw = draw
    return draw(st.sampled_from(VOCABULARY)).make(arguments)


def _mostly(common: tuple[str, ...], odd: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.integers(0, 7).flatmap(lambda roll: st.sampled_from(odd if roll == 7 else common))
