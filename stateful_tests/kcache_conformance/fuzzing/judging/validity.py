"""Validity of an object: whether a store may really hold it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from ..objects.texts import is_valid_text
from ..objects.trees import NotPlainError, fields_of
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

Reads = Callable[[Field], bool]


def is_valid(obj: Any, schema: Schema, reads: Reads = lambda _: False) -> bool:
    """Whether ``obj`` conforms to ``schema``; O(size of the object). A key that the schema does not know is invalid.

    Args:
        obj: the object.
        schema: the schema of valid objects.
        reads: returns whether the function reads a field. Real models have all their attributes; objects that replace
            models must have the attributes that are read.
    """
    match resolved(schema):
        case Text() as text:
            return isinstance(obj, str) and is_valid_text(obj, text)
        case Boolean():
            return isinstance(obj, bool)
        case Integer(least, most):
            return isinstance(obj, int) and not isinstance(obj, bool) and _within(obj, least, most)
        case Number(least, most):
            return isinstance(obj, float) and math.isfinite(obj) and _within(obj, least, most)
        case Moment():
            return isinstance(obj, datetime)
        case Bytes():
            return isinstance(obj, bytes)
        case Standard(kind):
            return isinstance(obj, kind)
        case Nothing():
            return obj is None
        case Choice(values):
            return any(type(obj) is type(value) and obj == value for value in values)
        case Either(options):
            return any(is_valid(obj, option, reads) for option in options)
        case Array() as array:
            return (
                isinstance(obj, array.container)
                and isinstance(obj, Collection)
                and _within(len(obj), array.least, array.most)
                and all(is_valid(item, array.item, reads) for item in obj)
            )
        case Map() as mapping:
            return (
                isinstance(obj, Mapping)
                and _within(len(obj), mapping.least, mapping.most)
                and all(
                    is_valid(key, mapping.key, reads) and is_valid(value, mapping.value, reads)
                    for key, value in obj.items()
                )
            )
        case Anything():
            return _is_json(obj)
        case Given():
            return True
        case Record() as record:
            return _is_record(obj, record, reads)
    return False


def _is_record(obj: Any, record: Record, reads: Reads) -> bool:
    if record.style is Style.ITEMS:
        if not isinstance(obj, dict):
            return False
        present = obj
    else:
        if isinstance(record.make, type) and not isinstance(obj, record.make):
            return False
        try:
            present = fields_of(obj)
        except NotPlainError:
            return False
    known = {field.name: field for field in record.fields}
    for name, value in present.items():
        if name not in known:
            if record.style is Style.ITEMS:
                return False
            continue  # instances may have more than their class declares
        if not ((value is None and known[name].may_be_none) or is_valid(value, known[name].schema, reads)):
            return False
    return all(field.name in present or not _is_needed(field, record, reads) for field in record.fields)


def _is_needed(field: Field, record: Record, reads: Reads) -> bool:
    """Whether an object without the field is invalid."""
    if record.style is Style.ATTRIBUTES:
        return not (field.may_be_missing or field.may_be_none) or reads(field)
    return record.style is Style.ITEMS and not field.may_be_missing


def _within(value: float, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _is_json(obj: Any) -> bool:
    if isinstance(obj, dict):
        return all(isinstance(key, str) and _is_json(value) for key, value in obj.items())
    if isinstance(obj, list):
        return all(map(_is_json, obj))
    if dataclasses.is_dataclass(obj):
        return False
    return obj is None or isinstance(obj, (str, bool, int, float))
