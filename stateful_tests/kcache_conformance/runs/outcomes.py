"""Outcomes of exploring: sums over programs, what is known of a target, and certificates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from kcache_model.bound import Bound
from kcache_model.finding import Finding
from kcache_model.indexers.items import Semantics
from kcache_model.verdict import Status

from ..symptoms import Known

if TYPE_CHECKING:
    from kcache_stress.target.explore import Explored

_MOST_NOTES: Final = 20

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers in ascending order, as ranges: the first of each, and the one behind its last."""

Signature: TypeAlias = tuple[int, str]
"""A number of programs, and a digest of so many that an enumeration begins with."""

NOTHING_SIGNED: Final[Signature] = (0, hashlib.sha256().hexdigest())


@dataclass(frozen=True)
class Tally:
    """What exploring some programs gave.

    Attributes:
        programs: how many were explored.
        exhausted: of how many all interleavings were covered.
        executions: how many executions it took.
        seconds: how long, of one process.
        findings: what was found wrong, of distinct symptoms.
        refused: why the target cannot be explored; empty if it can.
        notes: why some searches were no proof, if the strategy could tell; each once, the first few.
        audited: how many executions at opcodes the exhaustive searches were compared with.
        sources: (path, SHA-256) of each instrumented module.
        is_interrupted: whether the user stopped it.
        lost: why some programs were not explored although an executor had them; empty if it did its work.
    """

    programs: int = 0
    exhausted: int = 0
    executions: int = 0
    seconds: float = 0.0
    findings: tuple[Finding, ...] = ()
    refused: str = ""
    notes: tuple[str, ...] = ()
    audited: int = 0
    sources: frozenset[tuple[str, str]] = frozenset()
    is_interrupted: bool = False
    lost: str = ""

    @property
    def finding(self) -> Finding | None:
        """The first thing found wrong."""
        return next(iter(self.findings), None)

    @property
    def note(self) -> str:
        """Why the first search that was no proof was none; empty if all were."""
        return next(iter(self.notes), "")

    @property
    def are_sources_changed(self) -> bool:
        """Whether some module was another one in later processes."""
        return len({path for path, _ in self.sources}) < len(self.sources)

    def plus(self, explored: Explored) -> Tally:
        """With one more program."""
        findings = () if explored.finding is None else (explored.finding,)
        one = Tally(1, int(explored.is_exhausted), explored.executions, findings=findings)
        notes = (explored.note,) if explored.note else ()
        return self.merged(replace(one, notes=notes, audited=explored.audited))

    def merged(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            self.programs + other.programs,
            self.exhausted + other.exhausted,
            self.executions + other.executions,
            self.seconds + other.seconds,
            Known().adding_all((*self.findings, *other.findings)).findings,
            self.refused or other.refused,
            tuple(dict.fromkeys((*self.notes, *other.notes)))[:_MOST_NOTES],
            self.audited + other.audited,
            self.sources | other.sources,
            self.is_interrupted or other.is_interrupted,
            self.lost or other.lost,
        )


@dataclass(frozen=True)
class Description:
    """What is known of a target before it is explored.

    Attributes:
        unsupported: operations that it does not offer.
        refused: why it cannot be explored; empty if it can.
        instrumented: the modules that are rewritten: each of their accesses is seen.
        virtual: the packages that run on virtual threads and locks as they are: nothing else of them is seen.
        opaque: other packages that it reaches, without or with Python source: nothing of them is seen.
        partly_in_c: those of them that are in Python but for some files, each with the first of these.
        left_out: of a class, the methods that are not called, and why.
        loaded: (path, SHA-256) of each of the user's modules that is loaded at once: instrumented, or to say what is
            right.
        tested: version and file of the code under test, from :func:`kcache_stress.modules.tested_code.describe_tested`.
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


def uncalled(left_out: Iterable[str]) -> tuple[str, ...]:
    """Of what is left out of a class, the names of methods that are not called, and not for having been asked for.

    A name alone was asked for; of those with a reason, ``what draw returns (...)`` is called.
    """
    return tuple(text.partition("(")[0].strip() for text in left_out if "(" in text and not text.startswith("what "))


@dataclass(frozen=True)
class Run:
    """One of the runs in which a certificate was made.

    Attributes:
        began: when it was begun.
        seconds: how long it took.
        programs: how many it explored.
    """

    began: datetime
    seconds: float
    programs: int


@dataclass(frozen=True)
class Part:
    """How far a verification has come, as far as a later run needs to know it to go on.

    Attributes:
        setting: what must be the same there: name -> text.
        done: the programs that were explored, by their positions in the enumeration.
        programs: how many the bound has; ``None`` if they were not counted.
        signature: of the enumeration.
        tally: what exploring them gave.
        runs: one by one.
        loaded: (path, SHA-256) of each of the user's modules that was loaded at once.
    """

    setting: Mapping[str, str]
    done: Ranges = ()
    programs: int | None = None
    signature: Signature = NOTHING_SIGNED
    tally: Tally = field(default_factory=Tally)
    runs: tuple[Run, ...] = ()
    loaded: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Certificate:
    """What small-scope verification has shown.

    Attributes:
        target: name of the implementation.
        bound: threads and operations of each, at most.
        type: of the target.
        semantics: which generation of client-go decides; ``None`` for types without such.
        granularity: where threads were switched.
        part: how far it has come, in all runs.
        description: what the target is made of.
    """

    target: str
    bound: Bound
    type: str
    semantics: Semantics | None
    granularity: str
    part: Part
    description: Description

    @property
    def programs(self) -> int | None:
        """How many programs the bound has; ``None`` if they could not be counted in time."""
        return self.part.programs

    @property
    def tally(self) -> Tally:
        """What exploring them gave."""
        return self.part.tally

    @property
    def runs(self) -> tuple[Run, ...]:
        """In which it was made."""
        return self.part.runs

    @property
    def seconds(self) -> float:
        """How long all runs took."""
        return sum(run.seconds for run in self.runs)

    @property
    def is_continuable(self) -> bool:
        """Whether a later run can explore what is left."""
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
        """Why it proves nothing although nothing was found; empty if it does."""
        if self.tally.is_interrupted:
            return "it was interrupted"
        if self.tally.are_sources_changed:
            return "the sources were changed while it ran; run it again"
        if self.programs == 0:
            return "the bound has no program of calls that the target offers"
        if self.tally.exhausted == self.programs:
            return without_calls(uncalled(self.description.left_out))
        if self.tally.lost:
            return f"the executor lost work: {self.tally.lost}"
        advice = self.tally.note or "give it a larger budget or a smaller bound"
        return f"not everything was covered; {advice}"

    @property
    def reduction(self) -> str:
        """How interleavings that do the same were left out."""
        return "source-DPOR with sleep sets, equal threads in order" if self.granularity == "free" else "source-DPOR"


def without_calls(names: Sequence[str]) -> str:
    """Why a proof is none that says nothing of some methods; empty if there are none."""
    if not names:
        return ""
    options = " ".join(f"--leave-out {name}" for name in names)
    them = "it" if len(names) == 1 else "them"
    return f"{' and '.join(names)} never returned, so nothing is proved of {them}; to accept that: {options}"
