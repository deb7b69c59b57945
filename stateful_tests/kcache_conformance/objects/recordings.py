"""Recordings of calls on objects, made elsewhere, and their verdicts by a specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kcache_model.codec import Codec, encode_finding, read_numbered_history, require_one_at_a_time
from kcache_model.errors import FormatError
from kcache_model.finding import Finding, FindingKind
from kcache_model.foreign_recordings import format_of, read_foreign
from kcache_model.history import Call, RecordedThread
from kcache_model.linearizability import SearchBudget
from kcache_model.object_types.checking import CallsVerdict
from kcache_model.object_types.judging import Judge, judge_of
from kcache_model.object_types.object_type import ObjectType
from kcache_model.render import brief_text, outcome_text
from kcache_model.standard_specifications import Specifies
from kcache_model.verdict import Status

from ..report.page import HEADLINES, Page, page_of_finding, write_page
from ..targets.judged_recording import JudgedRecording, JudgeOptions
from .specifications import specification_named, type_of_specification


@dataclass(frozen=True)
class JudgedCalls:
    """A recording and its verdict.

    Attributes:
        calls: the recorded calls, in the order of their invocations.
        verdict: whether some order of the calls explains them.
        lines: the line where each call begins, and the line where it ends if it does.
    """

    calls: tuple[Call[Any], ...]
    verdict: CallsVerdict
    lines: tuple[tuple[int, int | None], ...]

    @property
    def finding(self) -> Finding | None:
        """The finding with its calls; ``None`` if the recording is no violation."""
        verdict = self.verdict
        if verdict.status is not Status.VIOLATION:
            return None
        kind = FindingKind.EXCEPTION if verdict.is_error else FindingKind.NONLINEARIZABLE
        shown = verdict.shown or self.calls
        return Finding(
            kind,
            "judge",
            verdict.reason,
            expected=verdict.expected,
            observed=None if verdict.wrong is None else verdict.wrong.outcome,
            calls=shown,
            core=tuple(at for at, call in enumerate(shown) if call is verdict.wrong),
            order=verdict.order,
            detail="\n".join(self._places(shown)),
        )

    def as_recording(self, codec: Codec, *, strict_errors: bool) -> JudgedRecording:
        """Return the verdict with what is printed and written of it; ``codec`` encodes the finding."""
        verdict, finding = self.verdict, self.finding

        def write(title: str, file: Path) -> None:
            if finding is None:
                paragraphs = tuple(filter(None, [verdict.reason]))
                page = Page(title, verdict.status, HEADLINES[verdict.status], paragraphs)
            else:
                page = page_of_finding(finding, "<recorded>", title=title, strict_errors=strict_errors)
            write_page(file, page)

        document = {"calls": len(self.calls), "finding": None if finding is None else encode_finding(finding, codec)}
        summary = f"{len(self.calls)} calls"
        return JudgedRecording(verdict.status, verdict.reason, len(self.calls), summary, finding, document, write)

    def _places(self, shown: tuple[Call[Any], ...]) -> Iterable[str]:
        lines = dict(zip(map(id, self.calls), self.lines, strict=True))
        for call in shown:
            if id(call) in lines:
                begin, end = lines[id(call)]
                where = f"line {begin}" if end in (None, begin) else f"lines {begin} to {end}"
                told = "no response" if call.outcome is None else outcome_text(call.outcome)
                yield f"{where}: {brief_text(call.operation)} -> {told}"


def _read(
    lines: Iterable[str], optional: set[str], codec: Codec
) -> tuple[Any, tuple[Call[Any], ...], tuple[tuple[int, int | None], ...]]:
    """Read a history; return its header, its calls with the recorded thread numbers, and the lines of each call.

    Raises:
        FormatError: the lines are no history, or a thread makes two calls at a time; the message names the line.
    """
    header, found = read_numbered_history(lines, set(), optional, codec)
    require_one_at_a_time(found)
    calls = (call if call.thread < 0 else replace(call, thread=RecordedThread(call.thread)) for _, call in found)
    return header, tuple(calls), tuple((number, number) for number, _ in found)


def judge_lines(object_type: ObjectType, lines: Callable[[], Iterable[str]], options: JudgeOptions) -> JudgedRecording:
    """Judge a history of calls on one object; see :class:`~..targets.judged_recording.RecordingJudge`.

    Its first line is a header ``{"schema": "kcache/history/1", "program": {...}}``, each further line has one call. The
    program contains the configuration of the object; types with a single configuration need no program.
    """
    header, calls, places = _read(lines(), {"program"}, object_type.codec)
    program = object_type.codec.decode_program(header.get("program", {"prefix": [], "threads": []}))
    specification = object_type.specification(program)
    judge = Judge(
        specification, specification.initial(program), strict_errors=options.strict_errors or object_type.exact_errors
    )
    judged = JudgedCalls(calls, judge.judge(calls, options.budget), places)
    return judged.as_recording(object_type.codec, strict_errors=options.strict_errors)


def judge_specified(
    name: str,
    lines: Iterable[str],
    *,
    start: Any = None,
    strict_errors: bool = False,
    budget: SearchBudget,
) -> JudgedRecording:
    """Judge a history of calls on an object of a specification, in kcache's format or in the format of another tool.

    Args:
        name: of the specification.
        lines: the recording.
        start: the initial content of the object, for standard specifications; ``None`` if empty.
        strict_errors: require the same errors as the specification.
        budget: where to give up.

    Raises:
        FormatError: the lines are no history; the message names the line.
        TargetError: there is no such specification, or it cannot be used, or it does not know ``start``.
    """
    specification: Any = specification_named(name)
    if start is not None:
        if not isinstance(specification, Specifies) or not specification.has_start:
            raise FormatError(f"the specification {name} has a fixed initial value: leave --initial out")
        specification = replace(specification, start=start)
    kept = list(lines)
    calls: tuple[Call[Any], ...] = ()
    places: tuple[tuple[int, int | None], ...] = ()
    found = format_of(kept)
    if found is not None:
        if not isinstance(specification, Specifies):
            raise FormatError(f"a recording in the format {found.value} needs a standard specification, not {name}")
        foreign = read_foreign(kept, found, specification)
        calls, places = foreign.calls, foreign.lines
    elif any(map(str.strip, kept)):
        _, calls, places = _read(kept, set(), type_of_specification(name).codec)
    told = getattr(specification, "told", lambda call: call)
    calls = tuple(map(told, calls))
    judge = judge_of(specification, strict_errors=strict_errors or not isinstance(specification, Specifies))
    judged = JudgedCalls(calls, judge.judge(calls, budget), places)
    return judged.as_recording(type_of_specification(name).codec, strict_errors=strict_errors)
