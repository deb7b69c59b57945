"""JSON codec for programs of queues. Fields with default values are left out; unknown fields are rejected."""

from __future__ import annotations

from dataclasses import fields as fields_of_class
from typing import Any

from ..decoding import Json, fields_of, list_of, member_of, text_of
from ..errors import FormatError
from .operations import CallName, Operation, Thing, Tombstone, Version
from .program import Deviation, QueueKind, QueueOptions, QueueProgram

_PROGRAM_FIELDS = {"options", "known", "prefix", "threads", "deviations"}
_OPTIONS = tuple(field.name for field in fields_of_class(QueueOptions))


def encode_program(program: QueueProgram) -> Json:
    """Encode a program: ``{"kind", "options"?, "known"?, "prefix"?, "threads"?, "deviations"?}``."""
    data: Json = {"kind": program.kind.value}
    options = [name for name in _OPTIONS if getattr(program.options, name)]
    if options:
        data["options"] = options
    if program.known:
        data["known"] = [encode_thing(version) for version in program.known]
    if program.prefix:
        data["prefix"] = [encode_operation(operation) for operation in program.prefix]
    if program.threads:
        data["threads"] = [[encode_operation(operation) for operation in thread] for thread in program.threads]
    if program.deviations:
        data["deviations"] = [deviation.value for deviation in program.deviations]
    return data


def decode_program(data: Any) -> QueueProgram:
    """Decode a program: the inverse of :func:`encode_program`.

    Raises:
        FormatError: ``data`` is not a program.
    """
    fields = fields_of(data, "a program of a queue", {"kind"}, _PROGRAM_FIELDS)
    options = list_of(fields.get("options", []))
    if not set(map(text_of, options)) <= set(_OPTIONS):
        raise FormatError(f"unknown option of a queue; known are: {', '.join(_OPTIONS)}")
    return QueueProgram(
        member_of(QueueKind, fields["kind"], "kind of queue"),
        QueueOptions(**dict.fromkeys(options, True)),
        tuple(_version(thing) for thing in list_of(fields.get("known", []))),
        tuple(decode_operation(operation) for operation in list_of(fields.get("prefix", []))),
        tuple(tuple(map(decode_operation, list_of(thread))) for thread in list_of(fields.get("threads", []))),
        tuple(member_of(Deviation, name, "deviation") for name in list_of(fields.get("deviations", []))),
    )


def encode_operation(operation: Operation) -> Json:
    """Encode an operation: ``{"op", ...}`` with the arguments that the operation has."""
    data: Json = {"op": operation.name.value}
    if operation.thing is not None:
        data["object"] = encode_thing(operation.thing)
    if operation.objects:
        data["objects"] = [encode_thing(version) for version in operation.objects]
    if operation.resource_version:
        data["resource_version"] = operation.resource_version
    if operation.fails:
        data["fails"] = True
    if not operation.applies:
        data["ignored"] = True
    return data


_WITH_OBJECT = {CallName.ADD, CallName.UPDATE, CallName.DELETE, CallName.KEY_OF}
_OPTIONAL = {
    CallName.REPLACE: {"objects", "resource_version"},
    CallName.BOOKMARK: {"resource_version"},
    CallName.POP: {"fails", "ignored"},
    CallName.POP_BATCH: {"fails", "ignored"},
}


def decode_operation(data: Any) -> Operation:
    """Decode an operation: the inverse of :func:`encode_operation`.

    Raises:
        FormatError: ``data`` is not an operation.
    """
    if not isinstance(data, dict) or "op" not in data:
        raise FormatError('an operation needs a field "op"')
    name: CallName = member_of(CallName, data["op"], "operation of a queue")
    required = {"op", "object"} if name in _WITH_OBJECT else {"op"}
    fields = fields_of(data, f"the operation {name.value}", required, _OPTIONAL.get(name, set()))
    return Operation(
        name,
        decode_thing(fields["object"]) if "object" in fields else None,
        tuple(map(_version, list_of(fields.get("objects", [])))),
        text_of(fields.get("resource_version", "")),
        bool(fields.get("fails", False)),
        not fields.get("ignored", False),
    )


def encode_thing(thing: Thing) -> Json:
    """Encode an object ``{"key", "stamp", ...}`` or a tombstone ``{"tombstone": key, "object"?}``."""
    if isinstance(thing, Tombstone):
        return {"tombstone": thing.key} | ({} if thing.obj is None else {"object": encode_thing(thing.obj)})
    data: Json = {"key": thing.key, "stamp": thing.stamp}
    if thing.is_rejected:
        data["rejected"] = True
    if thing.transformed:
        data["transformed"] = thing.transformed
    return data


def decode_thing(data: Any) -> Thing:
    """Decode an object or a tombstone: the inverse of :func:`encode_thing`.

    Raises:
        FormatError: ``data`` is neither an object nor a tombstone.
    """
    if isinstance(data, dict) and "tombstone" in data:
        fields = fields_of(data, "a tombstone", {"tombstone"}, {"object"})
        return Tombstone(text_of(fields["tombstone"]), _version(fields["object"]) if "object" in fields else None)
    fields = fields_of(data, "an object", {"key", "stamp"}, {"rejected", "transformed"})
    key, transformed = fields["key"], fields.get("transformed", 0)
    if not isinstance(key, str | None) or type(transformed) is not int:
        raise FormatError("an object needs a text or null as key")
    return Version(key, text_of(fields["stamp"]), bool(fields.get("rejected", False)), transformed)


def _version(data: Any) -> Version:
    thing = decode_thing(data)
    if not isinstance(thing, Version):
        raise FormatError("expected an object, not a tombstone")
    return thing
