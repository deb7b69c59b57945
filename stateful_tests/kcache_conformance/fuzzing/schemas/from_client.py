"""Schemas of the official Kubernetes client's models, with the formats that the API server enforces.

Models of current versions are pydantic models; older models have properties whose setters reject ``None`` for required
fields.
"""

from __future__ import annotations

import datetime
import functools
import re
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

from .combining import either, without_none
from .declared import DeclaredField
from .kubernetes import INT64, MODEL, camel_case, field_in, map_named, type_named, value_named
from .schema import (
    Anything,
    Array,
    Boolean,
    Bytes,
    Choice,
    Field,
    Integer,
    Later,
    Map,
    Moment,
    Nothing,
    Number,
    Record,
    Schema,
    SchemaError,
    Style,
    Text,
)

PLAIN: dict[Any, Schema] = {
    Any: Anything(),
    object: Anything(),
    str: Text(),
    int: INT64,
    float: Number(),
    bool: Boolean(),
    bytes: Bytes(),
    datetime.datetime: Moment(),
    type(None): Nothing(),
}
"""Plain type -> its schema, with the bounds of the API."""
_OLD_NAMES: dict[str, Any] = {
    **{kind.__name__: kind for kind in (str, int, float, bool, object)},
    "datetime": datetime.datetime,
    "bytearray": str,
    "file": str,
}


def is_client_model(cls: object) -> bool:
    """Whether ``cls`` is a model of the Kubernetes client, of any version."""
    return isinstance(cls, type) and all(
        isinstance(getattr(cls, name, None), Mapping) for name in ("openapi_types", "attribute_map")
    )


def schema_of_client_model(cls: type[Any]) -> Schema:
    """Return the schema of a model; the schemas of nested models are computed only when they are needed.

    Args:
        cls: a class of ``kubernetes.client``, such as ``V1Pod``.

    Raises:
        SchemaError: the type of a field is unknown.
    """
    return _record(cls, None)


_DONE: dict[tuple[type[Any], int], Record] = {}


def _record(cls: type[Any], known: Record | None) -> Record:
    known = known or type_named(_api_name(cls), MODEL)
    # Known records stay in a cache forever, so id() can be a key; hashing a record is slow.
    key = (cls, id(known))
    if key not in _DONE:
        declared = _declared(cls)
        is_kind = {"api_version", "kind", "metadata"} <= {one.name for one in declared}
        fields = tuple(_field(cls, one, known, is_kind) for one in declared)
        _DONE[key] = Record(fields, Style.CLASS, cls, cls.__name__)
    return _DONE[key]


def _field(cls: type[Any], declared: DeclaredField, known: Record | None, is_kind: bool) -> Field:
    name = declared.name
    own = field_in(known, name)
    is_required = not declared.is_optional or (own is not None and not own.may_be_none and not own.may_be_missing)
    if is_kind and name == "metadata":
        is_required = True
    if is_kind and name == "kind" and own is None:
        schema: Schema = Choice((_api_name(cls),))
    else:
        schema, _ = without_none(_value(cls, name, declared.annotation, own.schema if own is not None else None))
    other = getattr(cls, "attribute_map", {}).get(name) or camel_case(name.removeprefix("var_"))
    return Field(name, schema, not is_required, not is_required, () if other == name else (other,))


def _value(cls: type[Any], name: str, annotation: Any, known: Schema | None) -> Schema:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _value(cls, name, arguments[0], known)
    if origin in (typing.Union, types.UnionType):
        # If a model accepts text or bytes, the API server sends base64 text.
        texts = [one for one in arguments if not (_bare(one) is bytes and str in map(_bare, arguments))]
        return either(_value(cls, name, one, known) for one in texts)
    if origin is list:
        item, most = (known.item, known.most) if isinstance(known, Array) else (None, None)
        return Array(_value(cls, name, arguments[0], item), most=most)
    if origin is dict:
        return _map(cls, name, arguments[1], known)
    if is_client_model(annotation):
        record = known if isinstance(known, Record) else None
        return Later(functools.partial(_record, annotation, record), annotation.__name__)
    plain = PLAIN.get(annotation)
    if plain is None:
        raise SchemaError(
            f"{cls.__module__}.{cls.__qualname__}.{name} has the type {annotation!r}, for which no values can be "
            "created; give a strategy, a schema or samples"
        )
    return _plain(name, plain, known)


def _plain(name: str, plain: Schema, known: Schema | None) -> Schema:
    if known is None:
        known = value_named(name, MODEL)
    if isinstance(plain, Text) and (
        isinstance(known, Text) or (isinstance(known, Choice) and all(isinstance(one, str) for one in known.values))
    ):
        return known
    if isinstance(plain, Integer) and isinstance(known, Integer):
        return known
    return plain


def _map(cls: type[Any], name: str, value: Any, known: Schema | None) -> Schema:
    if str not in map(_bare, typing.get_args(value) or (value,)) and _bare(value) is not str:
        return Map(Text(), _value(cls, name, value, None))
    if isinstance(known, Map):
        return known
    return map_named(name) or Map(Text(), Text())


def _bare(annotation: Any) -> Any:
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is typing.Annotated else annotation


def _declared(cls: type[Any]) -> list[DeclaredField]:
    fields: Any = getattr(cls, "model_fields", None)
    if isinstance(fields, Mapping):
        return [DeclaredField(name, info.annotation, not info.is_required()) for name, info in fields.items()]
    names: Mapping[str, str] = getattr(cls, "openapi_types", {})
    return [DeclaredField(name, _parsed(cls, name, text), _takes_none(cls, name)) for name, text in names.items()]


def _parsed(cls: type[Any], name: str, text: str) -> Any:
    """Parse the text of a type in an older model: ``list[V1Pod]``, ``dict(str, str)``."""
    text = text.strip()
    if match := re.fullmatch(r"[Ll]ist\[(.*)\]", text, re.DOTALL):
        return types.GenericAlias(list, (_parsed(cls, name, match[1]),))
    if match := re.fullmatch(r"[Dd]ict[(\[]\s*str\s*,(.*)[)\]]", text, re.DOTALL):
        return types.GenericAlias(dict, (str, _parsed(cls, name, match[1])))
    if text in _OLD_NAMES:
        return _OLD_NAMES[text]
    parts = cls.__module__.split(".")
    for end in range(len(parts), 0, -1):
        value = getattr(sys.modules.get(".".join(parts[:end])), text, None)
        if isinstance(value, type):
            return value
    raise SchemaError(
        f"{cls.__module__}.{cls.__qualname__}.{name} has the type {text!r}, which was not found near the class; "
        "give a strategy, a schema or samples"
    )


def _takes_none(cls: type[Any], name: str) -> bool:
    blank: Any = object.__new__(cls)
    blank.local_vars_configuration = types.SimpleNamespace(client_side_validation=True)
    try:
        setattr(blank, name, None)
    except ValueError:
        return False
    return True


def _api_name(cls: type[Any]) -> str:
    """``Pod`` for ``V1Pod``, ``Event`` for ``CoreV1Event``."""
    return re.sub(r"^[A-Za-z]*?V[0-9]+(?:(?:alpha|beta)[0-9]+)?(?=[A-Z])", "", cls.__name__)
