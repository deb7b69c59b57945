"""Phases: what one works with, and what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kcache_model.finding import Finding
from kcache_model.indexers.program import History
from kcache_model.progress import NoProgress, ProgressListener
from kcache_model.verdict import Status

from .suite_options import SuiteOptions
from .symptoms import Known, weighed

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
        watch: told of everything that the target is asked.
        on_progress: told how far the phase is, 0 to 1, and what it has done so far.
        known: what was found before; the phase looks for something else.
        on_finding: told of a finding before it is made smaller, which may take a while or end the process.
        met: counts violations that are known, as ``known``.
    """

    target: Any
    spec: str | None = None
    options: SuiteOptions = field(default_factory=SuiteOptions)
    seed: int = 0
    seconds: float = 10.0
    watch: ProgressListener = field(default_factory=NoProgress)
    known: Known = field(default_factory=Known)
    on_progress: Callable[[float, PhaseOutcome], None] = lambda _fraction, _so_far: None
    on_finding: Callable[[Finding], None] = lambda _: None
    met: Counter[str] = field(default_factory=Counter)

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
    """

    counts: Mapping[str, int]
    finding: Finding | None = None
    coverage: Coverage = field(default_factory=Counter)
    overlapped: Coverage = field(default_factory=Counter)
    skipped: tuple[str, ...] = ()
    refused: str = ""
    sample: History | None = None
    no_proof: str = ""

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
        )

    @property
    def inconclusive(self) -> str:
        """Why it is not the whole answer although nothing was found; empty if it is."""
        if self.refused:
            return ""
        if self.finding is not None and self.finding.unconfirmed:
            return "what it found is not confirmed"
        if self.finding is None and not self.counts.get("programs"):
            return "no time was left for a single program; give it a larger budget"
        if self.finding is None and self.counts.get("undecided"):
            return f"{self.counts['undecided']} rounds were too hard to judge; give it a larger budget"
        if self.finding is None and self.counts["programs"] < self.counts.get("of", 0):
            return f"only {self.counts['programs']} of {self.counts['of']} scenarios fitted; give it a larger budget"
        return ""


Phase: TypeAlias = Callable[[PhaseContext], PhaseOutcome]
"""A phase stops at its first finding that is not known, and makes it as small as it can; what a factory raises passes
through it."""
