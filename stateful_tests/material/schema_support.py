"""Looks into schemas, and makes objects of them in the plainest way."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import (
    Any,
)

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcache_conformance.fuzzing.judging.validity import is_valid
from kcache_conformance.fuzzing.schemas.schema import (
    Anything,
    Array,
    Boolean,
    Bytes,
    Choice,
    Either,
    Field,
    Format,
    Integer,
    Map,
    Moment,
    Nothing,
    Number,
    Record,
    Schema,
    Standard,
    Text,
    resolved,
)


def fields_of(schema: Schema) -> dict[str, Field]:
    """The fields of a record, by name."""
    record = resolved(schema)
    assert isinstance(record, Record)
    return {one.name: one for one in record.fields}


def at(schema: Schema, *path: str) -> Any:
    """The schema at a path; ``[]`` goes into a list."""
    for name in path:
        schema = resolved(schema)
        if name == "[]":
            assert isinstance(schema, Array)
            schema = schema.item
        else:
            schema = fields_of(schema)[name].schema
    return resolved(schema)


_TEXTS = {
    Format.NAME: ("a", "web.x"),
    Format.LABEL: ("a", "b-c"),
    Format.LABEL_KEY: ("app", "x.y/z"),
    Format.LABEL_VALUE: ("", "a.b"),
    Format.QUANTITY: ("1", "2Gi"),
    Format.DIGITS: ("0", "12"),
    Format.TIME: ("2024-02-29T23:59:59Z",),
}


def values(schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
    """A plain reading of schemas, with which those of this module are tried."""
    schema = resolved(schema)
    match schema:
        case Text() if schema.pattern is not None:
            most = 10**9 if schema.most is None else schema.most
            return st.from_regex(schema.pattern).filter(lambda text: schema.least <= len(text) <= most)
        case Text(format=Format.FREE):
            return st.text(min_size=schema.least, max_size=schema.most)
        case Text():
            return st.sampled_from(_TEXTS[schema.format])
        case Integer(least, most):
            return st.integers(least, most)
        case Number(least, most):
            return st.floats(least, most, allow_nan=False, allow_infinity=False)
        case Boolean():
            return st.booleans()
        case Moment():
            return st.just(datetime(2024, 2, 29, tzinfo=UTC))
        case Bytes():
            return st.binary(max_size=3)
        case Standard(kind):
            return st.from_type(kind)
        case Nothing():
            return st.none()
        case Choice(options):
            return st.sampled_from(options)
        case Either(schemas):
            return st.one_of([values(one, depth) for one in schemas])
        case Anything():
            return st.sampled_from([None, 1, "a", [], {"a": [1]}])
        case Array(item, least, most, container):
            largest = least if depth > 5 else max(least, min(2, 2 if most is None else most))
            inner = st.nothing() if most == 0 else st.deferred(lambda: values(item, depth + 1))
            return st.lists(inner, min_size=least, max_size=largest).map(container)
        case Map(key, value, least, most):
            largest = max(least, min(2, 2 if most is None else most))
            return st.dictionaries(values(key), values(value, depth + 1), min_size=least, max_size=largest)
        case Record():
            needed = {one.name: _value(one, depth) for one in schema.fields if not one.may_be_missing}
            others = {one.name: _value(one, depth) for one in schema.fields if one.may_be_missing and depth < 6}
            dicts = st.fixed_dictionaries(needed, optional=others)
            make = schema.make
            return dicts if make is None else dicts.map(lambda given: make(**given))
    raise TypeError(schema)


def _value(one: Field, depth: int) -> st.SearchStrategy[Any]:
    value = st.deferred(lambda: values(one.schema, depth + 1))
    return (st.none() if depth > 5 else st.none() | value) if one.may_be_none else value


_UNHURRIED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


def for_all(schema: Schema, test: Callable[[Any], object] = bool, examples: int = 30) -> None:
    """Let ``test`` see objects of a schema; each must be valid."""

    @settings(max_examples=examples, database=None, deadline=None, derandomize=True, suppress_health_check=_UNHURRIED)
    @given(values(schema))
    def run(obj: Any) -> None:
        assert is_valid(obj, schema), obj
        test(obj)

    run()
