"""Judgement of a recording while it is read; to explain a violation, the recording is read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from ...codec import require_one_at_a_time
from ...linearizability import SearchBudget
from ...render import brief_text, result_text
from ...verdict import Status, Verdict
from ..check import check_linearizable, violation_at
from ..just_in_time import MOST_CONFIGURATIONS, HistoryMonitor, HistoryVerdict, Unsuitable
from ..program import History
from .events import Begin, Event, Lines, LocatedCall, assembled
from .reading import Recording, read_recording

MOST_EXPLAINED: Final = 300_000
"""Up to this many calls are kept in memory to explain a violation. If the violating call comes later, the report
contains only this call, without an explanation."""

_BETWEEN_REPORTS: Final = 5_000
"""Number of calls between two reports of progress."""

OpenLines = Callable[[], Iterable[str]]
"""Opens the recording from its beginning."""


@dataclass(frozen=True)
class RecordingVerdict:
    """The verdict on a recording.

    Attributes:
        verdict: the verdict.
        calls: the number of calls that had begun when the verdict was certain.
        pending: the number of these calls that were still open.
        threads: the number of threads that called.
        history: the calls that were kept in memory. If the recording was judged while it was read, these are the calls
            up to the violation; there are none without a violation.
        lines: for each call of ``history``, its lines in the recording.
    """

    verdict: Verdict
    calls: int
    pending: int
    threads: int
    history: History
    lines: tuple[Lines, ...] = ()


def judge_recording(
    lines: OpenLines,
    *,
    strict_errors: bool = False,
    seconds: float = 60.0,
    megabytes: float = float("inf"),
    on_calls: Callable[[int], None] = lambda _: None,
) -> RecordingVerdict:
    """Judge a recording. If it consists of events, the memory does not grow with its length.

    There are two exceptions: a history that the just-in-time checker cannot judge is read into memory, and so are up to
    :data:`MOST_EXPLAINED` calls to explain a violation.

    Args:
        lines: opens the recording; called a second time in these two cases.
        strict_errors: require kcache's error types.
        seconds: limit of wall-clock time, including the time for reading.
        megabytes: limit of the memory of the process, including the memory that it used before.
        on_calls: called after every few thousand calls with the number of calls that have been read.

    Raises:
        FormatError: a line is malformed, or impossible after the lines before it.
        OSError: the recording cannot be read.
    """
    budget = SearchBudget(seconds, megabytes=megabytes)
    result = _judged(lines, on_calls, strict_errors=strict_errors, budget=budget)
    if result.verdict.status is Status.OK and result.calls == result.pending:
        reason = "it contains no finished call, so there is nothing to judge; check that the recorder records calls"
        return replace(result, verdict=Verdict(Status.UNKNOWN, reason=reason))
    return result


def _judged(
    lines: OpenLines, on_calls: Callable[[int], None], *, strict_errors: bool, budget: SearchBudget
) -> RecordingVerdict:
    recording = read_recording(lines())
    if recording.events is None:
        return _judged_as_a_whole(recording, strict_errors=strict_errors, budget=budget)
    stream = _Stream(recording.header, strict_errors=strict_errors, budget=budget)
    try:
        result = stream.judge(recording.events, on_calls)
    except Unsuitable:
        return _judged_as_a_whole(read_recording(lines()), strict_errors=strict_errors, budget=budget)
    if result.status is Status.VIOLATION:
        return _explained(lines, stream, result, strict_errors=strict_errors)
    reason = ""
    if result.status is Status.UNKNOWN:
        reason = (
            f"the checker gave up after {result.tried} configurations; it had judged {result.judged} of "
            f"{stream.calls} calls. Use a larger budget, or record with fewer threads"
        )
    return stream.verdict(Verdict(result.status, reason=reason, steps=result.tried))


def recorded_history(lines: OpenLines) -> History:
    """Read the whole recording into memory as a history, with calls in the order of their invocations.

    Raises:
        FormatError: a line is malformed, or impossible after the lines before it.
    """
    recording = read_recording(lines())
    return _history(recording.header, _located(recording))[0]


class _Stream:
    """Stream of events into the monitor, with counts of calls and threads."""

    def __init__(self, header: History, *, strict_errors: bool, budget: SearchBudget) -> None:
        self._header = header
        self._monitor = HistoryMonitor(
            header.indexes,
            header.semantics,
            strict_errors=strict_errors,
            budget=replace(budget, steps=MOST_CONFIGURATIONS),
        )
        self._open: dict[int, int] = {}
        self._threads: set[int] = set()
        self.calls = 0

    def judge(self, events: Iterable[Event], on_calls: Callable[[int], None]) -> HistoryVerdict:
        monitor = self._monitor
        for event in events:
            if isinstance(event, Begin):
                self._open[event.thread] = monitor.begin(event.operation, event.at, thread=event.thread)
                self._threads.add(event.thread)
                self.calls += 1
                if self.calls % _BETWEEN_REPORTS == 0:
                    on_calls(self.calls)
            else:
                monitor.end(self._open.pop(event.thread), event.outcome, event.at)
            if monitor.result is not None:
                return monitor.result
        return monitor.finish()

    def verdict(
        self, verdict: Verdict, history: History | None = None, lines: tuple[Lines, ...] = ()
    ) -> RecordingVerdict:
        return RecordingVerdict(
            verdict, self.calls, len(self._open), len(self._threads), history or self._header, lines
        )


def _explained(lines: OpenLines, stream: _Stream, result: HistoryVerdict, *, strict_errors: bool) -> RecordingVerdict:
    """Read the recording again up to the first call that no order explains, and explain the violation."""
    position = result.position
    assert position is not None
    recording = read_recording(lines())
    assert recording.events is not None
    if position < MOST_EXPLAINED:
        history, where = _history(recording.header, assembled(recording.events, until=position))
        verdict = violation_at(history, position, strict_errors=strict_errors, steps=result.tried)
        return stream.verdict(verdict, history, where)
    located = assembled(recording.events, until=position, keep=lambda at: at == position)
    history, where = _history(recording.header, located)
    (call,) = history.calls
    reason = (
        f"{brief_text(call.operation)} {result_text(call.outcome)}. No sequential order of the calls gives that. It is "
        f"the first impossible response among {result.judged} calls. More than {MOST_EXPLAINED} calls are not explained"
    )
    verdict = Verdict(Status.VIOLATION, core=(call,), reason=reason, steps=result.tried)
    return stream.verdict(verdict, history, where)


def _judged_as_a_whole(recording: Recording, *, strict_errors: bool, budget: SearchBudget) -> RecordingVerdict:
    history, where = _history(recording.header, _located(recording))
    verdict = check_linearizable(history, strict_errors=strict_errors, budget=budget)
    pending = sum(call.returned is None for call in history.calls)
    threads = len({call.thread for call in history.calls})
    return RecordingVerdict(verdict, len(history.calls), pending, threads, history, where)


def _located(recording: Recording) -> list[LocatedCall]:
    if recording.calls is None:
        return assembled(recording.events or ())
    calls = sorted(recording.calls, key=_invoked)
    require_one_at_a_time((lines.begin, call) for lines, call in calls)
    return calls


def _invoked(located: LocatedCall) -> int:
    return located[1].invoked


def _history(header: History, located: Iterable[LocatedCall]) -> tuple[History, tuple[Lines, ...]]:
    in_order = sorted(located, key=_invoked)
    calls = tuple([call for _, call in in_order])
    return replace(header, calls=calls), tuple([line for line, _ in in_order])
