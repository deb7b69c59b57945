"""Outcomes of exploring: sums over programs, what is known of a target, and certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kcache_model.bound import Bound
from kcache_model.finding import Finding
from kcache_model.indexers.items import Semantics
from kcache_model.verdict import Status

if TYPE_CHECKING:
    from kcache_stress.explorer.explore import Explored

_MOST_NOTES: Final = 20


@dataclass(frozen=True)
class Tally:
    """What exploring some programs gave.

    Attributes:
        programs: how many were explored.
        exhausted: of how many all interleavings were covered.
        executions: how many executions it took.
        seconds: how long, of one process.
        finding: the first thing found wrong.
        refused: why the target cannot be explored; empty if it can.
        notes: why some searches were no proof, if the strategy could tell; each once, the first few.
        audited: how many executions at opcodes the exhaustive searches were compared with.
        sources: (path, SHA-256) of each instrumented module.
        is_interrupted: whether the user stopped it.
    """

    programs: int = 0
    exhausted: int = 0
    executions: int = 0
    seconds: float = 0.0
    finding: Finding | None = None
    refused: str = ""
    notes: tuple[str, ...] = ()
    audited: int = 0
    sources: frozenset[tuple[str, str]] = frozenset()
    is_interrupted: bool = False

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
        one = Tally(1, int(explored.is_exhausted), explored.executions, finding=explored.finding)
        notes = (explored.note,) if explored.note else ()
        return self.merged(replace(one, notes=notes, audited=explored.audited))

    def merged(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(
            self.programs + other.programs,
            self.exhausted + other.exhausted,
            self.executions + other.executions,
            self.seconds + other.seconds,
            self.finding or other.finding,
            self.refused or other.refused,
            tuple(dict.fromkeys((*self.notes, *other.notes)))[:_MOST_NOTES],
            self.audited + other.audited,
            self.sources | other.sources,
            self.is_interrupted or other.is_interrupted,
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
    """

    unsupported: tuple[str, ...] = ()
    refused: str = ""
    instrumented: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    partly_in_c: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Certificate:
    """What small-scope verification has shown.

    Attributes:
        target: name of the implementation.
        bound: threads and operations of each, at most.
        type: of the target.
        semantics: which generation of client-go decides; ``None`` for types without such.
        granularity: where threads were switched.
        programs: how many programs the bound has; ``None`` if they could not be counted in time.
        tally: what exploring them gave.
        began: when it was begun.
        seconds: how long it took.
        description: what the target is made of.
    """

    target: str
    bound: Bound
    type: str
    semantics: Semantics | None
    granularity: str
    programs: int | None
    tally: Tally
    began: datetime
    seconds: float
    description: Description

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
            return ""
        advice = self.tally.note or "give it a larger budget or a smaller bound"
        return f"not everything was covered; {advice}"

    @property
    def reduction(self) -> str:
        """How interleavings that do the same were left out."""
        return "source-DPOR with sleep sets, equal threads in order" if self.granularity == "free" else "source-DPOR"
