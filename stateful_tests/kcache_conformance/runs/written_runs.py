"""Written runs: outcomes that runs have written as JSON, read back without loading or running a target."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import kcache
from kcache_model.anomaly import Anomaly
from kcache_model.decoding import is_integer, list_of, member_of, shown, text_of, texts_of
from kcache_model.errors import FormatError
from kcache_model.finding import Finding, FindingKind
from kcache_model.render import printable_line
from kcache_model.verdict import Status

from ..fuzzing.json_report import FUZZ_SCHEMA
from ..fuzzing.rules import Severity
from ..phases.suite_options import DEFAULT_TYPE
from ..report.counts import counts_text, phase_verdict
from ..report.finding_text import PHASE_TITLES
from ..report.machine_formats import RESULT_SCHEMA
from ..results.events import PhaseFinished, SuiteResult

VERDICT_SCHEMA: Final = "kcache/verdict/1"

SEVERITY: Final = (Status.OK, Status.UNKNOWN, Status.VIOLATION)
"""Statuses from best to worst."""

_GIVE: Final = "give a file that check, explore, verify, stress, fuzz, judge or replay wrote with --json"
_WORDS: Final = {Status.OK: "ok", Status.UNKNOWN: "unknown", Status.VIOLATION: "failed"}


@dataclass(frozen=True)
class WrittenPhase:
    """A phase of a run, or an engine.

    Attributes:
        name: its text in reports.
        word: ``ok``, ``failed``, ``unknown``, ``skipped``; ``not finished`` if it did not run to its end.
        did: the counts, or why it was not run, or why there is no proof.
    """

    name: str
    word: str
    did: str = ""


@dataclass(frozen=True)
class WrittenRun:
    """The outcome of a run.

    Attributes:
        target: the name of the target.
        type: of the target.
        status: the status in the file.
        verdict: the status in words.
        reasons: why it is UNKNOWN.
        findings: without their examples.
        phases: in the order in which they ended.
        replays: commands, one for each broken rule that is neither advice nor accepted.
        version: of kcache; empty if the file has none.
        seed: of everything random; ``None`` if there is none, or the file has none.
    """

    target: str
    type: str
    status: Status
    verdict: str
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...]
    phases: tuple[WrittenPhase, ...]
    replays: tuple[str, ...]
    version: str
    seed: int | None


def read_run(file: Path) -> WrittenRun:
    """Read the outcome in a file.

    Raises:
        FormatError: it has no outcome; the message is one line with the reason and what to do.
    """
    name = printable_line(str(file))
    try:
        data = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FormatError(f"{name} cannot be read ({error.strerror or error}): {_GIVE}") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{name} is not a JSON document ({printable_line(str(error))}): {_GIVE}") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    read = _READERS.get(schema) if isinstance(schema, str) else None
    if read is None:
        raise FormatError(f"{name} {_refusal(schema)}")
    try:
        run = read(data)
        if any(SEVERITY.index(finding.status) > SEVERITY.index(run.status) for finding in run.findings):
            raise FormatError(f'"status" is "{run.status}", which a finding contradicts')
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else printable_line(str(error))
        raise FormatError(f"{name} is damaged ({schema}: {why}): write it again with --json") from None
    return run


def _refusal(schema: object) -> str:
    """Return why a document of this schema cannot be read, and what to do about it."""
    family = schema.rpartition("/")[0] if isinstance(schema, str) else ""
    if family in {known.rpartition("/")[0] for known in _READERS}:
        return f"is {shown(schema)}, which kcache {kcache.__version__} cannot read: use the version that wrote it"
    if family in ("kcache/events", "kcache/history"):
        return f"is {shown(schema)}, a recording: `kcache judge FILE --json OUTCOME` writes its outcome"
    description = "without a schema of kcache" if schema is None else f"of the schema {shown(schema)}"
    return f"is a document {description}, not an outcome of a run: {_GIVE}"


def _result(data: Any) -> WrittenRun:
    """Read an outcome of ``kcache check`` and similar commands."""
    options, status, finding_data = data["options"], _status(data), list_of(data["findings"])
    findings = tuple(map(_finding, finding_data))
    phases = tuple(_phase(phase, findings, len(data["phases"])) for phase in list_of(data["phases"]))
    words = list(map(phase_verdict, phases))
    if words == ["ok"]:  # a single phase has the same verdict as the run
        words = [_WORDS[status]]
    rows = [WrittenPhase(phase.phase, word, counts_text(phase)) for phase, word in zip(phases, words, strict=True)]
    run_phases = {phase.phase for phase in phases}
    rows += [WrittenPhase(name, "not finished") for name in texts_of(options["phases"]) if name not in run_phases]
    reasons = texts_of(data["reasons"])
    return WrittenRun(
        text_of(data["target"]),
        text_of(options["kind"]),
        status,
        SuiteResult(status, findings, phases, (), reasons, 0.0, is_interrupted=data.get("interrupted") is True).verdict,
        reasons,
        findings,
        tuple(replace(row, name=PHASE_TITLES.get(row.name, row.name)) for row in rows),
        _replays(findings, finding_data),
        text_of(data["versions"]["kcache"]),
        _integer(options["seed"]),
    )


def _fuzzed(data: Any) -> WrittenRun:
    """Read an outcome of ``kcache fuzz``: the engines are its phases, and warnings its advice."""
    status, finding_data = _status(data), list_of(data["findings"])
    findings = tuple(map(_broken_rule, finding_data))
    return WrittenRun(
        text_of(data["function"]),
        f"{text_of(data['kind'])}-function",
        status,
        status.value,
        texts_of(data["reasons"]),
        findings,
        tuple(_engine(engine, findings) for engine in list_of(data["engines"])),
        _replays(findings, finding_data),
        text_of(data.get("versions", {}).get("kcache", "")),
        _integer(data["seed"]) if "seed" in data else None,
    )


def _judged(data: Any) -> WrittenRun:
    """Read an outcome of ``kcache judge``."""
    status, file, kind = _status(data), text_of(data["file"]), text_of(data.get("type", DEFAULT_TYPE))
    findings: tuple[Finding, ...] = ()
    if status is Status.VIOLATION and data.get("finding") is None:
        anomaly = None if data["anomaly"] is None else member_of(Anomaly, data["anomaly"], "anomaly")
        findings = (Finding(FindingKind.NONLINEARIZABLE, "judge", text_of(data["reason"]), anomaly=anomaly),)
    elif status is Status.VIOLATION:
        findings = (_finding(data["finding"]),)
    option = "" if kind == DEFAULT_TYPE else f" --type {shlex.quote(kind)}"
    return WrittenRun(
        file,
        kind,
        status,
        status.value,
        (text_of(data["reason"]),) if status is Status.UNKNOWN and data.get("reason") else (),
        findings,
        (WrittenPhase("judge", _WORDS[status], f"{_integer(data['calls'])} calls"),),
        () if file == "-" else (f"kcache judge{option} {shlex.quote(file)}",),
        text_of(data.get("versions", {}).get("kcache", "")),
        None,
    )


_READERS: Final[Mapping[str, Callable[[Any], WrittenRun]]] = {
    RESULT_SCHEMA: _result,
    FUZZ_SCHEMA: _fuzzed,
    VERDICT_SCHEMA: _judged,
}


def _status(data: Any) -> Status:
    return Status(member_of(Status, data["status"], "status"))


def _integer(data: object) -> int:
    if isinstance(data, int) and is_integer(data):
        return data
    raise FormatError(f"expected an integer, not {shown(data)}")


def _finding(data: Any) -> Finding:
    return Finding(
        member_of(FindingKind, data["kind"], "kind of finding"),
        text_of(data["phase"]),
        text_of(data["summary"]),
        rule=text_of(data["rule"]),
        is_advice=data.get("is_advice") is True,
        is_waived=data.get("is_waived") is True,
        unconfirmed=text_of(data.get("unconfirmed", "")),
    )


def _broken_rule(data: Any) -> Finding:
    severity = member_of(Severity, data["severity"], "severity")
    what, rule = text_of(data["what"]), text_of(data["rule"])
    is_advice = severity is Severity.WARNING
    return Finding(FindingKind.INVARIANT, text_of(data["engine"]), what, rule=rule, is_advice=is_advice)


def _phase(data: Any, findings: Sequence[Finding], phases: int) -> PhaseFinished:
    """Return a phase with its worst finding; a single phase has all findings."""
    name = text_of(data["phase"])
    findings_of_phase = [finding for finding in findings if finding.phase == name or phases == 1]
    return PhaseFinished(
        name,
        {text_of(counted): _integer(count) for counted, count in data["counts"].items()},
        inconclusive=text_of(data["inconclusive"]),
        refused=text_of(data["refused"]),
        no_proof=text_of(data["no_proof"]),
        finding=max(findings_of_phase, key=lambda finding: SEVERITY.index(finding.status), default=None),
    )


def _engine(data: Any, findings: Iterable[Finding]) -> WrittenPhase:
    name, missed = text_of(data["engine"]), text_of(data["missed"])
    is_wrong = any(finding.phase == name and finding.status is Status.VIOLATION for finding in findings)
    word = "failed" if is_wrong else "unknown" if missed else "ok"
    return WrittenPhase(name, word, "; ".join(filter(None, (text_of(data["did"]), missed))))


def _replays(findings: Sequence[Finding], documents: Sequence[Any]) -> tuple[str, ...]:
    commands: dict[str, str] = {}
    for finding, data in zip(findings, documents, strict=True):
        if finding.status is not Status.OK and data["replay"] is not None:
            commands.setdefault(finding.rule, text_of(data["replay"]))
    return tuple(commands.values())
