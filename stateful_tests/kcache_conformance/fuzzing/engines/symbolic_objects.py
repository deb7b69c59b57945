"""Strategies for CrossHair, as simple as possible, so that every draw stays symbolic."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..objects.strategies import ObjectMaker
from ..schemas.schema import Array, Choice, Field, Integer, Map, Moment, Schema, Text, resolved

_LONGEST_LIST = 2


class SymbolicMaker(ObjectMaker):
    """A maker of objects with only the fields that the code reads, without pools: the solver computes constants."""

    def strategy(self, schema: Schema, depth: int = 0) -> SearchStrategy[Any]:
        """Return a strategy for values of ``schema``; the formats of texts are not enforced, but checked afterwards."""
        schema = resolved(schema)
        match schema:
            case Text():
                return st.text(min_size=schema.least, max_size=schema.most)
            case Integer(least, most):
                return st.integers(least, most)
            case Moment():
                return st.datetimes(timezones=st.just(UTC))
            case Choice(values):
                return st.sampled_from(values)
            case Array(item, least):
                return st.lists(self.strategy(item, depth + 1), min_size=least, max_size=max(least, _LONGEST_LIST))
            case Map():
                return self._symbolic_map(schema, depth)
        return super().strategy(schema, depth)

    def _symbolic_map(self, schema: Map, depth: int) -> SearchStrategy[Any]:
        value = self.strategy(schema.value, depth + 1)
        kind = resolved(schema.key)
        known = self._texts.looked_up(kind)[:6] if isinstance(kind, Text) else []
        if known:
            return st.fixed_dictionaries({}, optional=dict.fromkeys(known, value))
        return st.dictionaries(self.strategy(schema.key, depth + 1), value, min_size=schema.least, max_size=2)

    def _value(self, field: Field, depth: int) -> SearchStrategy[Any]:
        """Return a strategy without ``None``: random objects cover that, and each such choice doubles the paths."""
        return self.strategy(field.schema, depth + 1)

    def _optional(self, optional: dict[str, SearchStrategy[Any]], seldom: set[str]) -> SearchStrategy[Any]:  # noqa: ARG002
        return st.fixed_dictionaries(optional)
