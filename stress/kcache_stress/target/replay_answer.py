"""Answers of replays, in a module that does not import the explorer."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from kcache_model.finding import Finding
from kcache_model.verdict import Status

SEARCH_SECONDS: Final = 20.0
"""Time for searching the interleavings of a program whose schedule does not fail any more."""


class ReplayAnswer(enum.StrEnum):
    """The result of replaying a counterexample."""

    REPRODUCED = "reproduced"
    FIXED = "fixed"
    CHANGED = "changed"
    """The schedule does not fail any more, and the search for other failures did not end: neither fixed nor failing."""
    UNKNOWN = "unknown"
    """The failure did not happen again, which proves nothing: the sources are unchanged, or threads were real."""


@dataclass(frozen=True)
class Replayed:
    """The answer of a replay, the reason for it, and the finding if there still is one."""

    answer: ReplayAnswer
    note: str
    finding: Finding | None = None

    @property
    def status(self) -> Status:
        """The verdict: the status of the finding if there still is one, OK if FIXED, else UNKNOWN."""
        if self.finding is not None:
            return self.finding.status
        return Status.OK if self.answer is ReplayAnswer.FIXED else Status.UNKNOWN
