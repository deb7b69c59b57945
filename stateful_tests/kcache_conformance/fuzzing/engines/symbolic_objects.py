"""Strategies for CrossHair: as plain as can be, so that every draw stays symbolic."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..objects.strategies import ObjectMaker
from ..shapes.shape import Choice, Field, Listing, Moment, Shape, Table, Text, Whole, resolved

_LONGEST_LIST = 2


class SymbolicMaker(ObjectMaker):
    """Makes only what the code reads, without pools: the solver finds the constants by itself."""

    def strategy(self, shape: Shape, depth: int = 0) -> SearchStrategy[Any]:
        """A strategy for values of ``shape``; texts may be of the wrong format, which is found out afterwards."""
        shape = resolved(shape)
        match shape:
            case Text():
                return st.text(min_size=shape.least, max_size=shape.most)
            case Whole(least, most):
                return st.integers(least, most)
            case Moment():
                return st.datetimes(timezones=st.just(UTC))
            case Choice(values):
                return st.sampled_from(values)
            case Listing(item, least):
                return st.lists(self.strategy(item, depth + 1), min_size=least, max_size=max(least, _LONGEST_LIST))
            case Table():
                return self._symbolic_table(shape, depth)
        return super().strategy(shape, depth)

    def _symbolic_table(self, shape: Table, depth: int) -> SearchStrategy[Any]:
        value = self.strategy(shape.value, depth + 1)
        kind = resolved(shape.key)
        known = self._texts.looked_up(kind)[:6] if isinstance(kind, Text) else []
        if known:
            return st.fixed_dictionaries({}, optional=dict.fromkeys(known, value))
        return st.dictionaries(self.strategy(shape.key, depth + 1), value, min_size=shape.least, max_size=2)

    def _value(self, field: Field, depth: int) -> SearchStrategy[Any]:
        """Never ``None``: random objects have that already, and each such choice doubles the paths."""
        return self.strategy(field.shape, depth + 1)

    def _optional(self, optional: dict[str, SearchStrategy[Any]], seldom: set[str]) -> SearchStrategy[Any]:  # noqa: ARG002
        return st.fixed_dictionaries(optional)
