"""Strategies for values of classes of the standard library."""

from __future__ import annotations

from datetime import time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_DAY = 24 * 60 - 1
_OFFSETS = st.integers(-_DAY, _DAY).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_SEGMENTS = st.one_of(st.sampled_from(["", ".", "..", "a", "a.txt"]), st.text("ab0-_. é", max_size=8))
_PATHS = st.lists(_SEGMENTS, max_size=4).map("/".join)

_STRATEGIES: Final[dict[type, SearchStrategy[Any]]] = {
    time: st.times().map(lambda clock: clock.replace(fold=0)),
    timezone: _OFFSETS,
    tzinfo: _OFFSETS,
    ZoneInfo: st.timezone_keys(allow_prefix=False).map(ZoneInfo),
    UUID: st.integers(0, 2**128 - 1).map(lambda number: UUID(int=number)),
    Decimal: st.one_of(st.decimals(-1000, 1000, places=2), st.decimals(allow_nan=False, allow_infinity=False)),
    Fraction: st.fractions(max_denominator=1000),
    complex: st.complex_numbers(allow_nan=False, allow_infinity=False),
    bytearray: st.binary(max_size=20).map(bytearray),
    PurePath: _PATHS.map(PurePosixPath),
    **{kind: _PATHS.map(kind) for kind in (Path, PurePosixPath, PureWindowsPath)},
}
"""Strategies for types for which those of Hypothesis yield values that are not finite, depend on the machine, or do not
shrink."""


def standard_values(kind: type) -> SearchStrategy[Any]:
    """Return a strategy for values of one of the standard types."""
    return _STRATEGIES[kind] if kind in _STRATEGIES else st.from_type(kind)
