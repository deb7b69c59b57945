"""Verdict on a recording of calls, of any target type: one pipeline from lines to calls, a decider, and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kcache_model.finding import Finding
from kcache_model.linearizability import SearchBudget
from kcache_model.verdict import Status


@dataclass(frozen=True)
class JudgedRecording:
    """A recording and its verdict.

    Attributes:
        status: the verdict.
        reason: the reason for it.
        calls: the number of calls that were judged.
        summary: the number of calls, in words.
        finding: the violation; ``None`` if there is none.
        document: the fields of the JSON document, beside those that the documents of all types have.
        write_page: writes the recording as a page with a title to a file.
    """

    status: Status
    reason: str
    calls: int
    summary: str
    finding: Finding | None
    document: Mapping[str, object]
    write_page: Callable[[str, Path], None]


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Options for judging a recording.

    Attributes:
        budget: the limits of the search.
        strict_errors: require exactly the errors of the specification.
        is_whole: whether the finding must contain all calls, however many they are.
        draws: whether the page will be used.
        on_calls: called now and then with the number of calls that have been read.
    """

    budget: SearchBudget
    strict_errors: bool = False
    is_whole: bool = False
    draws: bool = False
    on_calls: Callable[[int], None] = lambda _: None


@dataclass(frozen=True)
class RecordingJudge:
    """The judge of the recordings of a target type.

    Attributes:
        judge: judges a recording, which its first argument opens from the beginning. Raises FormatError: a line is
            malformed, or impossible after the lines before it.
        nothing: the fields of the document of a recording that was not read in time.
    """

    judge: Callable[[Callable[[], Iterable[str]], JudgeOptions], JudgedRecording]
    nothing: Mapping[str, object]
