"""Verdict of a checker on a history."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .anomaly import Anomaly
from .history import Call


class Status(enum.StrEnum):
    """The three answers. UNKNOWN means that the question is open, usually since a budget ran out; it is never OK."""

    OK = "ok"
    VIOLATION = "violation"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """The answer, and the evidence for it.

    Attributes:
        status: the answer.
        order: for OK, the calls in an order that the model can follow (pending calls without an effect are omitted);
            empty for long histories.
        core: for VIOLATION, the calls that the argument names: with the times of all other writes as observed, no order
            explains their results. Without an argument, the calls of the smallest known part that no order explains.
        reason: the reason why no order explains the core, or the budget that ran out. Empty for OK.
        steps: the number of times that the search applied the model.
        anomaly: for VIOLATION, the class of the anomaly if the stamps determine it.
    """

    status: Status
    order: tuple[Call, ...] = ()
    core: tuple[Call, ...] = ()
    reason: str = ""
    steps: int = 0
    anomaly: Anomaly | None = None


def all_assumed(first: str, second: str) -> str:
    """Return what two proofs together take for granted: the assumptions of both, each once."""
    if first in second or second in first:
        return max(first, second, key=len)
    return f"{first} and {second}"
