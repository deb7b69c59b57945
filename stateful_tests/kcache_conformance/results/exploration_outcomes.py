"""Outcomes of exploring: sums over programs, descriptions of targets, and certificates."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from kcache import Semantics
from kcache_model.audited import NOT_AUDITED, Audited
from kcache_model.bound import Bound
from kcache_model.finding import Finding
from kcache_model.object_types.plain_driver import INCOMPARABLE
from kcache_model.verdict import Status, all_assumed

from ..phases.symptoms import KnownFindings
from .completeness import MethodsReport, by_call, methods_report

if TYPE_CHECKING:
    from kcache_stress.target.explore import Explored

_MOST_NOTES: Final = 20

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers in ascending order, as ranges: the first number of each range, and the number after its last."""

Signature: TypeAlias = tuple[int, str]
"""A number of programs, and a digest of that many programs at the start of an enumeration."""

NOTHING_SIGNED: Final[Signature] = (0, hashlib.sha256().hexdigest())


@dataclass(frozen=True)
class Tally:
    """The sum of the results of exploring some programs.

    Attributes:
        programs: the number of explored programs.
        exhausted: the number of programs whose interleavings were all covered.
        executions: the number of executions.
        seconds: the time of one process.
        findings: findings with distinct symptoms.
        refused: why the target cannot be explored; empty if it can.
        notes: why some searches were no proof, if the strategy knows it; each reason once, the first few.
        audited: extent of the audits of the exhaustive searches.
        sources: (path, SHA-256) of each instrumented module.
        is_interrupted: whether the user stopped it.
        lost: why an executor did not explore some of its programs; empty if it did.
        contended: the places whose orders cost most executions, in the first search that was cut short.
        assumes: what the proofs take for granted about waits with a timeout; empty if none depends on them.
        calls: (name of a call, ``ok`` or the error) -> how often, for types whose single calls are judged.
    """

    programs: int = 0
    exhausted: int = 0
    executions: int = 0
    seconds: float = 0.0
    findings: tuple[Finding, ...] = ()
    refused: str = ""
    notes: tuple[str, ...] = ()
    audited: Audited = NOT_AUDITED
    sources: frozenset[tuple[str, str]] = frozenset()
    is_interrupted: bool = False
    lost: str = ""
    assumes: str = ""
    contended: str = ""
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def finding(self) -> Finding | None:
        """The first finding; ``None`` if there is none."""
        return next(iter(self.findings), None)

    @property
    def note(self) -> str:
        """The reason why the first search without a proof was none; empty if all were proofs."""
        return next(iter(self.notes), "")

    @property
    def most_orders(self) -> str:
        """The beginning of an advice: the places whose orders cost most; empty if they are not known."""
        return f"most orders were tried of {self.contended}; " if self.contended else ""

    @property
    def are_sources_changed(self) -> bool:
        """Whether some module had changed in later processes."""
        return len({path for path, _ in self.sources}) < len(self.sources)

    def plus(self, explored: Explored) -> Tally:
        """Return the sum with one more program."""
        findings = () if explored.finding is None else (explored.finding,)
        one = Tally(
            1,
            int(explored.is_exhausted),
            explored.executions,
            findings=findings,
            notes=(explored.note,) if explored.note else (),
            audited=explored.audited,
            assumes=explored.assumes,
            contended=explored.contended,
            calls=Counter(explored.calls),
        )
        return self.merged(one)

    def merged(self, other: Tally) -> Tally:
        """Return the sum of two tallies."""
        return Tally(
            self.programs + other.programs,
            self.exhausted + other.exhausted,
            self.executions + other.executions,
            self.seconds + other.seconds,
            KnownFindings().adding_all((*self.findings, *other.findings)).findings,
            self.refused or other.refused,
            tuple(dict.fromkeys((*self.notes, *other.notes)))[:_MOST_NOTES],
            self.audited + other.audited,
            self.sources | other.sources,
            self.is_interrupted or other.is_interrupted,
            self.lost or other.lost,
            all_assumed(self.assumes, other.assumes),
            self.contended or other.contended,
            self.calls + other.calls,
        )


@dataclass(frozen=True)
class Description:
    """The description of a target before it is explored.

    Attributes:
        unsupported: operations that it does not offer.
        refused: why it cannot be explored; empty if it can.
        instrumented: the modules that are rewritten: each of their accesses is observed.
        virtual: the unchanged packages that run on virtual threads and locks: nothing else of them is observed.
        opaque: other packages that it reaches, with or without Python source: nothing of them is observed.
        partly_in_c: the packages among these that are in Python except for some files, each with the first such file.
        left_out: for a class, the methods that are not called, and why.
        loaded: (path, SHA-256) of each of the user's modules that is loaded at once: to be instrumented, or to define
            correct results.
        tested: version and file of the code under test, from :func:`kcache_stress.modules.tested_code.describe_tested`.
        calls: for a class, the names of all calls.
    """

    unsupported: tuple[str, ...] = ()
    refused: str = ""
    instrumented: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    partly_in_c: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    loaded: frozenset[tuple[str, str]] = frozenset()
    tested: str = ""
    calls: tuple[str, ...] = ()


