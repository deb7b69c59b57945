"""Phases: their input, :class:`PhaseContext`, and their result, :class:`PhaseOutcome`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, TypeAlias

from kcache_model.finding import Finding
from kcache_model.progress import NoProgress, ProgressListener
from kcache_model.verdict import Status, all_assumed

from .budget_slices import work_steps
from .suite_options import SuiteOptions
from .symptoms import KnownFindings, with_severity

_LEAST_SECONDS: Final = 1.0
"""Seconds for making a finding smaller that comes late in the budget."""

Coverage: TypeAlias = Counter[tuple[str, str]]
"""(operation, result) -> how often; results are ``ok`` or the kind of an error."""


@dataclass(frozen=True)
class PhaseContext:
    """The input of a phase.

    Attributes:
        target: the target, as returned by the target type's ``load``.
        spec: the name of the target, from which a private copy can be loaded; ``None`` if it has no name.
        options: of the run; its budget is not the phase's.
        seed: the seed of everything random in the phase.
        seconds: how long the phase may search.
        programs: how many programs it may run; ``None`` for no limit.
        deadline: the end of the run's budget, on the clock of ``time.monotonic``.
        watch: receives each operation before it runs on the target.
        on_progress: called with the progress of the phase, 0 to 1, and its outcome so far.
        known: earlier findings; the phase searches for others.
        on_finding: called with a finding before it is made smaller, which may take a while or end the process.
        exhausted: programs whose interleavings are all covered by turns of the phase; the phase adds to them.
        met: counts known violations under the key ``known``.
        is_spent: whether the phase must end, however little it has done, because the target is slow.
    """

    target: Any
    spec: str | None = None
    options: SuiteOptions = field(default_factory=SuiteOptions)
    seed: int = 0
    seconds: float = 10.0
    programs: int | None = None
    deadline: float = inf
    watch: ProgressListener = field(default_factory=NoProgress)
    known: KnownFindings = field(default_factory=KnownFindings)
    on_progress: Callable[[float, PhaseOutcome], None] = lambda _fraction, _so_far: None
    on_finding: Callable[[Finding], None] = lambda _: None
    exhausted: set[Any] = field(default_factory=set)
    met: Counter[str] = field(default_factory=Counter)
    is_spent: Callable[[], bool] = lambda: False

    def steps(self, *, at_once: int = 1, least: int = 1) -> Iterator[tuple[int, float]]:
        """Yield the number of programs to run next, and the progress of the turn; see :func:`.work_steps`."""
        return work_steps(self.seconds, self.programs, at_once=at_once, least=least, is_spent=self.is_spent)

    def seconds_within(self, most: float) -> float:
        """Return ``most``, or the seconds left of the budget if that is less, but at least ``_LEAST_SECONDS``."""
        return min(most, max(_LEAST_SECONDS, self.deadline - time.monotonic()))

    def is_known(self, finding: Finding) -> bool:
        """Whether the finding is known; if it is known and a violation, it is counted in ``met``."""
        is_known = self.known.has(finding)
        if is_known and with_severity(finding, self.known.rules, self.options).status is Status.VIOLATION:
            self.met["known"] += 1
        return is_known


_UNDECIDED_SHARE: Final = 0.05
"""The share of rounds that may be too hard to judge. Rounds are a sample: the others still are one."""


@dataclass(frozen=True)
class PhaseOutcome:
    """The result of a phase.

    Attributes:
        counts: the counts: ``programs``, ``operations``, ``rounds``, ``undecided`` ...
        finding: the finding, if there is one.
        coverage: (operation, outcome) -> number of calls.
        overlapped: the same for calls that really overlapped a call of another thread.
        skipped: operations left out because the implementation does not support them, or values cannot be created.
        refused: why the phase cannot run on the implementation, or could observe nothing; empty if it did its work.
        sample: a history of overlapping calls without a fault, as the codec of the type writes it; ``None`` if there is
            none.
        no_proof: the only obstacle to a proof in the first search that has just one: ``FILE:LINE: what``.
        proved: the bound whose programs are all correct in every interleaving: ``threads``, ``calls`` of each thread,
            and the number of ``programs``; empty if there is none.
        assumes: what its proofs take for granted about waits with a timeout; empty if none depends on them.
    """

    counts: Mapping[str, int]
    finding: Finding | None = None
    coverage: Coverage = field(default_factory=Counter)
    overlapped: Coverage = field(default_factory=Counter)
    skipped: tuple[str, ...] = ()
    refused: str = ""
    sample: Any = None
    no_proof: str = ""
    proved: Mapping[str, int] = field(default_factory=dict)
    assumes: str = ""

    def merged(self, later: PhaseOutcome) -> PhaseOutcome:
        """Return the outcomes of two turns of a phase as one outcome."""
        counts = dict(Counter(self.counts) + Counter(later.counts))
        if "of" in counts:  # both turns run the same recordings
            counts["of"] = later.counts.get("of", counts["of"])
        return PhaseOutcome(
            counts,
            self.finding or later.finding,
            self.coverage + later.coverage,
            self.overlapped + later.overlapped,
            tuple(sorted({*self.skipped, *later.skipped})),
            self.refused or later.refused,
            later.sample or self.sample,
            self.no_proof or later.no_proof,
            later.proved or self.proved,
            all_assumed(self.assumes, later.assumes),
        )

    @property
    def inconclusive(self) -> str:
        """The reason why no finding does not mean ``ok``; empty if it does. Lack of time is never the reason."""
        if self.refused:
            return ""
        if self.finding is not None and self.finding.status is Status.UNKNOWN:
            return "its finding is not confirmed"
        if self.finding is None and not self.counts.get("programs"):
            return "no program could be run"
        undecided = self.counts.get("undecided", 0)
        if self.finding is None and undecided > _UNDECIDED_SHARE * self.counts.get("rounds", 0):
            return f"{undecided} rounds were too hard to judge"
        return ""


Phase: TypeAlias = Callable[[PhaseContext], PhaseOutcome]
"""A function that stops at its first unknown finding and makes the finding as small as it can. Exceptions of a factory
pass through it."""
