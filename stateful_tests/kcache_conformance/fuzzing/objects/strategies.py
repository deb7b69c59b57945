"""Hypothesis strategies for objects of a schema, with the fields and constants of the function's code."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, TypeAlias

from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..schemas.schema import (
    Anything,
    Array,
    Boolean,
    Bytes,
    Choice,
    Either,
    Field,
    Given,
    Integer,
    Map,
    Moment,
    Nothing,
    Number,
    Record,
    Schema,
    Standard,
    Style,
    Text,
    resolved,
)
from ..static_analysis import Reading
from .standard_values import standard_values
from .text_strategies import TextMaker
from .texts import is_valid_text, variants
from .weights import mostly, weighted

Values: TypeAlias = "SearchStrategy[Any]"

_EDGES = (0, 1, -1, 2, 10, 100, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, -(2**31))
_USUAL_SIZE = 4
_MANY = (5, 8, 12, 20)
_VERY_MANY = (64, 300)
_MOST_MINED_SIZE = 40
_DEEPEST = 12
_NONE_IS_ONE_IN = 9
_ABSENT_IS_ONE_IN = 9
_OPAQUE_FIELDS = 8


class ObjectMaker:
    """A builder of strategies for objects of a schema.

    Args:
        reading: the facts of the code; by default, only fields that it reads are generated.
        is_whole: generate the other fields, too.
    """

    def __init__(self, reading: Reading, *, is_whole: bool = False) -> None:
        self._reading = reading
        self._is_whole = is_whole
        self._texts = TextMaker(reading)
        sizes = {size for number in reading.lengths for size in (number,) if _USUAL_SIZE < size <= _MOST_MINED_SIZE}
        self._sizes = tuple(sorted({*_MANY, *sizes}))
        self._cached: dict[Any, Values] = {}

    def strategy(self, schema: Schema, depth: int = 0) -> Values:
        """Return a strategy for values of ``schema``."""
        schema = resolved(schema)
        match schema:
            case Text():
                return self._texts.strategy(schema)
            case Integer():
                return self._integer(schema)
            case Number(least, most):
                return st.floats(least, most, allow_nan=False, allow_infinity=False)
            case Boolean():
                return st.booleans()
            case Moment():
                return self._moment()
            case Bytes():
                return st.binary(max_size=20)
            case Standard(kind):
                return standard_values(kind)
            case Nothing():
                return st.none()
            case Choice(values):
                return st.sampled_from(values)
            case Either(options):
                return st.one_of([self.strategy(option, depth) for option in options])
            case Array():
                return self._array(schema, depth)
            case Map():
                return self._map(schema, depth)
            case Anything():
                return self._anything()
            case Given(strategy):
                return strategy  # type: ignore[no-any-return]
            case Record():
                key = (id(schema), min(depth, _DEEPEST))
                if key not in self._cached:
                    self._cached[key] = st.deferred(lambda: self._record(schema, depth))
                    self._cached[(*key, "kept")] = schema  # type: ignore[assignment]  # its id must stay taken
                return self._cached[key]
        raise TypeError(f"{schema!r} is no schema")

    def _integer(self, schema: Integer) -> Values:
        candidates = [
            number
            for number in (*self._reading.numbers, *_EDGES, schema.least, schema.most)
            if number is not None
            and (schema.least is None or number >= schema.least)
            and (schema.most is None or number <= schema.most)
        ]
        small_least = 0 if schema.least is None else max(schema.least, 0)
        small_most = 20 if schema.most is None else min(schema.most, small_least + 20)
        options = [(1, st.integers(schema.least, schema.most))]
        if small_least <= small_most:
            options.insert(0, (2, st.integers(small_least, small_most)))
        if candidates:
            options.insert(1, (2, st.sampled_from(list(dict.fromkeys(candidates)))))
        return weighted(*options)

    def _moment(self) -> Values:
        fixed = [datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)]
        usual = st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
        return st.one_of(st.sampled_from(fixed), usual)

    def _sizes_within(self, least: int, most: int | None) -> list[int]:
        return [size for size in self._sizes if size >= least and (most is None or size <= most)]

    def _array(self, schema: Array, depth: int) -> Values:
        item = self.strategy(schema.item, depth + 1)
        is_large = isinstance(resolved(schema.item), Record)
        usual_most = _USUAL_SIZE // 2 if is_large else _USUAL_SIZE
        most = usual_most if schema.most is None else min(usual_most, schema.most)
        usual = st.lists(item, min_size=max(schema.least, min(1, most)), max_size=max(most, schema.least))
        options = [
            (5, usual),
            (1, st.lists(item, min_size=schema.least, max_size=schema.least)),
            (1, usual.map(lambda items: _doubled(items, schema.most))),
        ]
        sizes = self._sizes_within(schema.least, schema.most)
        if sizes and depth < 5:
            few = sizes[:1] if is_large else sizes
            many = st.builds(_repeated, st.lists(item, min_size=1, max_size=3), st.sampled_from(few + sizes))
            options.append((1, many))
        lists = weighted(*options)
        return lists if schema.container is list else lists.map(lambda items: _as(schema.container, items))

    def _map(self, schema: Map, depth: int) -> Values:
        key, value = self._key(schema, depth), self.strategy(schema.value, depth + 1)
        most = _USUAL_SIZE if schema.most is None else min(_USUAL_SIZE, schema.most)
        usual = st.dictionaries(key, value, min_size=max(schema.least, min(1, most)), max_size=max(most, schema.least))
        options = [(6, usual), (1, st.dictionaries(key, value, min_size=schema.least, max_size=schema.least))]
        if schema.most is None or schema.most >= 2:
            twins = st.builds(_twins, st.just(resolved(schema.value)), usual, key, key, value, st.integers(0, 9))
            options.append((1, twins.filter(lambda mapping: schema.most is None or len(mapping) <= schema.most)))
        sizes = [*self._sizes_within(schema.least, schema.most), *_VERY_MANY]
        if isinstance(resolved(schema.key), Text) and schema.most is None:
            options.append((1, st.builds(_numbered, st.sampled_from(sizes), value)))
        return weighted(*options)

    def _key(self, schema: Map, depth: int) -> Values:
        """Return a strategy for the keys of a map: mostly keys that the code looks up."""
        key, kind = self.strategy(schema.key, depth + 1), resolved(schema.key)
        looked_up = self._texts.looked_up(kind) if isinstance(kind, Text) else []
        return weighted((3, st.sampled_from(looked_up)), (2, key)) if looked_up else key

    def _anything(self) -> Values:
        text = self._texts.strategy(Text())
        leaves = st.one_of(st.none(), st.booleans(), st.integers(), text)
        return st.recursive(
            leaves,
            lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
            max_leaves=6,
        )

    def _record(self, record: Record, depth: int) -> Values:
        wanted = [field for field in record.fields if self._reads(field)]
        if depth > 0 and not wanted and not self._is_whole:
            wanted = list(record.fields)[:_OPAQUE_FIELDS]  # the code reads the whole record, for example prints it
        rest = [field for field in record.fields if field not in wanted]
        required = {field.name: self._value(field, depth) for field in wanted if not self._may_vanish(field, record)}
        optional = {field.name: self._value(field, depth) for field in wanted if self._may_vanish(field, record)}
        for field in rest:
            if _is_required(field, record):
                required[field.name] = self._simplest(field, depth)
            elif self._is_whole and depth < _DEEPEST - 6:
                optional[field.name] = self._value(field, depth + 2)
        names = tuple(field.name for field in record.fields if field.name in required or field.name in optional)
        few = self._is_whole and len(rest) > 4
        rest_names = {field.name for field in rest}
        return st.builds(
            _assembled,
            st.just((record, names)),
            st.fixed_dictionaries(required),
            self._optional(optional, rest_names if few else set()),
        )

    def _optional(self, optional: dict[str, Values], seldom: set[str]) -> Values:
        """Return a strategy for some of the optional fields, with few of the fields in ``seldom``."""
        return _present(optional, seldom)

    def _may_vanish(self, field: Field, record: Record) -> bool:
        return field.may_be_missing and (record.style is Style.ITEMS or field.may_be_none or record.make is not None)

    def _reads(self, field: Field) -> bool:
        return self._reading.reads(field.name, *field.aliases)

    def _value(self, field: Field, depth: int) -> Values:
        value = self.strategy(field.schema, depth + 1)
        return mostly(value, none_in=_NONE_IS_ONE_IN) if field.may_be_none else value

    def _simplest(self, field: Field, depth: int) -> Values:
        """Return a strategy for a required field that the code does not read: nearly constant values."""
        schema = resolved(field.schema)
        if field.may_be_none:
            return st.none()
        match schema:
            case Array(least=0):
                return st.just(()).map(schema.container)
            case Map(least=0):
                return st.just(()).map(dict)
            case Record():
                return self._barest(schema, depth + 1)
        return self.strategy(schema, depth + 1)

    def _barest(self, record: Record, depth: int) -> Values:
        """Return a strategy for a record with only its required fields."""
        required = {field.name: self._simplest(field, depth) for field in record.fields if _is_required(field, record)}
        if record.style is Style.ATTRIBUTES:  # an attribute that the code reads has to exist in every object
            optional = (field for field in record.fields if field.may_be_none and self._reads(field))
            required |= {field.name: st.none() for field in optional}
        what = st.just((record, tuple(required)))
        return st.builds(_assembled, what, st.fixed_dictionaries(required), st.just({}))


def _is_required(field: Field, record: Record) -> bool:
    """Whether every object has the field; an object with attributes may lack a field that may be ``None``."""
    return not (field.may_be_missing or (field.may_be_none and record.style is Style.ATTRIBUTES))


_PRESENCE = tuple(range(_ABSENT_IS_ONE_IN))


@st.composite
def _present(draw: Callable[..., Any], optional: dict[str, Values], seldom: set[str]) -> dict[str, Any]:
    """Draw some of the optional fields, at most two of them in ``seldom``."""
    chosen = {
        name for name in optional if name not in seldom and draw(st.sampled_from(_PRESENCE)) < _ABSENT_IS_ONE_IN - 1
    }
    if seldom:
        chosen |= set(draw(st.lists(st.sampled_from(sorted(seldom)), max_size=2)))
    return {name: draw(optional[name]) for name in optional if name in chosen}


def _assembled(what: tuple[Record, tuple[str, ...]], required: dict[str, Any], optional: dict[str, Any]) -> Any:
    record, names = what
    values = {**required, **optional}
    if record.style is Style.ITEMS:
        return {name: values[name] for name in names if name in values}
    if record.style is Style.ATTRIBUTES:
        return SimpleNamespace(**{name: values.get(name) for name in names})
    assert record.make is not None
    try:
        return record.make(**values)
    except Exception:
        return reject()  # the class enforces further rules


def _as(container: type, items: list[Any]) -> Any:
    try:
        return container(items)
    except TypeError:
        return container(item for item in items if item.__hash__ is not None)


def _numbered(size: int, value: Any) -> dict[str, Any]:
    return {f"k{number}": value for number in range(size)}


def _repeated(items: list[Any], size: int) -> list[Any]:
    """Return many elements, few of them different: usually only the number of elements matters."""
    return [copy.deepcopy(items[number % len(items)]) for number in range(size)]


def _doubled(items: list[Any], most: int | None) -> list[Any]:
    doubled = list(itertools.chain.from_iterable((item, item) for item in items))
    return doubled if most is None else doubled[:most]


def _twins(schema: Schema, mapping: dict[Any, Any], one: Any, other: Any, value: Any, number: int) -> dict[Any, Any]:
    """Return a mapping in which two keys have the same value, or values that some functions confuse."""
    twins = dict(mapping)
    twins[one] = value
    if isinstance(schema, Text) and number < 6:
        alike = [variant for variant in variants(value) if is_valid_text(variant, schema)]
        value = alike[number % len(alike)] if alike else value
    twins[other] = value
    return twins
