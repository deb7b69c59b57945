"""Findings: faults of an implementation, as plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Final

from .anomaly import Anomaly
from .history import Call
from .interleaving import Interleaving
from .outcomes import Outcome
from .rules import RULE_OF_KIND, rule_of_anomaly
from .verdict import Status


class FindingKind(enum.StrEnum):
    """The kinds of violations: a closed set."""

    NONLINEARIZABLE = "nonlinearizable"
    """No sequential order of the calls explains their results."""
    DIVERGENCE = "divergence"
    """The implementation and the model returned different results for a sequential program."""
    INVARIANT = "invariant"
    """Results contradict each other: lookups of an Indexer, or the store of an informer and its notifications."""
    EXCEPTION = "exception"
    """A call raised although the model returns a value."""
    DEADLOCK = "deadlock"
    LIVELOCK = "livelock"
    NONDETERMINISM = "nondeterminism"
    HANG = "hang"
    """A call did not return in time."""
    CRASH = "crash"
    """The process of the implementation ended."""
    LEAK = "leak"
    FAILURE = "failure"
    """A test fails: a check in it fails, or an exception leaves it."""
    DATA_RACE = "data-race"
    """Two threads access one location, at least one access is a write, and no happens-before relation orders them."""


ENDLESS: Final = (FindingKind.DEADLOCK, FindingKind.LIVELOCK, FindingKind.HANG)
"""Kinds of failures after which threads do not end."""


@dataclass(frozen=True)
class Finding:
    """One violation.

    Attributes:
        kind: the kind of violation.
        phase: the part of the suite that reported it.
        summary: one sentence that describes the fault.
        rule: the id of the broken rule; if it is not passed, the rule of the anomaly, else the rule of the kind.
        is_waived: whether the project accepts it.
        location: the place of the fault in the target, ``FILE:LINE in FUNCTION``; empty if it is unknown.
        program: the smallest known program of its target type that has the fault.
        step: position of the wrong call in a sequential program.
        expected: the outcome of that call according to the model.
        observed: the outcome of that call in the implementation.
        calls: for a concurrent program, the observed calls that are relevant.
        core: positions in ``calls`` of the calls that no order explains.
        order: positions in ``calls``: the longest order that the specification could follow.
        detail: further lines: stacks, the text of an exception.
        scenario: id of the recorded scenario, if a scenario was run.
        schedule: for a finding of the explorer, the replay token: ``kcache replay`` follows the schedule again.
        interleaving: the steps of that schedule.
        anomaly: the class of the anomaly if the stamps determine it; the summary mentions it, too.
        script: for target types other than Indexers, the smallest example as Python code.
        standalone: a test, as Python code, that may show the finding without kcache; empty if there is none.
        is_advice: whether the contract of the run does not require the broken promise.
        advice: the reason why it is advice, if the rule is not the reason: a sentence without its period.
        unconfirmed: the reason why it may be an artefact of kcache: a sentence without its beginning and its period.
            Empty if real threads confirmed it, or if kcache saw all code and real threads do not contradict it. An
            unconfirmed finding is no violation.
    """

    kind: FindingKind
    phase: str
    summary: str
    program: Any = None
    step: int | None = None
    expected: Outcome | None = None
    observed: Outcome | None = None
    calls: tuple[Call[Any], ...] = ()
    core: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    detail: str = ""
    scenario: str | None = None
    schedule: str = ""
    interleaving: Interleaving | None = None
    anomaly: Anomaly | None = None
    script: str = ""
    standalone: str = ""
    is_advice: bool = False
    advice: str = ""
    unconfirmed: str = ""
    rule: str = ""
    location: str = ""
    is_waived: bool = False

    def __post_init__(self) -> None:
        if not self.rule:
            rule = RULE_OF_KIND[self.kind] if self.anomaly is None else rule_of_anomaly(self.anomaly)
            object.__setattr__(self, "rule", rule)

    @property
    def status(self) -> Status:
        """The status that it gives to a run: ok if it is advice or waived, unknown if unconfirmed, else violation."""
        if self.is_advice or self.is_waived:
            return Status.OK
        return Status.UNKNOWN if self.unconfirmed else Status.VIOLATION
