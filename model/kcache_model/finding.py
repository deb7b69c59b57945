"""Something wrong with an implementation, as plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from .anomaly import Anomaly
from .history import Call
from .interleaving import Interleaving
from .outcomes import Outcome
from .rules import RULE_OF_KIND, rule_of_anomaly
from .verdict import Status


class FindingKind(enum.StrEnum):
    """The kinds of violations: a closed set."""

    NONLINEARIZABLE = "nonlinearizable"
    """No order of the calls, one after another, explains their results."""
    DIVERGENCE = "divergence"
    """A sequential program gave another result than the model."""
    INVARIANT = "invariant"
    """What can be seen does not fit together: the lookups of an Indexer, or what an informer shows and tells."""
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
    """A test fails: a check in it, or an exception that escapes."""
    DATA_RACE = "data-race"
    """Two accesses of different threads to one place, one of them a write, with nothing that orders them."""


@dataclass(frozen=True)
class Finding:
    """One violation.

    Attributes:
        kind: what sort of violation.
        phase: which part of the suite found it.
        summary: one sentence that says what is wrong.
        rule: the id of the rule that is broken; where none is given, the one of its anomaly or kind.
        is_waived: whether the project accepts it.
        location: where in the target it happened, ``FILE:LINE in FUNCTION``; empty if that is not known.
        program: a program of its target type that shows it, as small as could be found.
        step: position of the wrong call in a sequential program.
        expected: what the model gives there.
        observed: what the implementation gave.
        calls: for a concurrent program, the calls that were observed, as far as they matter.
        core: positions in ``calls`` of those that no order explains.
        order: positions in ``calls``, in the order that the specification could follow furthest.
        detail: further lines: stacks, the text of an exception.
        scenario: id of the recorded scenario, if it was one.
        schedule: for a finding of the explorer, the word with which ``kcache replay`` follows the same schedule again.
        interleaving: what that schedule does, step by step.
        anomaly: the class of what was observed, where the stamps tell it; the summary says it, too.
        script: for other kinds of targets than Indexers, the smallest example as Python code.
        is_advice: whether the contract of the run does not ask for what is broken.
        advice: why it is advice, where that is not for its rule: a sentence without its period.
        unconfirmed: why it may be an artefact of kcache, as a sentence without its beginning and its period; empty if
            real threads confirmed it, or if all code was seen and they do not contradict it. A finding that is not
            confirmed is no violation.
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
        """What it makes of a run: a violation, unless it is advice, accepted, or not confirmed."""
        if self.is_advice or self.is_waived:
            return Status.OK
        return Status.UNKNOWN if self.unconfirmed else Status.VIOLATION
