"""Choices with weights: ``one_of`` takes each of its strategies once, however often it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


def weighted(*choices: tuple[int, SearchStrategy[Any]]) -> SearchStrategy[Any]:
    """One of the strategies, each as often as its weight says; shrinks towards the first."""
    table = tuple(strategy for weight, strategy in choices for _ in range(weight))
    return table[0] if len(choices) == 1 else _drawn(table)


def mostly(value: SearchStrategy[Any], *, none_in: int) -> SearchStrategy[Any]:
    """``value``, but ``None`` once in ``none_in`` times.

    It shrinks towards the value: Hypothesis likes simple choices so much that ``None`` would crowd out the rest. The
    minimiser that follows puts it where it serves.
    """
    return _drawn((*(value for _ in range(none_in - 1)), st.none()))


@st.composite
def _drawn(draw: Callable[..., Any], table: tuple[SearchStrategy[Any], ...]) -> Any:
    return draw(table[draw(st.sampled_from(range(len(table))))])
