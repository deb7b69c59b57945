"""Stress: random programs on real threads, round after round, each judged."""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kcache_model.finding import Finding
from kcache_model.items import Semantics
from kcache_model.program import Program
from kcache_model.target import Target
from kcache_model.watch import Unwatched, Watch

from .crew import Crew
from .judge import Answer, judge
from .noise import Noise
from .recorder import Recording, record
from .workload import Shape, random_program

_SWITCH_INTERVAL_SECONDS = 1e-6

_NOISE_RATES = (0.003, 0.01, 0.03)
"""Naps per bytecode, one rate a round: rare ones let whole calls pass, frequent ones cut into every step."""

_QUIET_SHARE = 0.5 if not getattr(sys, "_is_gil_enabled", lambda: True)() else 0.05
"""Share of the rounds without noise: where threads run in parallel they meet without help."""

Coverage = Counter[tuple[str, str]]
"""(operation, ``"ok"`` or the kind of error) -> how often it happened."""


@dataclass(frozen=True)
class StressOptions:
    """How long and how hard.

    Attributes:
        seconds: when to stop; checked between rounds.
        rounds: the most rounds; ``None`` for no limit.
        seed: decides the programs. It cannot decide the schedule: real threads run as they please.
        strict_errors: ask for kcache's error types.
        patience_seconds: how long no call may return before a round counts as hung.
        shape: how large programs are.
    """

    seconds: float = 10.0
    rounds: int | None = None
    seed: int = 0
    strict_errors: bool = False
    patience_seconds: float = 3.0
    shape: Shape = field(default_factory=Shape)


@dataclass
class StressReport:
    """What was done and found.

    Attributes:
        finding: the first thing found wrong; stress stops there.
        rounds: rounds that were judged.
        undecided: rounds that the judge could not decide within its budget.
        overlapping: rounds in which calls of different threads overlapped.
        coverage: operations by outcome.
    """

    finding: Finding | None = None
    rounds: int = 0
    undecided: int = 0
    overlapping: int = 0
    coverage: Coverage = field(default_factory=Counter)


def stress(
    target: Target,
    semantics: Semantics,
    options: StressOptions,
    watch: Watch | None = None,
    on_round: Callable[[StressReport], None] = lambda _: None,
) -> StressReport:
    """Run random programs until the time is up or something is found.

    Args:
        target: the implementation. What its factory raises passes through.
        semantics: which generation of client-go decides.
        options: how long and how hard.
        watch: told of each program before it runs, so that a crash can be laid at its door.
        on_round: told after each round.
    """
    seeds = random.Random(options.seed)
    programs = iter(lambda: random_program(seeds.getrandbits(48), target, semantics, options.shape), None)
    return _run(target, programs, options, seeds, watch or Unwatched(), on_round)


def repeat(
    target: Target,
    program: Program,
    options: StressOptions,
    watch: Watch | None = None,
    on_round: Callable[[StressReport], None] = lambda _: None,
) -> StressReport:
    """Run one program again and again until the time is up or something is found."""
    seeds = random.Random(options.seed)
    return _run(target, itertools.repeat(program), options, seeds, watch or Unwatched(), on_round)


def _run(
    target: Target,
    programs: Iterator[Program],
    options: StressOptions,
    seeds: random.Random,
    watch: Watch,
    on_round: Callable[[StressReport], None],
) -> StressReport:
    report = StressReport()
    deadline = time.monotonic() + options.seconds
    crew = Crew(max(options.shape.threads[1], 8))
    with _tiny_switch_interval():
        while time.monotonic() < deadline and (options.rounds is None or report.rounds < options.rounds):
            program = next(programs)
            quiet = seeds.random() < _QUIET_SHARE
            noise = None if quiet else Noise(seeds.getrandbits(32), seeds.choice(_NOISE_RATES))
            watch.begin(program)
            recording = record(target, program, crew, noise, options.patience_seconds)
            watch.rest()
            judgement = judge(program, recording, strict_errors=options.strict_errors)
            _count(report, recording, judgement.answer)
            on_round(report)
            if judgement.finding is not None:
                report.finding = judgement.finding
                break
    crew.close()
    return report


def _count(report: StressReport, recording: Recording, answer: Answer) -> None:
    report.rounds += 1
    report.undecided += answer is Answer.UNDECIDED
    calls = [call for call in recording.history.calls if call.thread >= 0]
    report.overlapping += any(
        before.thread != after.thread and not before.precedes(after) for before, after in itertools.pairwise(calls)
    )
    for call in calls:
        if call.outcome is not None:
            error = call.outcome.error
            report.coverage[call.operation.name.value, "ok" if error is None else error.value] += 1


@contextmanager
def _tiny_switch_interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
