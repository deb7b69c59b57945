"""Hypothesis strategies for objects of a shape, aimed at what the function's code says."""

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

from ..reading import Reading
from ..shapes.shape import (
    Anything,
    Blob,
    Choice,
    Either,
    Field,
    Flag,
    Fraction,
    Given,
    Listing,
    Moment,
    Nothing,
    Record,
    Shape,
    Style,
    Table,
    Text,
    Whole,
    resolved,
)
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
    """Makes objects of a shape.

    Args:
        reading: what the code says; only the fields that it reads are made.
        is_whole: make the other fields, too.
    """

    def __init__(self, reading: Reading, *, is_whole: bool = False) -> None:
        self._reading = reading
        self._is_whole = is_whole
        self._texts = TextMaker(reading)
        sizes = {size for number in reading.lengths for size in (number,) if _USUAL_SIZE < size <= _MOST_MINED_SIZE}
        self._sizes = tuple(sorted({*_MANY, *sizes}))
        self._made: dict[Any, Values] = {}

    def strategy(self, shape: Shape, depth: int = 0) -> Values:
        """A strategy for values of ``shape``."""
        shape = resolved(shape)
        match shape:
            case Text():
                return self._texts.strategy(shape)
            case Whole():
                return self._whole(shape)
            case Fraction(least, most):
                return st.floats(least, most, allow_nan=False, allow_infinity=False)
            case Flag():
                return st.booleans()
            case Moment():
                return self._moment()
            case Blob():
                return st.binary(max_size=20)
            case Nothing():
                return st.none()
            case Choice(values):
                return st.sampled_from(values)
            case Either(options):
                return st.one_of([self.strategy(option, depth) for option in options])
            case Listing():
                return self._listing(shape, depth)
            case Table():
                return self._table(shape, depth)
            case Anything():
                return self._anything()
            case Given(strategy):
                return strategy  # type: ignore[no-any-return]
            case Record():
                key = (id(shape), min(depth, _DEEPEST))
                if key not in self._made:
                    self._made[key] = st.deferred(lambda: self._record(shape, depth))
                    self._made[(*key, "kept")] = shape  # type: ignore[assignment]  # its id must stay taken
                return self._made[key]
        raise TypeError(f"{shape!r} is no shape")

    def _whole(self, shape: Whole) -> Values:
        candidates = [
            number
            for number in (*self._reading.numbers, *_EDGES, shape.least, shape.most)
            if number is not None
            and (shape.least is None or number >= shape.least)
            and (shape.most is None or number <= shape.most)
        ]
        small_least = 0 if shape.least is None else max(shape.least, 0)
        small_most = 20 if shape.most is None else min(shape.most, small_least + 20)
        options = [(1, st.integers(shape.least, shape.most))]
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

    def _listing(self, shape: Listing, depth: int) -> Values:
        item = self.strategy(shape.item, depth + 1)
        is_large = isinstance(resolved(shape.item), Record)
        usual_most = _USUAL_SIZE // 2 if is_large else _USUAL_SIZE
        most = usual_most if shape.most is None else min(usual_most, shape.most)
        usual = st.lists(item, min_size=max(shape.least, min(1, most)), max_size=max(most, shape.least))
        options = [
            (5, usual),
            (1, st.lists(item, min_size=shape.least, max_size=shape.least)),
            (1, usual.map(lambda items: _doubled(items, shape.most))),
        ]
        sizes = self._sizes_within(shape.least, shape.most)
        if sizes and depth < 5:
            few = sizes[:1] if is_large else sizes
            many = st.builds(_repeated, st.lists(item, min_size=1, max_size=3), st.sampled_from(few + sizes))
            options.append((1, many))
        lists = weighted(*options)
        return lists if shape.container is list else lists.map(lambda items: _as(shape.container, items))

    def _table(self, shape: Table, depth: int) -> Values:
        key, value = self._key(shape, depth), self.strategy(shape.value, depth + 1)
        most = _USUAL_SIZE if shape.most is None else min(_USUAL_SIZE, shape.most)
        usual = st.dictionaries(key, value, min_size=max(shape.least, min(1, most)), max_size=max(most, shape.least))
        options = [(6, usual), (1, st.dictionaries(key, value, min_size=shape.least, max_size=shape.least))]
        if shape.most is None or shape.most >= 2:
            twins = st.builds(_twins, st.just(resolved(shape.value)), usual, key, key, value, st.integers(0, 9))
            options.append((1, twins.filter(lambda table: shape.most is None or len(table) <= shape.most)))
        sizes = [*self._sizes_within(shape.least, shape.most), *_VERY_MANY]
        if isinstance(resolved(shape.key), Text) and shape.most is None:
            options.append((1, st.builds(_numbered, st.sampled_from(sizes), value)))
        return weighted(*options)

    def _key(self, shape: Table, depth: int) -> Values:
        """Keys of a table: mostly those that the code looks up."""
        key, kind = self.strategy(shape.key, depth + 1), resolved(shape.key)
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
            wanted = list(record.fields)[:_OPAQUE_FIELDS]  # it is read as a whole: to be printed, say
        rest = [field for field in record.fields if field not in wanted]
        required = {field.name: self._value(field, depth) for field in wanted if not self._may_vanish(field, record)}
        optional = {field.name: self._value(field, depth) for field in wanted if self._may_vanish(field, record)}
        for field in rest:
            if not (field.may_be_missing or field.may_be_none):
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
        """Values for some of the optional fields; few of those called ``seldom``."""
        return _present(optional, seldom)

    def _may_vanish(self, field: Field, record: Record) -> bool:
        return field.may_be_missing and (record.style is Style.ITEMS or field.may_be_none or record.make is not None)

    def _reads(self, field: Field) -> bool:
        return self._reading.reads(field.name, *field.aliases)

    def _value(self, field: Field, depth: int) -> Values:
        value = self.strategy(field.shape, depth + 1)
        return mostly(value, none_in=_NONE_IS_ONE_IN) if field.may_be_none else value

    def _simplest(self, field: Field, depth: int) -> Values:
        """A required field that the code does not read: always nearly the same."""
        shape = resolved(field.shape)
        if field.may_be_none:
            return st.none()
        match shape:
            case Listing(least=0):
                return st.just(()).map(shape.container)
            case Table(least=0):
                return st.just(()).map(dict)
            case Record():
                return self._barest(shape, depth + 1)
        return self.strategy(shape, depth + 1)

    def _barest(self, record: Record, depth: int) -> Values:
        """A record with nothing but what it must have."""
        required = {
            field.name: self._simplest(field, depth)
            for field in record.fields
            if not (field.may_be_missing or field.may_be_none)
        }
        if record.style is Style.ATTRIBUTES:  # what is read by name somewhere must be there everywhere
            optional = (field for field in record.fields if field.may_be_none and self._reads(field))
            required |= {field.name: st.none() for field in optional}
        what = st.just((record, tuple(required)))
        return st.builds(_assembled, what, st.fixed_dictionaries(required), st.just({}))


