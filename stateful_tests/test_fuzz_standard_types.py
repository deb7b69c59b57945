"""Values of classes of the standard library: made, kept in tokens, made smaller, printed."""

from __future__ import annotations

import itertools
import json
from datetime import date, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcache_conformance.fuzzing.judging.validity import is_valid
from kcache_conformance.fuzzing.objects import standard_values
from kcache_conformance.fuzzing.objects.code import code_of
from kcache_conformance.fuzzing.objects.fuzzed_object import FuzzedObject, difference
from kcache_conformance.fuzzing.objects.minimise import minimise, smaller_trees
from kcache_conformance.fuzzing.objects.trees import NotPlainError, decode, encode
from kcache_conformance.fuzzing.schemas.from_types import schema_of_type
from kcache_conformance.fuzzing.schemas.schema import Standard
from kcache_conformance.fuzzing.schemas.standard_types import MAKINGS, STANDARD_TYPES

KINDS = sorted(STANDARD_TYPES, key=lambda kind: kind.__qualname__)
ONE_OF_EACH = [
    date(2024, 2, 29),
    time(7, 30, 0, 1),
    time(7, 30, tzinfo=timezone(timedelta(hours=2))),
    timedelta(days=-1, seconds=5),
    timezone(timedelta(hours=-5), "EST"),
    ZoneInfo("UTC"),
    UUID("12345678-1234-5678-1234-567812345678"),
    Decimal("-1.50"),
    Fraction(-2, 3),
    complex(1.5, -0.0),
    bytearray(b"ab"),
    Path("a/b"),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__qualname__)
def test_values_survive_a_token_and_are_printed_as_code(kind: type) -> None:
    schema = schema_of_type(kind)
    assert schema == Standard(kind)
    seen = set()

    @settings(max_examples=30, database=None, deadline=None, derandomize=True)
    @given(standard_values.standard_values(kind))
    def test(value: Any) -> None:
        assert is_valid(value, schema)
        seen.add(repr(value))
        _assert_kept(value)

    test()
    assert len(seen) > 10
    assert not is_valid(None, schema)
    assert not is_valid("2000-01-01", schema)


@pytest.mark.parametrize("value", ONE_OF_EACH, ids=repr)
def test_chosen_values_survive(value: Any) -> None:
    _assert_kept(value)


def _assert_kept(value: Any) -> None:
    tree = json.loads(json.dumps(encode({"part": [value]})))
    again = decode(tree)["part"][0]
    assert (again, repr(again)) == (value, repr(value))
    assert type(again) is type(value)
    space: dict[str, Any] = {}
    exec(code_of(tree), space)
    assert space["obj"] == {"part": [value]}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in MAKINGS], ids=lambda kind: kind.__qualname__)
def test_values_are_made_smaller(kind: type) -> None:
    simplest = kind(*MAKINGS[kind].simplest)
    assert list(smaller_trees(encode(simplest))) == []

    @settings(max_examples=10, database=None, deadline=None, derandomize=True)
    @given(standard_values.standard_values(kind))
    def test(value: Any) -> None:
        smallest = minimise(FuzzedObject(encode([value])), lambda one: bool(one.fresh()), seconds=60)
        assert smallest.fresh() == [simplest]

    test()


def test_what_matters_of_a_value_is_kept() -> None:
    end = minimise(FuzzedObject(encode(date(2031, 7, 9))), lambda one: one.fresh().month == 7, seconds=60)
    assert end.fresh() == date(2000, 7, 1)


def test_a_changed_value_is_told() -> None:
    assert difference(encode({"a": bytearray(b"a")}), encode({"a": bytearray(b"b")})) is not None
    assert difference(encode({"a": Decimal("1.0")}), encode({"a": Decimal("1.0")})) is None


@pytest.mark.parametrize(
    "tree",
    [
        {"$": "standard", "class": "os:system", "arguments": ["exit 1"]},
        {"$": "standard", "class": "datetime:date", "arguments": [2024, 13, 1]},
        {"$": "standard", "class": "fractions:Fraction", "arguments": [1, 0]},
        {"$": "standard", "class": "uuid:UUID"},
    ],
)
def test_damaged_trees_are_refused(tree: Any) -> None:
    with pytest.raises(NotPlainError):
        decode(tree)


def test_abstract_types_get_values_of_others() -> None:
    @settings(max_examples=5, database=None, derandomize=True)
    @given(standard_values.standard_values(tzinfo), st.integers(0, 5))
    def test(zone: tzinfo, number: int) -> None:
        assert isinstance(zone, timezone)
        assert all(decode(tree) is not None for tree in itertools.islice(smaller_trees(encode([zone])), number))

    test()
