"""JSON for programs, histories and findings; the formats are described by ``schemas/*.json`` and docs/formats.md.

A program or finding is one JSON document. A history is JSON lines: a header, then one line for each call. Fields at
their default are left out. A reader refuses unknown schemas and fields, so that nothing is silently misread.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .anomaly import Anomaly
from .errors import FormatError
from .finding import Finding, FindingKind
from .history import Call, History
from .items import Item, Semantics, Style, Values
from .operations import Operation, OperationName, WriteKind
from .outcomes import ErrorKind, Outcome, Value
from .program import Program

PROGRAM_SCHEMA = "kcache/program/1"
HISTORY_SCHEMA = "kcache/history/1"

Json = dict[str, Any]


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
    fields = _fields(data, "an item", {"key", "stamp"}, {"values", "resource_version", "style"})
    if not isinstance(fields["stamp"], str) or not isinstance(fields["key"], str | None):
        raise FormatError(f"an item needs a text as stamp and a text or null as key, not {json.dumps(data)}")
    return Item(
        key=fields["key"],
        stamp=fields["stamp"],
        values=_decode_values(fields.get("values", {})),
        resource_version=fields.get("resource_version"),
        style=_member(Style, fields.get("style", Style.PLAIN), "style"),
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
        raise FormatError(f'an operation needs a field "op": {json.dumps(data)}')
    name = _member(OperationName, data["op"], "operation")
    takes_version = name in (OperationName.REPLACE, OperationName.BOOKMARK)
    fields = _fields(
        data,
        f"the operation {name.value}",
        {"op", *_ARGUMENTS.get(name, ())},
        {"resource_version"} if takes_version else set(),
    )
    return Operation(
        name=name,
        item=decode_item(fields["item"]) if "item" in fields else None,
        items=tuple(decode_item(item) for item in _list(fields.get("items", []))),
        entries=tuple(_decode_entry(entry) for entry in _list(fields.get("entries", []))),
        key=_text(fields.get("key")),
        index=_text(fields.get("index")),
        value=_text(fields.get("value")),
        names=_texts(fields.get("names", [])),
        resource_version=_text(fields.get("resource_version", "")) or "",
        values=_decode_values(fields["values"]) if "values" in fields else None,
    )


def encode_outcome(outcome: Outcome) -> Json:
    """``{"result": value}`` or ``{"error": kind, "message"?}``."""
    if outcome.error is None:
        return {"result": list(outcome.value) if isinstance(outcome.value, tuple) else outcome.value}
    data: Json = {"error": outcome.error.value}
    if outcome.message:
        data["message"] = outcome.message
    return data


def decode_outcome(data: Json) -> Outcome:
    """The inverse of :func:`encode_outcome`.

    Raises:
        FormatError: ``data`` is no outcome.
    """
    if "error" in data:
        fields = _fields(data, "an error", {"error"}, {"message"})
        return Outcome(error=_member(ErrorKind, fields["error"], "error"), message=fields.get("message", ""))
    result = _fields(data, "a result", {"result"}, set())["result"]
    value: Value = _texts(result) if isinstance(result, list) else _text(result)
    return Outcome(value=value)


def encode_program(program: Program) -> Json:
    """The JSON document of a program."""
    return {
        "schema": PROGRAM_SCHEMA,
        "semantics": program.semantics.value,
        "indexes": list(program.indexes),
        "prefix": [encode_operation(operation) for operation in program.prefix],
        "threads": [[encode_operation(operation) for operation in thread] for thread in program.threads],
    }


def decode_program(data: Json) -> Program:
    """The inverse of :func:`encode_program`.

    Raises:
        FormatError: ``data`` is no program.
    """
    _require_schema(data, PROGRAM_SCHEMA)
    fields = _fields(data, "a program", {"schema", "indexes", "prefix", "threads"}, {"semantics"})
    return Program(
        indexes=_texts(fields["indexes"]),
        prefix=tuple(decode_operation(operation) for operation in _list(fields["prefix"])),
        threads=tuple(
            tuple(decode_operation(operation) for operation in _list(thread)) for thread in _list(fields["threads"])
        ),
        semantics=_member(Semantics, fields.get("semantics", "classic"), "semantics"),
    )


def encode_call(call: Call) -> Json:
    """The JSON document of one call: its operation, with thread, times and outcome."""
    data = {"thread": call.thread, **encode_operation(call.operation), "invoked": call.invoked}
    if call.returned is not None and call.outcome is not None:
        data |= {"returned": call.returned, "outcome": encode_outcome(call.outcome)}
    return data


def decode_call(data: Json) -> Call:
    """The inverse of :func:`encode_call`.

    Raises:
        FormatError: ``data`` is no call.
    """
    if not isinstance(data, dict):
        raise FormatError(f"a call must be a JSON object, not {json.dumps(data)}")
    own = ("thread", "invoked", "returned", "outcome")
    operation = decode_operation({name: value for name, value in data.items() if name not in own})
    thread: Any = data.get("thread")
    invoked: Any = data.get("invoked")
    returned: Any = data.get("returned")
    if not _is_integer(thread) or not _is_integer(invoked):
        raise FormatError(f'a call needs integers as "thread" and "invoked": {json.dumps(data)}')
    if ("outcome" in data) != (returned is not None):
        raise FormatError(
            f'a call needs both "returned" and "outcome", or neither if it is pending: {json.dumps(data)}'
        )
    if returned is not None and (not _is_integer(returned) or returned < invoked):
        raise FormatError(f'"returned" must be an integer not less than "invoked": {json.dumps(data)}')
    return Call(thread, operation, invoked, returned, decode_outcome(data["outcome"]) if "outcome" in data else None)


def dump_history(history: History) -> Iterator[str]:
    """The lines of a history, without line ends."""
    header = {"schema": HISTORY_SCHEMA, "semantics": history.semantics.value, "indexes": list(history.indexes)}
    yield json.dumps(header)
    for call in history.calls:
        yield json.dumps(encode_call(call))


def load_history(lines: Iterable[str]) -> History:
    """The inverse of :func:`dump_history`; empty lines are skipped.

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
                header = _fields(data, "a history's first line", {"schema", "indexes"}, {"semantics"})
            else:
                calls.append(decode_call(data))
        except (FormatError, ValueError) as error:
            raise FormatError(f"line {number}: {error}") from None
    if header is None:
        raise FormatError(f'the history is empty; its first line must be {{"schema": "{HISTORY_SCHEMA}", ...}}')
    return History(
        indexes=_texts(header["indexes"]),
        calls=tuple(sorted(calls, key=lambda call: call.invoked)),
        semantics=_member(Semantics, header.get("semantics", "classic"), "semantics"),
    )


