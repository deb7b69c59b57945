"""Looks into shapes, and makes objects of them in the plainest way."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import (
    Any,
)

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcache_conformance.fuzzing.judging.legality import is_legal
from kcache_conformance.fuzzing.shapes.shape import (
    Anything,
    Blob,
    Choice,
    Either,
    Field,
    Flag,
    Format,
    Fraction,
    Listing,
    Moment,
    Nothing,
    Record,
    Shape,
    Table,
    Text,
    Whole,
    resolved,
)


def fields_of(shape: Shape) -> dict[str, Field]:
    """The fields of a record, by name."""
    record = resolved(shape)
    assert isinstance(record, Record)
    return {one.name: one for one in record.fields}


def at(shape: Shape, *path: str) -> Any:
    """The shape at a path; ``[]`` goes into a list."""
    for name in path:
        shape = resolved(shape)
        if name == "[]":
            assert isinstance(shape, Listing)
            shape = shape.item
        else:
            shape = fields_of(shape)[name].shape
    return resolved(shape)


_TEXTS = {
    Format.NAME: ("a", "web.x"),
    Format.LABEL: ("a", "b-c"),
    Format.LABEL_KEY: ("app", "x.y/z"),
    Format.LABEL_VALUE: ("", "a.b"),
    Format.QUANTITY: ("1", "2Gi"),
    Format.DIGITS: ("0", "12"),
    Format.TIME: ("2024-02-29T23:59:59Z",),
}


def values(shape: Shape, depth: int = 0) -> st.SearchStrategy[Any]:
    """A plain reading of shapes, with which those of this module are tried."""
    shape = resolved(shape)
    match shape:
        case Text() if shape.pattern is not None:
            most = 10**9 if shape.most is None else shape.most
            return st.from_regex(shape.pattern).filter(lambda text: shape.least <= len(text) <= most)
        case Text(format=Format.FREE):
            return st.text(min_size=shape.least, max_size=shape.most)
        case Text():
            return st.sampled_from(_TEXTS[shape.format])
        case Whole(least, most):
            return st.integers(least, most)
        case Fraction(least, most):
            return st.floats(least, most, allow_nan=False, allow_infinity=False)
        case Flag():
            return st.booleans()
        case Moment():
            return st.just(datetime(2024, 2, 29, tzinfo=UTC))
        case Blob():
            return st.binary(max_size=3)
        case Nothing():
            return st.none()
        case Choice(options):
            return st.sampled_from(options)
        case Either(shapes):
            return st.one_of([values(one, depth) for one in shapes])
        case Anything():
            return st.sampled_from([None, 1, "a", [], {"a": [1]}])
        case Listing(item, least, most, container):
            largest = least if depth > 5 else max(least, min(2, 2 if most is None else most))
            inner = st.nothing() if most == 0 else st.deferred(lambda: values(item, depth + 1))
            return st.lists(inner, min_size=least, max_size=largest).map(container)
        case Table(key, value, least, most):
            largest = max(least, min(2, 2 if most is None else most))
            return st.dictionaries(values(key), values(value, depth + 1), min_size=least, max_size=largest)
        case Record():
            needed = {one.name: _value(one, depth) for one in shape.fields if not one.may_be_missing}
            others = {one.name: _value(one, depth) for one in shape.fields if one.may_be_missing and depth < 6}
            dicts = st.fixed_dictionaries(needed, optional=others)
            make = shape.make
            return dicts if make is None else dicts.map(lambda given: make(**given))
    raise TypeError(shape)


def _value(one: Field, depth: int) -> st.SearchStrategy[Any]:
    value = st.deferred(lambda: values(one.shape, depth + 1))
    return (st.none() if depth > 5 else st.none() | value) if one.may_be_none else value


_UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


def for_all(shape: Shape, test: Callable[[Any], object] = bool, examples: int = 30) -> None:
    """Let ``test`` see objects of a shape; each must be legal."""

    @settings(max_examples=examples, database=None, deadline=None, derandomize=True, suppress_health_check=_UNHURRIED)
    @given(values(shape))
    def run(obj: Any) -> None:
        assert is_legal(obj, shape), obj
        test(obj)

    run()
