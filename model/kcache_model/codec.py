"""JSON for programs, histories and findings; the formats are described by ``schemas/*.json`` and docs/formats.md.

A program or finding is one JSON document. A history is JSON lines: a header, then one line for each call. Fields at
their default are left out. A reader refuses unknown schemas and fields, so that nothing is silently misread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .anomaly import Anomaly
from .call_program import HASH_SEEDS
from .decoding import Json, fields_of, is_integer, list_of, member_of, shown, text_of, texts_of
from .errors import FormatError
from .finding import Finding, FindingKind
from .history import Call, History
from .indexers.items import Item, Semantics, Style, Values
from .indexers.operations import Operation, OperationName, WriteKind
from .indexers.program import Program
from .interleaving import decode_interleaving, encode_interleaving
from .outcomes import WAITS, ErrorKind, Outcome

PROGRAM_SCHEMA = "kcache/program/1"
HISTORY_SCHEMA = "kcache/history/1"


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


def decode_item(data: Json) -> Item:
    """The inverse of :func:`encode_item`.

    Raises:
        FormatError: ``data`` is no item.
    """
    fields = fields_of(data, "an item", {"key", "stamp"}, {"values", "resource_version", "style"})
    if not isinstance(fields["stamp"], str) or not isinstance(fields["key"], str | None):
        raise FormatError(f"an item needs a text as stamp and a text or null as key, not {shown(data)}")
    return Item(
        key=fields["key"],
        stamp=fields["stamp"],
        values=_decode_values(fields.get("values", {})),
        resource_version=text_of(fields["resource_version"]) if "resource_version" in fields else None,
        style=member_of(Style, fields.get("style", Style.PLAIN), "style"),
    )


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


_ARGUMENTS: Mapping[OperationName, frozenset[str]] = {
    OperationName.ADD: frozenset({"item"}),
    OperationName.UPDATE: frozenset({"item"}),
    OperationName.DELETE: frozenset({"item"}),
    OperationName.GET: frozenset({"item"}),
    OperationName.REPLACE: frozenset({"items"}),
    OperationName.TRANSACTION: frozenset({"entries"}),
    OperationName.GET_BY_KEY: frozenset({"key"}),
    OperationName.INDEX: frozenset({"index", "item"}),
    OperationName.INDEX_KEYS: frozenset({"index", "value"}),
    OperationName.BY_INDEX: frozenset({"index", "value"}),
    OperationName.LIST_INDEX_FUNC_VALUES: frozenset({"index"}),
    OperationName.ADD_INDEXERS: frozenset({"names"}),
    OperationName.MUTATE: frozenset({"key", "values"}),
}


def decode_operation(data: Json) -> Operation:
    """The inverse of :func:`encode_operation`.

    Raises:
        FormatError: ``data`` is no operation.
    """
    if not isinstance(data, dict) or "op" not in data:
        raise FormatError(f'an operation needs a field "op": {shown(data)}')
    name = member_of(OperationName, data["op"], "operation")
    takes_version = name in (OperationName.REPLACE, OperationName.BOOKMARK)
    fields = fields_of(
        data,
        f"the operation {name.value}",
        {"op", *_ARGUMENTS.get(name, ())},
        {"resource_version"} if takes_version else set(),
    )
    return Operation(
        name=name,
        item=decode_item(fields["item"]) if "item" in fields else None,
        items=tuple(decode_item(item) for item in list_of(fields.get("items", []))),
        entries=tuple(_decode_entry(entry) for entry in list_of(fields.get("entries", []))),
        key=text_of(fields["key"]) if "key" in fields else None,
        index=text_of(fields["index"]) if "index" in fields else None,
        value=text_of(fields["value"]) if "value" in fields else None,
        names=texts_of(fields.get("names", [])),
        resource_version=text_of(fields.get("resource_version", "")),
        values=_decode_values(fields["values"]) if "values" in fields else None,
    )


def encode_outcome(outcome: Outcome) -> Json:
    """``{"result": value}``, ``{"error": kind, "message"?}``, or ``{"waits": true}``."""
    if outcome.waits:
        return {"waits": True}
    if outcome.error is None:
        return {"result": _as_lists(outcome.value)}
    data: Json = {"error": str(outcome.error)}
    if outcome.message:
        data["message"] = outcome.message
    return data


def decode_outcome(data: object) -> Outcome:
    """The inverse of :func:`encode_outcome`, for calls of an Indexer.

    Raises:
        FormatError: ``data`` is no outcome.
    """
    if isinstance(data, dict) and "error" in data:
        fields = fields_of(data, "an error", {"error"}, {"message"})
        return Outcome(error=member_of(ErrorKind, fields["error"], "error"), message=text_of(fields.get("message", "")))
    result = fields_of(data, "a result", {"result"}, set())["result"]
    if isinstance(result, list):
        return Outcome(value=texts_of(result))
    if not isinstance(result, str | None):
        raise FormatError(f"a result must be a text, a list of texts or null, not {shown(result)}")
    return Outcome(value=result)


def decode_plain_outcome(data: object) -> Outcome:
    """The inverse of :func:`encode_outcome`, whatever the values and errors are.

    Raises:
        FormatError: ``data`` is no outcome.
    """
    if isinstance(data, dict) and "waits" in data:
        return WAITS
    if isinstance(data, dict) and "error" in data:
        fields = fields_of(data, "an error", {"error"}, {"message"})
        return Outcome(error=text_of(fields["error"]), message=text_of(fields.get("message", "")))
    return Outcome(value=_as_tuples(fields_of(data, "a result", {"result"}, set())["result"]))


def _as_lists(value: Any) -> Any:
    return list(map(_as_lists, value)) if isinstance(value, tuple) else value


def _as_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted(((key, _as_tuples(found)) for key, found in value.items()), key=repr))
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def encode_program(program: Program) -> Json:
    """The JSON document of a program."""
    data: Json = {
        "schema": PROGRAM_SCHEMA,
        "semantics": program.semantics.value,
        "indexes": list(program.indexes),
        "prefix": [encode_operation(operation) for operation in program.prefix],
        "threads": [[encode_operation(operation) for operation in thread] for thread in program.threads],
    }
    return {**data, "hash_seed": program.hash_seed} if program.hash_seed else data


def decode_program(data: Json) -> Program:
    """The inverse of :func:`encode_program`.

    Raises:
        FormatError: ``data`` is no program.
    """
    _require_schema(data, PROGRAM_SCHEMA)
    fields = fields_of(data, "a program", {"schema", "indexes", "prefix", "threads"}, {"semantics", "hash_seed"})
    return Program(
        indexes=texts_of(fields["indexes"]),
        prefix=tuple(decode_operation(operation) for operation in list_of(fields["prefix"])),
        threads=tuple(
            tuple(decode_operation(operation) for operation in list_of(thread)) for thread in list_of(fields["threads"])
        ),
        semantics=member_of(Semantics, fields.get("semantics", "classic"), "semantics"),
        hash_seed=_hash_seed(fields.get("hash_seed", 0)),
    )


@dataclass(frozen=True)
class Codec:
    """How the programs of a target type are written.

    Attributes:
        encode_program: a program as plain JSON.
        decode_program: its inverse. Raises FormatError, or what damaged data leads to.
        encode_operation: an operation as plain JSON, with its name as ``op``.
        decode_operation: its inverse, likewise.
        decode_outcome: the inverse of :func:`encode_outcome`, likewise.
    """

    encode_program: Callable[[Any], Json]
    decode_program: Callable[[Any], Any]
    encode_operation: Callable[[Any], Json]
    decode_operation: Callable[[Json], Any]
    decode_outcome: Callable[[object], Outcome] = decode_plain_outcome


INDEXERS: Final = Codec(encode_program, decode_program, encode_operation, decode_operation, decode_outcome)
"""How programs on Indexers are written."""


def encode_call(call: Call[Any], codec: Codec = INDEXERS) -> Json:
    """The JSON document of one call: its operation, with thread, times and outcome."""
    data = {"thread": call.thread, **codec.encode_operation(call.operation), "invoked": call.invoked}
    if call.returned is not None and call.outcome is not None:
        data |= {"returned": call.returned, "outcome": encode_outcome(call.outcome)}
    return data


def decode_call(data: object, codec: Codec = INDEXERS) -> Call[Any]:
    """The inverse of :func:`encode_call`.

    Raises:
        FormatError: ``data`` is no call.
    """
    if not isinstance(data, dict):
        raise FormatError(f"a call must be a JSON object, not {shown(data)}")
    own = ("thread", "invoked", "returned", "outcome")
    operation = codec.decode_operation({name: value for name, value in data.items() if name not in own})
    thread: Any = data.get("thread")
    invoked: Any = data.get("invoked")
    returned: Any = data.get("returned")
    if not is_integer(thread) or not is_integer(invoked):
        raise FormatError(f'a call needs integers as "thread" and "invoked": {shown(data)}')
    if ("outcome" in data) != (returned is not None):
        raise FormatError(f'a call needs both "returned" and "outcome", or neither if it is pending: {shown(data)}')
    if returned is not None and (not is_integer(returned) or returned < invoked):
        raise FormatError(f'"returned" must be an integer not less than "invoked": {shown(data)}')
    outcome = codec.decode_outcome(data["outcome"]) if "outcome" in data else None
    return Call(thread, operation, invoked, returned, outcome)


def dump_history(history: History) -> Iterator[str]:
    """The lines of a history, without line ends."""
    header = {"schema": HISTORY_SCHEMA, "semantics": history.semantics.value, "indexes": list(history.indexes)}
    yield json.dumps(header)
    for call in history.calls:
        yield json.dumps(encode_call(call))


def read_history(
    lines: Iterable[str], required: set[str], optional: set[str], codec: Codec = INDEXERS
) -> tuple[Json, tuple[Call[Any], ...]]:
    """The header of a history, and its calls in the order of their invocations; empty lines are skipped.

    Args:
        lines: the header, then one call on each.
        required: what the header must have beside its schema.
        optional: what it may have.
        codec: of the calls.

    Raises:
        FormatError: the lines are no history; the message names the line.
    """
    header: Json | None = None
    calls = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            if header is None:
                _require_schema(data, HISTORY_SCHEMA)
                header = fields_of(data, "a history's first line", {"schema", *required}, optional)
            else:
                calls.append(decode_call(data, codec))
        except (FormatError, ValueError) as error:
            raise FormatError(f"line {number}: {error}") from None
    if header is None:
        raise FormatError(f'the history is empty; its first line must be {{"schema": "{HISTORY_SCHEMA}", ...}}')
    return header, tuple(sorted(calls, key=lambda call: call.invoked))


def load_history(lines: Iterable[str]) -> History:
    """The inverse of :func:`dump_history`; empty lines are skipped.

    Raises:
        FormatError: the lines are no history; the message names the line.
    """
    header, calls = read_history(lines, {"indexes"}, {"semantics"})
    return History(
        indexes=texts_of(header["indexes"]),
        calls=calls,
        semantics=member_of(Semantics, header.get("semantics", "classic"), "semantics"),
    )


def encode_finding(finding: Finding, codec: Codec = INDEXERS) -> Json:
    """The JSON document of a finding."""
    data: Json = {"kind": finding.kind.value, "phase": finding.phase, "summary": finding.summary}
    if finding.program is not None:
        data["program"] = codec.encode_program(finding.program)
    if finding.step is not None:
        data["step"] = finding.step
    if finding.expected is not None:
        data["expected"] = encode_outcome(finding.expected)
    if finding.observed is not None:
        data["observed"] = encode_outcome(finding.observed)
    if finding.calls:
        data["calls"] = [encode_call(call, codec) for call in finding.calls]
    for name in ("core", "order"):
        if getattr(finding, name):
            data[name] = list(getattr(finding, name))
    for name in ("detail", "schedule", "script", "unseen"):
        if getattr(finding, name):
            data[name] = getattr(finding, name)
    if finding.scenario is not None:
        data["scenario"] = finding.scenario
    if finding.interleaving is not None:
        data["interleaving"] = encode_interleaving(finding.interleaving)
    if finding.is_advice:
        data["is_advice"] = True
    if finding.anomaly is not None:
        data["anomaly"] = finding.anomaly.value
    return data


def decode_finding(data: Json, codec: Codec = INDEXERS) -> Finding:
    """The inverse of :func:`encode_finding`.

    Raises:
        FormatError: ``data`` is no finding.
    """
    return Finding(
        kind=member_of(FindingKind, data["kind"], "kind of finding"),
        phase=data["phase"],
        summary=data["summary"],
        program=codec.decode_program(data["program"]) if "program" in data else None,
        step=data.get("step"),
        expected=codec.decode_outcome(data["expected"]) if "expected" in data else None,
        observed=codec.decode_outcome(data["observed"]) if "observed" in data else None,
        calls=tuple(decode_call(call, codec) for call in data.get("calls", ())),
        core=tuple(data.get("core", ())),
        order=tuple(data.get("order", ())),
        detail=data.get("detail", ""),
        scenario=data.get("scenario"),
        schedule=data.get("schedule", ""),
        interleaving=decode_interleaving(data["interleaving"]) if "interleaving" in data else None,
        anomaly=member_of(Anomaly, data["anomaly"], "anomaly") if "anomaly" in data else None,
        script=data.get("script", ""),
        is_advice=data.get("is_advice", False),
        unseen=data.get("unseen", ""),
    )


def _encode_values(values: Values) -> Json:
    return {index: None if found is None else list(found) for index, found in sorted(values.items())}


def _decode_values(data: object) -> Values:
    if not isinstance(data, dict):
        raise FormatError(f'"values" must be an object: index name -> list of texts, or null; not {shown(data)}')
    return {index: None if found is None else texts_of(found) for index, found in data.items()}


def _decode_entry(data: object) -> tuple[WriteKind, Item]:
    fields = fields_of(data, "an entry of a transaction", {"kind", "item"}, set())
    return member_of(WriteKind, fields["kind"], "kind of entry"), decode_item(fields["item"])


def _hash_seed(data: Any) -> int:
    if not is_integer(data) or not 0 <= data < HASH_SEEDS:
        raise FormatError(f'"hash_seed" must be an integer from 0 to {HASH_SEEDS - 1}, not {shown(data)}')
    return int(data)


def _require_schema(data: object, schema: str) -> None:
    found = data.get("schema") if isinstance(data, dict) else None
    if found != schema:
        raise FormatError(f'expected "schema": "{schema}", found {shown(found)}')
