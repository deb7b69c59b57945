"""Answers of replays, for those who ask and need nothing of the explorer."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from kcache_model.finding import Finding
from kcache_model.verdict import Status

SEARCH_SECONDS: Final = 20.0
"""For the interleavings of a program whose schedule does not fail any more."""


class ReplayAnswer(enum.StrEnum):
    """What became of a counterexample."""

    REPRODUCED = "reproduced"
    FIXED = "fixed"
    CHANGED = "changed"
    """The implementation has changed so much that the schedule does not fit, and no search settled the matter."""
    UNKNOWN = "unknown"
    """It did not happen again, which is no proof: real threads cannot be repeated."""


@dataclass(frozen=True)
class Replayed:
    """The answer, what it rests on, and the finding if there still is one."""

    answer: ReplayAnswer
    note: str
    finding: Finding | None = None

    @property
    def status(self) -> Status:
        """The verdict: that of the finding, if there still is one."""
        if self.finding is not None:
            return self.finding.status
        return Status.OK if self.answer is ReplayAnswer.FIXED else Status.UNKNOWN