def uncalled(left_out: Iterable[str]) -> tuple[str, ...]:
    """Return the names of a class's methods that are not called although the user did not leave them out.

    A name without a reason was left out by the user; ``what draw returns (...)`` refers to a method that is called.
    """
    return tuple(text.partition("(")[0].strip() for text in left_out if "(" in text and not text.startswith("what "))


@dataclass(frozen=True)
class Run:
    """A run that contributed to a certificate.

    Attributes:
        began: the start of the run.
        seconds: the duration of the run.
        programs: the number of programs that it explored.
    """

    began: datetime
    seconds: float
    programs: int


@dataclass(frozen=True)
class Part:
    """The progress of a verification, as far as a later run needs it to continue.

    Attributes:
        setting: the settings that must be equal in the later run: name -> text.
        explored: the explored programs, by their positions in the enumeration.
        programs: the number of programs of the bound; ``None`` if they were not counted.
        signature: of the enumeration.
        tally: the sum of their results.
        runs: all runs.
        loaded: (path, SHA-256) of each of the user's modules that was loaded at once.
    """

    setting: Mapping[str, str]
    explored: Ranges = ()
    programs: int | None = None
    signature: Signature = NOTHING_SIGNED
    tally: Tally = field(default_factory=Tally)
    runs: tuple[Run, ...] = ()
    loaded: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Certificate:
    """The result of small-scope verification.

    Attributes:
        target: name of the implementation.
        bound: the most threads, and the most operations of each.
        type: of the target.
        semantics: the generation of client-go that defines correct results; ``None`` for other types.
        granularity: where threads were switched.
        part: the progress of all runs.
        description: the description of the target.
        waiting: the number of programs of the bound that were left out, because a thread may wait forever.
    """

    target: str
    bound: Bound
    type: str
    semantics: Semantics | None
    granularity: str
    part: Part
    description: Description
    waiting: int = 0

    @property
    def programs(self) -> int | None:
        """The number of programs of the bound; ``None`` if they could not be counted in time."""
        return self.part.programs

    @property
    def tally(self) -> Tally:
        """The sum of the results."""
        return self.part.tally

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that contributed to it."""
        return self.part.runs

    @property
    def seconds(self) -> float:
        """The duration of all runs together."""
        return sum(run.seconds for run in self.runs)

    @property
    def is_continuable(self) -> bool:
        """Whether a later run can explore the remaining programs."""
        is_over = self.tally.finding is not None or self.tally.are_sources_changed or bool(self.description.refused)
        return not is_over and self.tally.programs != self.programs

    @property
    def status(self) -> Status:
        """OK only if every interleaving of every program was covered."""
        if self.tally.finding is not None:
            return self.tally.finding.status
        return Status.UNKNOWN if self.missing else Status.OK

    @property
    def missing(self) -> str:
        """The reason why it proves nothing although there is no finding; empty if it is a proof."""
        if self.tally.is_interrupted:
            return "it was interrupted"
        if self.tally.are_sources_changed:
            return "the sources were changed while it ran; run it again"
        if self.programs == 0:
            return "no program of the bound uses only calls that the target offers"
        if self.tally.exhausted == self.programs:
            if not self.description.calls:
                return without_calls(self.description.left_out)
            by_threads = ((f"{name} by threads", why) for name, why in self.methods.not_by_threads)
            return without_calls([f"{name} ({why})" for name, why in (*self.methods.missing, *by_threads)])
        if self.tally.lost:
            return f"the executor lost work: {self.tally.lost}"
        advice = self.tally.note or f"{self.tally.most_orders}increase the budget or reduce the bound"
        return f"not all interleavings were covered; {advice}"

    @property
    def methods(self) -> MethodsReport:
        """The methods of a class that were called and judged, and the others, each with the reason."""
        return methods_report(self.description.calls, self.description.left_out, [by_call(self.tally.calls)])

    @property
    def reduction(self) -> str:
        """The method by which equivalent interleavings were left out."""
        return "source-DPOR with sleep sets, equal threads in order" if self.granularity == "free" else "source-DPOR"


def without_calls(omitted: Sequence[str]) -> str:
    """Return why a proof does not cover some methods, see :func:`uncalled`; empty if there are no such methods."""
    names = uncalled(omitted)
    if not names or any(INCOMPARABLE in text for text in omitted):
        return f"no result was compared: {', '.join(omitted)}" if names else ""
    options = " ".join(f"--leave-out {name}" for name in names)
    them = "it" if len(names) == 1 else "them"
    return f"{' and '.join(names)} never returned, so nothing is proved about {them}; to accept that: {options}"
