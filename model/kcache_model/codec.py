"""JSON for histories and findings of any target type; the formats: ``schemas/*.json`` and docs/formats.md.

A program or finding is one JSON document. A history is JSON lines: a header, then one line for each call. Fields with
their default values are omitted. Readers reject unknown schemas and unknown fields: no data is misread silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .anomaly import Anomaly
from .decoding import Json, fields_of, is_integer, member_of, require_schema, shown, text_of
from .errors import FormatError
from .finding import Finding, FindingKind
from .history import Call
from .interleaving import decode_interleaving, encode_interleaving
from .json_lines import read_documents
from .outcomes import WAITS, Outcome

HISTORY_SCHEMA = "kcache/history/1"


def encode_outcome(outcome: Outcome) -> Json:
    """Return ``{"result": value}``, ``{"error": kind, "message"?, "where"?}``, or ``{"waits": true}``."""
    if outcome.waits:
        return {"waits": True}
    if outcome.error is None:
        return {"result": _as_lists(outcome.value)}
    data: Json = {"error": str(outcome.error)}
    for name in ("message", "where"):
        if getattr(outcome, name):
            data[name] = getattr(outcome, name)
    return data


def decode_plain_outcome(data: object) -> Outcome:
    """Return the outcome that :func:`encode_outcome` encoded, without checks of the values and the kinds of errors.

    Raises:
        FormatError: ``data`` is no outcome.
    """
    if isinstance(data, dict) and "waits" in data:
        if fields_of(data, "a call that waits", {"waits"}, set())["waits"] is not True:
            raise FormatError(f'"waits" must be true, not {shown(data["waits"])}')
        return WAITS
    if isinstance(data, dict) and "error" in data:
        fields = fields_of(data, "an error", {"error"}, {"message", "where"})
        message, where = (text_of(fields.get(name, "")) for name in ("message", "where"))
        return Outcome(error=text_of(fields["error"]), message=message, where=where)
    return Outcome(value=_as_tuples(fields_of(data, "a result", {"result"}, set())["result"]))


def _as_lists(value: Any) -> Any:
    return list(map(_as_lists, value)) if isinstance(value, tuple) else value


def _as_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted(((key, _as_tuples(item)) for key, item in value.items()), key=repr))
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class Codec:
    """The functions that encode and decode the programs of a target type.

    Attributes:
        encode_program: returns a program as plain JSON.
        decode_program: the inverse of ``encode_program``. If the data are damaged, it raises FormatError or another
            exception.
        encode_operation: returns an operation as plain JSON, with its name as ``op``.
        decode_operation: the inverse of ``encode_operation``; raises like ``decode_program``.
        decode_outcome: the inverse of :func:`encode_outcome`; raises like ``decode_program``.
        decode_word: returns the program of a word that contains neither a target nor a schedule. Raises FormatError.
            ``None`` if the target type has no words except its replay tokens.
        dump_history: returns a history as lines of JSON; ``None`` if no phase of the target type has sample histories.
        load_history: the inverse of ``dump_history``.
    """

    encode_program: Callable[[Any], Json]
    decode_program: Callable[[Any], Any]
    encode_operation: Callable[[Any], Json]
    decode_operation: Callable[[Json], Any]
    decode_outcome: Callable[[object], Outcome] = decode_plain_outcome
    decode_word: Callable[[str], Any] | None = None
    dump_history: Callable[[Any], Iterable[str]] | None = None
    load_history: Callable[[Iterable[str]], Any] | None = None


def encode_call(call: Call[Any], codec: Codec) -> Json:
    """Return the JSON document of one call: its operation, thread, times and outcome."""
    data = {"thread": call.thread, **codec.encode_operation(call.operation), "invoked": call.invoked}
    if call.returned is not None and call.outcome is not None:
        data |= {"returned": call.returned, "outcome": encode_outcome(call.outcome)}
    return data


def decode_call(data: object, codec: Codec) -> Call[Any]:
    """Return the call that :func:`encode_call` encoded.

    Raises:
        FormatError: ``data`` is no call.
    """
    if not isinstance(data, dict):
        raise FormatError(f"a call must be a JSON object, not {shown(data)}")
    rest = data.copy()
    thread, invoked, returned, outcome = [rest.pop(name, None) for name in ("thread", "invoked", "returned", "outcome")]
    operation = codec.decode_operation(rest)
    if not is_integer(thread) or not is_integer(invoked):
        raise FormatError(f'a call needs integers as "thread" and "invoked": {shown(data)}')
    if ("outcome" in data) != (returned is not None):
        raise FormatError(f'a call needs both "returned" and "outcome", or neither if it is pending: {shown(data)}')
    if returned is not None and (not is_integer(returned) or returned < invoked):
        raise FormatError(f'"returned" must be an integer not less than "invoked": {shown(data)}')
    gave = codec.decode_outcome(outcome) if "outcome" in data else None
    return Call(thread, operation, invoked, returned, gave)


def read_history(
    lines: Iterable[str], required: set[str], optional: set[str], codec: Codec
) -> tuple[Json, tuple[Call[Any], ...]]:
    """Return the header of a history, and its calls in the order of their invocations; empty lines are skipped.

    Args:
        lines: the first line holds the header, each further line one call.
        required: the fields that the header must have in addition to its schema.
        optional: the fields that the header may have.
        codec: decodes the calls.

    Raises:
        FormatError: the lines are no history; the message names the line.
    """
    header, numbered_calls = read_numbered_history(lines, required, optional, codec)
    return header, tuple(call for _, call in numbered_calls)


def read_numbered_history(
    lines: Iterable[str], required: set[str], optional: set[str], codec: Codec
) -> tuple[Json, tuple[tuple[int, Call[Any]], ...]]:
    """Return the same as :func:`read_history`, and for each call the number of its line."""
    header: Json | None = None
    calls = []
    for number, data in read_documents(lines):
        try:
            if header is None:
                require_schema(data, HISTORY_SCHEMA)
                header = fields_of(data, "a history's first line", {"schema", *required}, optional)
            else:
                calls.append((number, decode_call(data, codec)))
        except ValueError as error:
            raise FormatError(f"line {number}: {error}") from None
    if header is None:
        raise FormatError(f'the history is empty; its first line must be {{"schema": "{HISTORY_SCHEMA}", ...}}')
    return header, tuple(sorted(calls, key=lambda numbered_call: numbered_call[1].invoked))


def require_one_at_a_time(numbered_calls: Iterable[tuple[int, Call[Any]]]) -> None:
    """Reject overlapping calls of one thread: a thread makes one call at a time.

    Args:
        numbered_calls: calls with the numbers of their lines, in the order of the invocations.

    Raises:
        FormatError: two calls of one thread overlap.
    """
    last: dict[int, tuple[int, Call[Any]]] = {}
    for number, call in numbered_calls:
        before, other = last.get(call.thread, (number, None))
        if other is not None and (other.returned is None or call.invoked < other.returned):
            raise FormatError(
                f"line {number}: thread {call.thread} begins a call before its call of line {before} has returned; "
                "write a different number for each thread that calls"
            )
        last[call.thread] = number, call


def encode_finding(finding: Finding, codec: Codec) -> Json:
    """Return the JSON document of a finding."""
    data: Json = {
        "kind": finding.kind.value,
        "rule": finding.rule,
        "phase": finding.phase,
        "summary": finding.summary,
    }
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
    for name in ("detail", "schedule", "script", "standalone", "unconfirmed", "advice", "location"):
        if getattr(finding, name):
            data[name] = getattr(finding, name)
    if finding.scenario is not None:
        data["scenario"] = finding.scenario
    if finding.interleaving is not None:
        data["interleaving"] = encode_interleaving(finding.interleaving)
    for name in ("is_advice", "is_waived"):
        if getattr(finding, name):
            data[name] = True
    if finding.anomaly is not None:
        data["anomaly"] = finding.anomaly.value
    return data


def decode_finding(data: Json, codec: Codec) -> Finding:
    """Return the finding that :func:`encode_finding` encoded.

    Raises:
        FormatError: an enumerated value or a call is malformed.
        KeyError: a required field is missing, for example ``kind``, ``phase`` or ``summary``.
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
        standalone=data.get("standalone", ""),
        is_advice=data.get("is_advice", False),
        unconfirmed=data.get("unconfirmed", ""),
        advice=data.get("advice", ""),
        rule=data.get("rule", ""),
        is_waived=data.get("is_waived", False),
        location=data.get("location", ""),
    )
