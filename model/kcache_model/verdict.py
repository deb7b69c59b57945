"""What a checker says of a history."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .history import Call


class Status(enum.StrEnum):
    """The three answers. UNKNOWN means that a budget ran out; it is never to be read as OK."""

    OK = "ok"
    VIOLATION = "violation"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """The answer, and the evidence for it.

    Attributes:
        status: the answer.
        order: for OK, the calls in an order that the model could have followed (pending calls that had no effect are
            missing).
        core: for VIOLATION, the calls of the smallest part found that no order explains.
        reason: one sentence: why no order explains the core, or which budget ran out. Empty for OK.
        steps: how many times the search applied the model.
    """

    status: Status
    order: tuple[Call, ...] = ()
    core: tuple[Call, ...] = ()
    reason: str = ""
    steps: int = 0
