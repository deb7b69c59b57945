"""Choices with weights, which ``one_of`` of Hypothesis lacks: it counts a repeated strategy only once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


def weighted(*choices: tuple[int, SearchStrategy[Any]]) -> SearchStrategy[Any]:
    """Return a strategy that draws from the given strategies by weight; it shrinks towards the first."""
    table = tuple(strategy for weight, strategy in choices for _ in range(weight))
    return table[0] if len(choices) == 1 else _drawn(table)


def mostly(value: SearchStrategy[Any], *, none_in: int) -> SearchStrategy[Any]:
    """Return a strategy for ``value``, with ``None`` in one of ``none_in`` draws.

    It shrinks towards the value: Hypothesis prefers simple choices, so that ``None`` would displace other values. The
    minimiser, which runs later, tries ``None`` as well.
    """
    return _drawn((*(value for _ in range(none_in - 1)), st.none()))


@st.composite
def _drawn(draw: Callable[..., Any], table: tuple[SearchStrategy[Any], ...]) -> Any:
    return draw(table[draw(st.sampled_from(range(len(table))))])
