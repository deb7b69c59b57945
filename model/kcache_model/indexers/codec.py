"""JSON and replay tokens of programs and histories on Indexers; the formats are described in docs/formats.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ..blob import pack, unpack
from ..call_program import HASH_SEEDS
from ..codec import HISTORY_SCHEMA, Codec, encode_call, read_history
from ..decoding import Json, fields_of, is_integer, list_of, member_of, require_schema, shown, text_of, texts_of
from ..errors import FormatError
from ..outcomes import ErrorKind, Outcome
from .items import Item, Semantics, Style, Values
from .operations import Operation, OperationName, WriteKind
from .program import History, Program

PROGRAM_SCHEMA = "kcache/program/1"
_PREFIX = "kc1."


def encode_item(item: Item) -> Json:
    """``{"key", "stamp", "values"?, "resource_version"?, "style"?}``."""
    data: Json = {"key": item.key, "stamp": item.stamp}
    if item.values:
        data["values"] = _encode_values(item.values)
    if item.resource_version is not None:
        data["resource_version"] = item.resource_version
    if item.style is not Style.PLAIN:
        data["style"] = item.style.value
    return data


_ITEM_FIELDS: Final = frozenset({"key", "stamp"})
_RARE_ITEM_FIELDS: Final = frozenset({"resource_version", "style"})
_OPTIONAL_ITEM_FIELDS: Final = _RARE_ITEM_FIELDS | {"values"}


def decode_item(data: Json) -> Item:
    """The inverse of :func:`encode_item`.

    Raises:
        FormatError: ``data`` is no item.
    """
    fields = fields_of(data, "an item", _ITEM_FIELDS, _OPTIONAL_ITEM_FIELDS)
    key, stamp, values = fields["key"], fields["stamp"], _decode_values(fields.get("values", {}))
    if not isinstance(stamp, str) or not isinstance(key, str | None):
        raise FormatError(f"an item needs a text as stamp and a text or null as key, not {shown(data)}")
    if fields.keys().isdisjoint(_RARE_ITEM_FIELDS):
        return Item(key, stamp, values)
    version = text_of(fields["resource_version"]) if "resource_version" in fields else None
    return Item(key, stamp, values, version, member_of(Style, fields.get("style", Style.PLAIN), "style"))


def encode_operation(operation: Operation) -> Json:
    """``{"op", ...}`` with the arguments that the operation has."""
    data: Json = {"op": operation.name.value}
    if operation.item is not None:
        data["item"] = encode_item(operation.item)
    if operation.name is OperationName.REPLACE:
        data["items"] = [encode_item(item) for item in operation.items]
    if operation.name is OperationName.TRANSACTION:
        data["entries"] = [{"kind": kind.value, "item": encode_item(item)} for kind, item in operation.entries]
    if operation.name is OperationName.ADD_INDEXERS:
        data["names"] = list(operation.names)
    for name in ("key", "index", "value"):
        if getattr(operation, name) is not None:
            data[name] = getattr(operation, name)
    if operation.resource_version:
        data["resource_version"] = operation.resource_version
    if operation.values is not None:
        data["values"] = _encode_values(operation.values)
    return data


_OP: Final = frozenset({"op"})
_FIELDS: Final[Mapping[OperationName, frozenset[str]]] = {
    OperationName.ADD: _OP | {"item"},
    OperationName.UPDATE: _OP | {"item"},
    OperationName.DELETE: _OP | {"item"},
    OperationName.GET: _OP | {"item"},
    OperationName.REPLACE: _OP | {"items"},
    OperationName.TRANSACTION: _OP | {"entries"},
    OperationName.GET_BY_KEY: _OP | {"key"},
    OperationName.INDEX: _OP | {"index", "item"},
    OperationName.INDEX_KEYS: _OP | {"index", "value"},
    OperationName.BY_INDEX: _OP | {"index", "value"},
    OperationName.LIST_INDEX_FUNC_VALUES: _OP | {"index"},
    OperationName.ADD_INDEXERS: _OP | {"names"},
    OperationName.MUTATE: _OP | {"key", "values"},
}
"""The fields of the operations that have arguments."""

_NOTHING: Final[frozenset[str]] = frozenset()
_VERSION: Final = frozenset({"resource_version"})
_TAKE_VERSION: Final = frozenset({OperationName.REPLACE, OperationName.BOOKMARK})


def decode_operation(data: Json) -> Operation:
    """The inverse of :func:`encode_operation`.

    Raises:
        FormatError: ``data`` is no operation.
    """
    if not isinstance(data, dict) or "op" not in data:
        raise FormatError(f'an operation needs a field "op": {shown(data)}')
    name = member_of(OperationName, data["op"], "operation")
    optional = _VERSION if name in _TAKE_VERSION else _NOTHING
    fields = fields_of(data, f"the operation {name}", _FIELDS.get(name, _OP), optional)
    return Operation(name, **{field: _ARGUMENTS[field](value) for field, value in fields.items() if field != "op"})


_ARGUMENTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "item": decode_item,
    "items": lambda data: tuple(map(decode_item, list_of(data))),
    "entries": lambda data: tuple(map(_decode_entry, list_of(data))),
    "key": text_of,
    "index": text_of,
    "value": text_of,
    "names": texts_of,
    "resource_version": text_of,
    "values": lambda data: _decode_values(data),
}
"""Field name -> the function that decodes this argument of an operation."""

_RESULT: Final = frozenset({"result"})
_ERROR: Final = frozenset({"error"})
_ABOUT_ERRORS: Final = frozenset({"message", "where"})
_DONE: Final = Outcome()


def decode_outcome(data: object) -> Outcome:
    """The inverse of :func:`encode_outcome`, for calls of an Indexer.

    Raises:
        FormatError: ``data`` is no outcome.
    """
    if isinstance(data, dict) and "error" in data:
        fields = fields_of(data, "an error", _ERROR, _ABOUT_ERRORS)
        message, where = (text_of(fields.get(name, "")) for name in ("message", "where"))
        return Outcome(error=member_of(ErrorKind, fields["error"], "error"), message=message, where=where)
    result = fields_of(data, "a result", _RESULT, _NOTHING)["result"]
    if result is None:
        return _DONE
    if isinstance(result, list):
        return Outcome(value=texts_of(result))
    if not isinstance(result, str):
        raise FormatError(f"a result must be a text, a list of texts or null, not {shown(result)}")
    return Outcome(value=result)


def encode_program(program: Program) -> Json:
    """The JSON document of a program."""
    data: Json = {
        "schema": PROGRAM_SCHEMA,
        "semantics": program.semantics.value,
        "indexes": list(program.indexes),
        "prefix": [encode_operation(operation) for operation in program.prefix],
        "threads": [[encode_operation(operation) for operation in thread] for thread in program.threads],
    }
    rare = {"hash_seed": program.hash_seed, "may_evict": program.may_evict, "unsteady": program.is_unsteady}
    return data | {name: value for name, value in rare.items() if value}


def decode_program(data: Json) -> Program:
    """The inverse of :func:`encode_program`.

    Raises:
        FormatError: ``data`` is no program.
    """
    require_schema(data, PROGRAM_SCHEMA)
    optional = {"semantics", "hash_seed", "may_evict", "unsteady"}
    fields = fields_of(data, "a program", {"schema", "indexes", "prefix", "threads"}, optional)
    return Program(
        indexes=texts_of(fields["indexes"]),
        prefix=tuple(decode_operation(operation) for operation in list_of(fields["prefix"])),
        threads=tuple(
            tuple(decode_operation(operation) for operation in list_of(thread)) for thread in list_of(fields["threads"])
        ),
        semantics=member_of(Semantics, fields.get("semantics", "classic"), "semantics"),
        hash_seed=_hash_seed(fields.get("hash_seed", 0)),
        may_evict=truth_of(fields.get("may_evict", False), "may_evict"),
        is_unsteady=truth_of(fields.get("unsteady", False), "unsteady"),
    )


def encode_blob(program: Program) -> str:
    """``kc1.`` and the compressed JSON of the program in URL-safe base 64."""
    return pack(_PREFIX, encode_program(program))


def decode_blob(blob: str) -> Program:
    """The inverse of :func:`encode_blob`.

    Raises:
        FormatError: the text is no replay token of a program, or it was cut off.
    """
    return decode_program(unpack(_PREFIX, blob, "program word"))


def dump_history(history: History) -> Iterator[str]:
    """The lines of a history, without line ends."""
    header = {"schema": HISTORY_SCHEMA, "semantics": history.semantics.value, "indexes": list(history.indexes)}
    yield json.dumps({**header, "may_evict": True} if history.may_evict else header)
    for call in history.calls:
        yield json.dumps(encode_call(call, INDEXERS))


def load_history(lines: Iterable[str]) -> History:
    """The inverse of :func:`dump_history`; empty lines are skipped.

    Raises:
        FormatError: the lines are no history; the message names the line.
    """
    header, calls = read_history(lines, {"indexes"}, {"semantics", "may_evict"}, INDEXERS)
    return History(
        indexes=texts_of(header["indexes"]),
        calls=calls,
        semantics=member_of(Semantics, header.get("semantics", "classic"), "semantics"),
        may_evict=truth_of(header.get("may_evict", False), "may_evict"),
    )


INDEXERS: Final = Codec(
    encode_program,
    decode_program,
    encode_operation,
    decode_operation,
    decode_outcome,
    decode_word=decode_blob,
    dump_history=dump_history,
    load_history=load_history,
)
"""Codec of programs on Indexers."""


def _encode_values(values: Values) -> Json:
    return {index: None if texts is None else list(texts) for index, texts in sorted(values.items())}


def _decode_values(data: object) -> Values:
    if not isinstance(data, dict):
        raise FormatError(f'"values" must be an object: index name -> list of texts, or null; not {shown(data)}')
    return {index: None if texts is None else texts_of(texts) for index, texts in data.items()}


def _decode_entry(data: object) -> tuple[WriteKind, Item]:
    fields = fields_of(data, "an entry of a transaction", {"kind", "item"}, set())
    return member_of(WriteKind, fields["kind"], "kind of entry"), decode_item(fields["item"])


def truth_of(data: object, name: str) -> bool:
    """Return the value of a field that is true or false.

    Raises:
        FormatError: it is neither.
    """
    if not isinstance(data, bool):
        raise FormatError(f'"{name}" must be true or false, not {shown(data)}')
    return data


def _hash_seed(data: Any) -> int:
    if not is_integer(data) or not 0 <= data < HASH_SEEDS:
        raise FormatError(f'"hash_seed" must be an integer from 0 to {HASH_SEEDS - 1}, not {shown(data)}')
    return int(data)
