"""Verdict of a checker on a history."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .anomaly import Anomaly
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
            missing); empty for long histories.
        core: for VIOLATION, the calls that the argument names: given when all other writes began and ended, no order
            explains their results. Without an argument, the calls of the smallest part found that no order explains.
        reason: why no order explains the core, or which budget ran out. Empty for OK.
        steps: how many times the search applied the model.
        anomaly: for VIOLATION, its class, if the stamps tell it.
    """

    status: Status
    order: tuple[Call, ...] = ()
    core: tuple[Call, ...] = ()
    reason: str = ""
    steps: int = 0
    anomaly: Anomaly | None = None
