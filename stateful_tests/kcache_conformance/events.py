"""Events of a run, told to whoever listens: a terminal, a report, a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from kcache_model.finding import Finding
from kcache_model.indexers.program import History
from kcache_model.verdict import Status

from .replay_request import ReplayRequest

INDISPENSABLE = frozenset({"explorer"})
"""The phases without which nothing is ok, unless they were left out on purpose."""


_ROUNDS_PER_OVERLAP: Final = 100
"""If calls overlapped in fewer than one of so many rounds, stress says little. Counted, so that it does not depend on
the speed of the machine."""


@dataclass(frozen=True)
class TargetLoaded:
    """The implementation answers; ``not_tested`` lists the operations and features that it does not support."""

    not_tested: tuple[str, ...]


@dataclass(frozen=True)
class PhaseStarted:
    """A phase begins; it may search for ``seconds``."""

    phase: str
    seconds: float


@dataclass(frozen=True)
class PhaseProgress:
    """How far a phase is.

    Attributes:
        phase: its name.
        fraction: of its turn, from 0 to 1.
        counts: what it has counted, in earlier turns too.
        coverage: likewise, see :class:`PhaseFinished`.
        overlapped: likewise.
    """

    phase: str
    fraction: float
    counts: Mapping[str, int]
    coverage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    overlapped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class FindingMade:
    """Something is wrong; the finding may still be made smaller."""

    finding: Finding


@dataclass(frozen=True)
class FindingAdded:
    """Something else is wrong than what was found before; the finding is as small as it gets."""

    finding: Finding


@dataclass(frozen=True)
class PhaseFinished:
    """A phase is over.

    Attributes:
        phase: its name.
        counts: what it counted.
        coverage: operation -> outcome -> how often.
        overlapped: the same for calls that really overlapped a call of another thread; only under stress.
        skipped: operations left out because the implementation does not support them.
        inconclusive: why its silence is not the whole answer; empty if it is.
        finding: the first thing that it found.
        findings: how many it found.
        refused: why it cannot be run on the implementation, or saw nothing of it; empty if it did its work.
        sample: calls of several threads as they overlapped, where all went right.
        no_proof: why the first search that was not exhaustive for that alone proves nothing: ``FILE:LINE: what``.
    """

    phase: str
    counts: Mapping[str, int]
    coverage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    inconclusive: str = ""
    finding: Finding | None = None
    refused: str = ""
    overlapped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sample: History | None = None
    no_proof: str = ""
    findings: int = 0

    @property
    def few_overlaps(self) -> str:
        """Why rounds with real threads that went well say little; empty if enough of them had overlapping calls."""
        rounds, met = self.counts.get("programs", 0), self.counts.get("overlapping")
        is_enough = met is None or (met > 0 and met * _ROUNDS_PER_OVERLAP >= rounds)
        return "" if is_enough or self.finding is not None else f"only {met:,} of {rounds:,} rounds overlapped"


@dataclass(frozen=True)
class SuiteResult:
    """The outcome of a run.

    Attributes:
        status: OK, VIOLATION, or UNKNOWN if some phase could not do its work.
        findings: what is wrong, one for each symptom, in the order in which to mend them; advice comes last.
        phases: the phases that ran to their end.
        not_tested: operations and features that the implementation does not support.
        reasons: why the status is UNKNOWN.
        seconds: how long it took.
        unsettled: saved failures of which it is not known whether they still are there.
        is_interrupted: whether the user stopped it.
    """

    status: Status
    findings: tuple[Finding, ...]
    phases: tuple[PhaseFinished, ...]
    not_tested: tuple[str, ...]
    reasons: tuple[str, ...]
    seconds: float
    unsettled: tuple[ReplayRequest, ...] = ()
    is_interrupted: bool = False

    @property
    def verdict(self) -> str:
        """The status in words; ``ok, without the explorer`` where nothing else is missing."""
        if self.is_interrupted:
            return f"{self.status.value}, interrupted"
        missing = [phase.phase for phase in self.phases if phase.refused and phase.phase in INDISPENSABLE]
        is_all = self.status is Status.UNKNOWN and 0 < len(self.reasons) == len(missing) < len(self.phases)
        return f"ok, without the {' and the '.join(missing)}" if is_all else self.status.value


Event = TargetLoaded | PhaseStarted | PhaseProgress | FindingMade | FindingAdded | PhaseFinished


class Listener(Protocol):
    """Told of events as they happen."""

    def __call__(self, event: Event, /) -> None:
        """Something happened."""
