"""Recordings of calls on an Indexer: they are judged while they are read; findings name the lines of their calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from kcache_model.codec import encode_call
from kcache_model.errors import FormatError
from kcache_model.finding import Finding, FindingKind
from kcache_model.foreign_recordings import format_of
from kcache_model.indexers.codec import INDEXERS
from kcache_model.indexers.program import History
from kcache_model.indexers.recording import (
    MOST_EXPLAINED,
    Lines,
    RecordingVerdict,
    encode_thread,
    judge_recording,
    recorded_history,
)
from kcache_model.render import brief_text, outcome_text
from kcache_model.verdict import Status

from ..report.page import HEADLINES, Page, page_of_history, write_page
from ..report.page.cutting import MOST_CALLS
from ..targets.judged_recording import JudgedRecording, JudgeOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_SHOWN: Final = 12


def judge_lines(lines: Callable[[], Iterable[str]], options: JudgeOptions) -> JudgedRecording:
    """Judge a recording; see :class:`~..targets.judged_recording.RecordingJudge`."""
    foreign = format_of(lines())
    if foreign is not None:
        raise FormatError(
            f"the recording is in the format {foreign.value}: name the type of the recorded object with --spec"
        )
    judged = judge_recording(
        lines,
        strict_errors=options.strict_errors,
        seconds=options.budget.seconds,
        megabytes=options.budget.megabytes,
        on_calls=options.on_calls,
    )
    drawn, verdict = judged.history, judged.verdict
    if options.draws and not drawn.calls and judged.calls <= MOST_CALLS:
        drawn = recorded_history(lines)
    return JudgedRecording(
        verdict.status,
        verdict.reason,
        judged.calls,
        _summary(judged),
        _finding(judged, is_whole=options.is_whole) if verdict.status is Status.VIOLATION else None,
        _document(judged),
        lambda title, file: write_page(file, _page(title, judged, drawn, strict_errors=options.strict_errors)),
    )


def _summary(judged: RecordingVerdict) -> str:
    read = " until the violation" if judged.verdict.status is Status.VIOLATION else ""
    still_open = f", {judged.pending:,} of them still open" if judged.pending else ""
    return f"{judged.calls:,} calls by {judged.threads:,} threads{read}{still_open}"


def _lines_text(lines: Lines) -> str:
    if lines.end == lines.begin:
        return f"line {lines.begin}"
    return f"lines {lines.begin} to {lines.end}" if lines.end is not None else f"line {lines.begin}, still open"


def _finding(judged: RecordingVerdict, *, is_whole: bool) -> Finding:
    verdict = judged.verdict
    in_core = {id(call) for call in verdict.core}
    is_all = is_whole or len(judged.history.calls) <= _MOST_SHOWN
    calls = [call for call in judged.history.calls if is_all or id(call) in in_core]
    core = tuple(position for position, call in enumerate(calls) if id(call) in in_core)
    where = [
        f"{_lines_text(lines)}: {brief_text(call.operation)} -> {outcome_text(call.outcome)}"
        for lines, call in zip(judged.lines, judged.history.calls, strict=True)
        if id(call) in in_core
    ]
    return Finding(
        FindingKind.NONLINEARIZABLE,
        "judge",
        verdict.reason,
        calls=tuple(calls),
        core=core,
        detail="\n".join(where),
        anomaly=verdict.anomaly,
    )


def _page(title: str, judged: RecordingVerdict, drawn: History, *, strict_errors: bool) -> Page:
    is_cut = len(drawn.calls) < judged.calls and judged.calls > MOST_EXPLAINED
    if not is_cut and (drawn.calls or not judged.calls):
        return page_of_history(drawn, judged.verdict, title=title, note=_summary(judged), strict_errors=strict_errors)
    paragraphs = (f"{_summary(judged)}: too many to draw.", judged.verdict.reason)
    return Page(title, judged.verdict.status, HEADLINES[judged.verdict.status], tuple(filter(None, paragraphs)))


def _document(judged: RecordingVerdict) -> Mapping[str, object]:
    verdict = judged.verdict
    in_core = {id(call) for call in verdict.core}
    return {
        "reason": verdict.reason,
        "anomaly": None if verdict.anomaly is None else verdict.anomaly.value,
        "calls": judged.calls,
        "open": judged.pending,
        "threads": judged.threads,
        "core": [
            {
                "begins": lines.begin,
                "ends": lines.end,
                **encode_call(call, INDEXERS),
                "thread": encode_thread(call.thread),
            }
            for lines, call in zip(judged.lines, judged.history.calls, strict=True)
            if id(call) in in_core
        ],
    }