_PRESENCE = tuple(range(_ABSENT_IS_ONE_IN))


@st.composite
def _present(draw: Callable[..., Any], optional: dict[str, Values], seldom: set[str]) -> dict[str, Any]:
    """Some of the optional fields; of those called ``seldom`` two at most."""
    chosen = {
        name for name in optional if name not in seldom and draw(st.sampled_from(_PRESENCE)) < _ABSENT_IS_ONE_IN - 1
    }
    if seldom:
        chosen |= set(draw(st.lists(st.sampled_from(sorted(seldom)), max_size=2)))
    return {name: draw(optional[name]) for name in optional if name in chosen}


def _assembled(what: tuple[Record, tuple[str, ...]], required: dict[str, Any], optional: dict[str, Any]) -> Any:
    record, names = what
    given = {**required, **optional}
    if record.style is Style.ITEMS:
        return {name: given[name] for name in names if name in given}
    if record.style is Style.ATTRIBUTES:
        return SimpleNamespace(**{name: given.get(name) for name in names})
    assert record.make is not None
    try:
        return record.make(**given)
    except Exception:
        return reject()  # the class has further rules of its own


def _as(container: type, items: list[Any]) -> Any:
    try:
        return container(items)
    except TypeError:
        return container(item for item in items if item.__hash__ is not None)


def _numbered(size: int, value: Any) -> dict[str, Any]:
    return {f"k{number}": value for number in range(size)}


def _repeated(items: list[Any], size: int) -> list[Any]:
    """Many elements, few of them different: what matters is mostly how many there are."""
    return [copy.deepcopy(items[number % len(items)]) for number in range(size)]


def _doubled(items: list[Any], most: int | None) -> list[Any]:
    doubled = list(itertools.chain.from_iterable((item, item) for item in items))
    return doubled if most is None else doubled[:most]


def _twins(shape: Shape, table: dict[Any, Any], one: Any, other: Any, value: Any, number: int) -> dict[Any, Any]:
    """Two keys with the same value, or with values that some functions take for the same."""
    made = dict(table)
    made[one] = value
    if isinstance(shape, Text) and number < 6:
        alike = [variant for variant in variants(value) if is_valid_text(variant, shape)]
        value = alike[number % len(alike)] if alike else value
    made[other] = value
    return made