def encode_finding(finding: Finding) -> Json:
    """The JSON document of a finding."""
    data: Json = {"kind": finding.kind.value, "phase": finding.phase, "summary": finding.summary}
    if finding.program is not None:
        data["program"] = encode_program(finding.program)
    if finding.step is not None:
        data["step"] = finding.step
    if finding.expected is not None:
        data["expected"] = encode_outcome(finding.expected)
    if finding.observed is not None:
        data["observed"] = encode_outcome(finding.observed)
    if finding.calls:
        data["calls"] = [encode_call(call) for call in finding.calls]
    if finding.core:
        data["core"] = list(finding.core)
    for name in ("detail", "schedule", "interleaving"):
        if getattr(finding, name):
            data[name] = getattr(finding, name)
    if finding.scenario is not None:
        data["scenario"] = finding.scenario
    if finding.anomaly is not None:
        data["anomaly"] = finding.anomaly.value
    return data


def decode_finding(data: Json) -> Finding:
    """The inverse of :func:`encode_finding`.

    Raises:
        FormatError: ``data`` is no finding.
    """
    return Finding(
        kind=_member(FindingKind, data["kind"], "kind of finding"),
        phase=data["phase"],
        summary=data["summary"],
        program=decode_program(data["program"]) if "program" in data else None,
        step=data.get("step"),
        expected=decode_outcome(data["expected"]) if "expected" in data else None,
        observed=decode_outcome(data["observed"]) if "observed" in data else None,
        calls=tuple(decode_call(call) for call in data.get("calls", ())),
        core=tuple(data.get("core", ())),
        detail=data.get("detail", ""),
        scenario=data.get("scenario"),
        schedule=data.get("schedule", ""),
        interleaving=data.get("interleaving", ""),
        anomaly=_member(Anomaly, data["anomaly"], "anomaly") if "anomaly" in data else None,
    )


def _encode_values(values: Values) -> Json:
    return {index: None if found is None else list(found) for index, found in sorted(values.items())}


def _decode_values(data: object) -> Values:
    if not isinstance(data, dict):
        raise FormatError(f'"values" must be an object: index name -> list of texts, or null; not {json.dumps(data)}')
    return {index: None if found is None else _texts(found) for index, found in data.items()}


def _decode_entry(data: object) -> tuple[WriteKind, Item]:
    fields = _fields(data, "an entry of a transaction", {"kind", "item"}, set())
    return _member(WriteKind, fields["kind"], "kind of entry"), decode_item(fields["item"])


def _fields(data: object, what: str, required: set[str], optional: set[str]) -> Json:
    if not isinstance(data, dict):
        raise FormatError(f"{what} must be a JSON object, not {json.dumps(data)}")
    missing, unknown = required - data.keys(), data.keys() - required - optional
    if missing:
        raise FormatError(f"{what} lacks {', '.join(sorted(missing))}: {json.dumps(data)}")
    if unknown:
        raise FormatError(f"{what} has no field {', '.join(sorted(unknown))}: {json.dumps(data)}")
    return data


def _member(enumeration: Any, value: object, what: str) -> Any:
    try:
        return enumeration(value)
    except ValueError:
        known = ", ".join(member.value for member in enumeration)
        raise FormatError(f"unknown {what} {json.dumps(value)}; known are: {known}") from None


def _require_schema(data: object, schema: str) -> None:
    found = data.get("schema") if isinstance(data, dict) else None
    if found != schema:
        raise FormatError(f'expected "schema": "{schema}", found {json.dumps(found)}')


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list(data: object) -> list[Any]:
    if not isinstance(data, list):
        raise FormatError(f"expected a list, not {json.dumps(data)}")
    return data


def _text(data: object) -> str | None:
    if data is not None and not isinstance(data, str):
        raise FormatError(f"expected a text or null, not {json.dumps(data)}")
    return data


def _texts(data: object) -> tuple[str, ...]:
    texts = _list(data)
    if not all(isinstance(text, str) for text in texts):
        raise FormatError(f"expected a list of texts, not {json.dumps(data)}")
    return tuple(texts)
