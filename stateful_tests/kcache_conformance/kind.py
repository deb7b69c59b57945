"""A kind of target: what the suite needs to know to hold one against its specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kcache_model.finding import Finding
from kcache_model.watch import Unwatched, Watch
from kcache_stress.explorer.replaying import Replayed

from .phases import PhaseOutcome


@dataclass(frozen=True)
class KindContext:
    """What a phase works with.

    Attributes:
        target: what the kind's ``load`` made.
        spec: the name of the target, by which a private copy of it can be loaded; ``None`` if it has none.
        strict_errors: ask for kcache's error types.
        instrument: further packages that the explorer instruments.
        seed: of everything random.
        seconds: how long the phase may search.
        patience_seconds: how long one call may take.
        watch: told of everything that the target is asked, in notes that the kind can read again.
        on_progress: told how far the phase is, 0 to 1, and of its counts.
        on_finding: told of a finding before it is made smaller, which may take a while or end the process.
    """

    target: Any
    spec: str | None = None
    strict_errors: bool = False
    instrument: tuple[str, ...] = ()
    seed: int = 0
    seconds: float = 10.0
    patience_seconds: float = 3.0
    watch: Watch = field(default_factory=Unwatched)
    on_progress: Callable[[float, Mapping[str, int]], None] = lambda _fraction, _counts: None
    on_finding: Callable[[Finding], None] = lambda _: None


@dataclass(frozen=True)
class Stopped:
    """A call that never returned, or that ended the process of the target.

    Attributes:
        spec: the name of the target.
        is_hang: whether it never returned.
        phase: which phase it was in.
        note: what the target was being asked, in the words of the phase.
        detail: the stacks, or the end of the error output.
        patience_seconds: how long was waited.
        strict_errors: how the target was tested.
        instrument: further packages that the explorer instrumented.
    """

    spec: str
    is_hang: bool
    phase: str
    note: str
    detail: str
    patience_seconds: float
    strict_errors: bool
    instrument: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of target.

    All its functions run in a child process, but for ``stopped`` and ``target_of_word``.

    Attributes:
        name: what ``--kind`` takes.
        summary: what such a target is, in a few words.
        reference: the name of kcache's own.
        phases: the names of its phases, in order; what is not open-ended comes first.
        load: the target of a name, or of a factory. Raises TargetError.
        not_tested: what the target does not offer.
        run_phase: runs one phase. A phase stops at its first finding, and makes it as small as it can.
        stopped: the finding for a target that hung or crashed.
        prefix: how the words begin that its findings carry as ``schedule``.
        replay: shows again what such a word stands for.
        target_of_word: the name of the target in such a word. Raises FormatError.
    """

    name: str
    summary: str
    reference: str
    phases: tuple[str, ...]
    load: Callable[[Any], Any]
    not_tested: Callable[[Any], tuple[str, ...]]
    run_phase: Callable[[str, KindContext], PhaseOutcome]
    stopped: Callable[[Stopped], Finding]
    prefix: str
    replay: Callable[[str, Watch], Replayed]
    target_of_word: Callable[[str], str]
