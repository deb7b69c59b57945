"""Phases: what one works with, and what it did."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, TypeAlias

from kcache_model.finding import Finding
from kcache_model.indexers.program import History
from kcache_model.progress import NoProgress, ProgressListener
from kcache_model.verdict import Status

from .budget_slices import work_steps
from .suite_options import SuiteOptions
from .symptoms import Known, weighed

_LEAST_SECONDS: Final = 1.0
"""For making a finding smaller that comes late."""

Coverage: TypeAlias = Counter[tuple[str, str]]
"""(operation, result) -> how often; results are ``ok`` or the kind of an error."""


@dataclass(frozen=True)
class PhaseContext:
    """What a phase works with.

    Attributes:
        target: what the target type's ``load`` made.
        spec: the name of the target, by which a private copy of it can be loaded; ``None`` if it has none.
        options: of the run; its budget is not the phase's.
        seed: of everything random in the phase.
        seconds: how long the phase may search.
        programs: how many programs it may run; ``None`` for no limit.
        deadline: when the budget of the run is spent, on the clock of ``time.monotonic``.
        watch: told of everything that the target is asked.
        on_progress: told how far the phase is, 0 to 1, and what it has done so far.
        known: what was found before; the phase looks for something else.
        on_finding: told of a finding before it is made smaller, which may take a while or end the process.
        exhausted: programs of which the turns of the phase have covered all interleavings; the phase adds to them.
        met: counts violations that are known, as ``known``.
        is_spent: whether the phase is to end, however little it has done: what it tries is slow.
    """

    target: Any
    spec: str | None = None
    options: SuiteOptions = field(default_factory=SuiteOptions)
    seed: int = 0
    seconds: float = 10.0
    programs: int | None = None
    deadline: float = inf
    watch: ProgressListener = field(default_factory=NoProgress)
    known: Known = field(default_factory=Known)
    on_progress: Callable[[float, PhaseOutcome], None] = lambda _fraction, _so_far: None
    on_finding: Callable[[Finding], None] = lambda _: None
    exhausted: set[Any] = field(default_factory=set)
    met: Counter[str] = field(default_factory=Counter)
    is_spent: Callable[[], bool] = lambda: False

    def steps(self, *, at_once: int = 1, least: int = 1) -> Iterator[tuple[int, float]]:
        """How many programs to run next, and how far the turn is, until it is over; see :func:`.work_steps`."""
        return work_steps(self.seconds, self.programs, at_once=at_once, least=least, is_spent=self.is_spent)

    def seconds_within(self, most: float) -> float:
        """How long something of at most so many seconds may take beside the search: within the budget, or a little."""
        return min(most, max(_LEAST_SECONDS, self.deadline - time.monotonic()))

    def is_known(self, finding: Finding) -> bool:
        """Whether the same has been found before; if it has, and is a violation, that is counted."""
        is_known = self.known.has(finding)
        if is_known and weighed(finding, self.known.rules, self.options).status is Status.VIOLATION:
            self.met["known"] += 1
        return is_known


@dataclass(frozen=True)
class PhaseOutcome:
    """What a phase did.

    Attributes:
        counts: what was counted: ``programs``, ``operations``, ``rounds``, ``undecided`` ...
        finding: what is wrong, if anything.
        coverage: (operation, outcome) -> how often.
        overlapped: the same for calls that really overlapped a call of another thread.
        skipped: operations left out because the implementation does not support them, or values that cannot be made.
        refused: why the phase cannot be run on the implementation, or saw nothing of it; empty if it did its work.
        sample: calls as they overlapped, where all went right.
        no_proof: why the first search that was not exhaustive for that alone proves nothing: ``FILE:LINE: what``.
        proved: the bound of which all programs are right in every interleaving: ``threads``, ``calls`` of each, and how
            many ``programs`` there are; empty if there is none.
    """

    counts: Mapping[str, int]
    finding: Finding | None = None
    coverage: Coverage = field(default_factory=Counter)
    overlapped: Coverage = field(default_factory=Counter)
    skipped: tuple[str, ...] = ()
    refused: str = ""
    sample: History | None = None
    no_proof: str = ""
    proved: Mapping[str, int] = field(default_factory=dict)

    def merged(self, later: PhaseOutcome) -> PhaseOutcome:
        """Both turns of a phase as one."""
        counts = dict(Counter(self.counts) + Counter(later.counts))
        if "of" in counts:  # the same ones again
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
        )

    @property
    def inconclusive(self) -> str:
        """Why it is not the whole answer although nothing was found; empty if it is. Time is never the reason."""
        if self.refused:
            return ""
        if self.finding is not None and self.finding.status is Status.UNKNOWN:
            return "what it found is not confirmed"
        if self.finding is None and not self.counts.get("programs"):
            return "not a single program could be run"
        if self.finding is None and self.counts.get("undecided"):
            return f"{self.counts['undecided']} rounds were too hard to judge"
        return ""


Phase: TypeAlias = Callable[[PhaseContext], PhaseOutcome]
"""A phase stops at its first finding that is not known, and makes it as small as it can; what a factory raises passes
through it."""
