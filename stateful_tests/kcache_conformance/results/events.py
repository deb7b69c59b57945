"""Events of a run, reported to listeners: a terminal, a report, a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kcache_model.finding import Finding
from kcache_model.object_types.plain_driver import INCOMPARABLE
from kcache_model.verdict import Status

from ..targets.replay_request import ReplayRequest
from .completeness import MethodsReport

INDISPENSABLE = frozenset({"explorer"})
"""The phases that an ``ok`` requires, unless the user left them out."""


_ROUNDS_PER_OVERLAP: Final = 100
"""If calls overlapped in fewer than one of this many rounds, stress proves little. Rounds are counted, not seconds, so
that the threshold does not depend on the speed of the machine."""


@dataclass(frozen=True)
class TargetLoaded:
    """The target is loaded.

    Attributes:
        not_tested: the operations and features that the target does not support.
        calls: the names of the calls that it offers, if its type requires completeness.
        tested: version and file of the code under test, from :func:`kcache_stress.modules.tested_code.describe_tested`.
        seconds: the time to start a child process and to load the target there.
    """

    not_tested: tuple[str, ...]
    tested: str = ""
    calls: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class PhaseStarted:
    """A phase begins; it may search for ``seconds``."""

    phase: str
    seconds: float


@dataclass(frozen=True)
class PhaseProgress:
    """The progress of a phase.

    Attributes:
        phase: the name of the phase.
        fraction: the progress of its turn, from 0 to 1.
        counts: its counts, including earlier turns.
        coverage: as in :class:`PhaseFinished`, including earlier turns.
        overlapped: likewise.
        refused: likewise; used if the phase is ended before it reports :class:`PhaseFinished`.
    """

    phase: str
    fraction: float
    counts: Mapping[str, int]
    coverage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    overlapped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    refused: str = ""


@dataclass(frozen=True)
class FindingMade:
    """A phase has a finding, which may still be made smaller."""

    finding: Finding


@dataclass(frozen=True)
class FindingAdded:
    """A phase has a new finding, different from the earlier ones and as small as possible."""

    finding: Finding


@dataclass(frozen=True)
class PhaseFinished:
    """A phase is over.

    Attributes:
        phase: the name of the phase.
        counts: its counts.
        coverage: operation -> outcome -> number of calls.
        overlapped: the same for calls that really overlapped a call of another thread; only under stress.
        skipped: operations left out because the implementation does not support them.
        inconclusive: the reason why no finding does not mean ``ok``; empty if it does.
        finding: its first finding.
        findings: the number of its findings.
        refused: why it cannot run on the implementation, or could observe nothing of it; empty if it did its work.
        sample: a history of overlapping calls of several threads without a fault; ``None`` if there is none.
        no_proof: the only obstacle to a proof in the first search that has just one: ``FILE:LINE: what``.
        proved: the bound whose programs are all correct in every interleaving: ``threads``, ``calls`` of each, and
            the number of ``programs``; empty if there is none.
        assumes: what its proofs take for granted about waits with a timeout; empty if none depends on them.
    """

    phase: str
    counts: Mapping[str, int]
    coverage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    inconclusive: str = ""
    finding: Finding | None = None
    refused: str = ""
    overlapped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sample: Any = None
    no_proof: str = ""
    findings: int = 0
    proved: Mapping[str, int] = field(default_factory=dict)
    assumes: str = ""

    @property
    def rounds(self) -> int:
        """The number of runs of programs with real threads; a program may run more than once."""
        return self.counts.get("rounds", self.counts.get("programs", 0))

    @property
    def few_overlaps(self) -> str:
        """The reason why passed rounds with real threads prove little; empty if enough rounds had overlapping calls."""
        overlapping = self.counts.get("overlapping")
        rounds = self.rounds
        is_enough = not rounds or overlapping is None or 0 < rounds <= overlapping * _ROUNDS_PER_OVERLAP
        return "" if is_enough or self.finding is not None else f"only {overlapping:,} of {rounds:,} rounds overlapped"


@dataclass(frozen=True)
class SuiteResult:
    """The outcome of a run.

    Attributes:
        status: OK, VIOLATION, or UNKNOWN if some phase could not do its work.
        findings: one finding for each symptom, in the order in which to fix them; advice comes last.
        phases: the phases that ran to their end.
        not_tested: operations and features that the implementation does not support.
        reasons: why the status is UNKNOWN.
        seconds: the duration of the run.
        unsettled: saved failures that were not replayed to a clear answer.
        is_interrupted: whether the user stopped the run.
        tested: version and file of the code under test; empty if it was not loaded.
        methods: which methods were called, left out and not compared; empty for types that have no methods.
    """

    status: Status
    findings: tuple[Finding, ...]
    phases: tuple[PhaseFinished, ...]
    not_tested: tuple[str, ...]
    reasons: tuple[str, ...]
    seconds: float
    unsettled: tuple[ReplayRequest, ...] = ()
    is_interrupted: bool = False
    tested: str = ""
    methods: MethodsReport = field(default_factory=MethodsReport)

    @property
    def verdict(self) -> str:
        """The status in words.

        ``ok, without the explorer`` if nothing else is missing; ``incomplete`` if methods never returned.
        """
        if self.is_interrupted:
            return f"{self.status.value}, interrupted"
        if self.is_incomplete:
            return "incomplete"
        missing = [phase.phase for phase in self.phases if phase.refused and phase.phase in INDISPENSABLE]
        is_all = self.status is Status.UNKNOWN and 0 < len(self.reasons) == len(missing) < len(self.phases)
        return f"ok, without the {' and the '.join(missing)}" if is_all else self.status.value

    @property
    def is_incomplete(self) -> bool:
        """Whether only methods that never returned, and refused phases, prevent an ``ok``."""
        missing = incomplete_reasons(self.methods)
        return self.status is Status.UNKNOWN and bool(missing) and self.reasons[-1:] == missing

    @property
    def shown(self) -> str:
        """The evidence for ``ok``: the proved bound, or the work that was done; empty if no programs were counted."""
        assumes = next((f", if {phase.assumes}" for phase in self.phases if phase.assumes), "")
        for phase in self.phases:
            if phase.proved:
                return proved_text(**phase.proved) + assumes
        rounds = sum(phase.rounds for phase in self.phases if phase.phase == "stress")
        programs = sum(phase.counts.get("programs", 0) for phase in self.phases if phase.phase != "stress")
        exhausted = sum(phase.counts.get("exhausted", 0) for phase in self.phases)
        if 0 < programs == exhausted and not rounds:
            return proved_text(programs) + assumes
        tried = f"{programs:,} program{'s' * (programs != 1)}" if programs else ""
        if any("exhausted" in phase.counts for phase in self.phases):
            number = "all" if exhausted == programs else f"{exhausted:,}" if exhausted else "none"
            tried += f" ({number} of them exhausted)"
        stressed = f"{rounds:,} round{'s' * (rounds != 1)} with real threads" if rounds else ""
        all_tried = " and ".join(filter(None, (tried, stressed)))
        return f"no fault found in {all_tried}" if all_tried else ""


def incomplete_reasons(methods: MethodsReport) -> tuple[str, ...]:
    """Return why a run is incomplete: one line for all methods that never returned; empty if there are none."""
    if not methods.missing:
        return ()
    names = ", ".join(f"{name} ({reason})" for name, reason in methods.missing)
    if all(INCOMPARABLE in reason for _, reason in methods.missing):
        return (f"no result was compared, so nothing is known: {names}",)
    options = " ".join(f"--leave-out {name}" for name, _ in methods.missing[:_MOST_NAMED])
    return (f"these methods never returned, so nothing is known about them: {names}. To accept that: {options}",)


_MOST_NAMED: Final = 3
_WORDS: Final = ("no", "one", "two", "three", "four")


def proved_text(programs: int, threads: int = 0, calls: int = 0, waiting: int = 0) -> str:
    """Return the text ``all 6 programs of two threads with up to two calls are correct in every interleaving``.

    Args:
        programs: the number of programs.
        threads: the most threads of a program; 0 if the programs do not belong to a bound.
        calls: the most calls of a thread.
        waiting: the number of programs of the bound that were left out, because a call may wait forever.
    """
    what, verb = ("the program", "is") if programs == 1 else (f"all {programs} programs", "are")
    if threads:
        what += f" of {'up to ' * (threads > 2)}{_WORDS[threads]} threads"
        what += f" with up to {_WORDS[calls]} calls" if calls > 1 else " with one call"
    return f"{what}{waiting_text(waiting)} {verb} correct in every interleaving"


def waiting_text(programs: int) -> str:
    """Return the text `` (2 others left out: a call may wait forever)``; empty if there are no such programs."""
    return f" ({programs} other{'s' * (programs > 1)} left out: a call may wait forever)" if programs else ""


Event = TargetLoaded | PhaseStarted | PhaseProgress | FindingMade | FindingAdded | PhaseFinished


class Listener(Protocol):
    """A function that receives events as they happen."""

    def __call__(self, event: Event, /) -> None:
        """Handle an event."""
