"""The suite: all phases within one budget, the implementation in a process or thread of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from kcache_model.finding import Finding, FindingKind
from kcache_model.items import Semantics
from kcache_model.minimise import MinimiseBudget, minimise
from kcache_model.operations import OperationName
from kcache_model.program import Program, hash_seed
from kcache_model.render import operation_text
from kcache_model.target import Target
from kcache_model.verdict import Status
from kcache_stress.isolation import JobEnd, raise_if_failed

from .events import INDISPENSABLE, Event, FindingMade, Listener, PhaseFinished, PhaseStarted, SuiteResult, TargetLoaded
from .jobs import Arguments, run_phases_in_child, run_phases_in_thread, run_program_in_child
from .kind_jobs import run_kind_in_child, run_kind_in_thread, stopped_finding
from .kinds import INDEXER, KINDS
from .phases import PHASES


@dataclass(frozen=True)
class SuiteOptions:
    """What to run and how long.

    Attributes:
        semantics: which generation of client-go decides.
        strict_errors: ask for kcache's error types.
        strict: ask for more than client-go promises, see :class:`~kcache_model.target.Target`.
        seed: of everything random.
        budget_seconds: for all phases together. A finding ends the run early.
        patience_seconds: how long one call of the implementation may take.
        phases: which phases to run, of :data:`~.phases.PHASES`.
        threads: how many threads run at the same time under stress; ``None`` for a few, now more and now fewer.
        kind: of the target; one of :data:`~.kinds.KIND_NAMES`.
        instrument: further packages that the explorer instruments.
    """

    semantics: Semantics = Semantics.CLASSIC
    strict_errors: bool = False
    strict: bool = False
    seed: int = 0
    budget_seconds: float = 30.0
    patience_seconds: float = 3.0
    phases: tuple[str, ...] = PHASES
    threads: int | None = None
    kind: str = INDEXER
    instrument: tuple[str, ...] = ()


_MINIMISE = MinimiseBudget(seconds=10.0, attempts=40)
_MINIMISE_PATIENCE_SECONDS = 0.5


def run_suite(
    target: str | Target | Callable[..., Any], options: SuiteOptions, listener: Listener = lambda _: None
) -> SuiteResult:
    """Run the phases one after another until the first finding.

    Args:
        target: the name of a factory that a child process can load, or a target that must run in this process: for
            another kind than Indexers, its factory. Only a child can be ended if it spins without giving up the
            interpreter, or survived if it crashes.
        options: what to run.
        listener: told what happens.

    Raises:
        TargetError: the target cannot be loaded or is no Indexer.
        HarnessError: the harness failed.
    """
    began = time.monotonic()
    log = _Log(listener)
    arguments = {**asdict(options), "semantics": options.semantics.value}
    end = _run(target, arguments, log)
    finding = log.finding
    raise_if_failed(end)
    match end.how:
        case "hang" | "crash" if finding is None and options.kind != INDEXER:
            name = target if isinstance(target, str) else "<local factory>"
            finding = stopped_finding(KINDS[options.kind], name, arguments, end, log.phase)
        case "hang" | "crash" if finding is None:
            finding = _stopped(target, options, end, log.phase)
    if finding is not None and finding.program is not None and isinstance(target, str):
        finding = replace(finding, program=_seeded(finding.program, options))
    return log.result(options, finding, time.monotonic() - began)


def _run(target: str | Target | Callable[..., Any], arguments: Arguments, log: _Log) -> JobEnd:
    if arguments["kind"] == INDEXER:
        if isinstance(target, str):
            return run_phases_in_child(target, arguments, log)
        assert isinstance(target, Target)
        return run_phases_in_thread(target, arguments, log)
    if isinstance(target, str):
        return run_kind_in_child(target, arguments, log)
    assert callable(target)
    return run_kind_in_thread(target, arguments, log)


def _stopped(target: object, options: SuiteOptions, end: JobEnd, phase: str) -> Finding:
    """The finding for a call that never returned, or that ended the process, with as small a program as possible."""
    program = _seeded(end.program or Program(semantics=options.semantics), options)
    if isinstance(target, str) and program.is_sequential and len(program) > 1:

        def fails(candidate: Program) -> bool:
            ended = run_program_in_child(
                target,
                candidate,
                patience_seconds=_MINIMISE_PATIENCE_SECONDS,
                strict_errors=options.strict_errors,
                strict=options.strict,
            )
            return ended.how == end.how and _last(ended.program) == _last(program)

        program = minimise(program, fails, _MINIMISE)
    steps = list(program.operations())
    last = operation_text(steps[-1]) if steps and program.is_sequential else "a call"
    if end.how == "hang":
        summary = f"{last} did not return within {options.patience_seconds:g} s"
        return Finding(FindingKind.HANG, phase, summary, program, detail=end.message)
    return Finding(FindingKind.CRASH, phase, f"{last} ended the process", program, detail=end.message)


def _seeded(program: Program, options: SuiteOptions) -> Program:
    """The program as it ran in the child, so that another one can do the same."""
    return replace(program, hash_seed=hash_seed(options.seed))


def _last(program: Program | None) -> OperationName | None:
    """The call that did not return."""
    return None if program is None or not len(program) else list(program.operations())[-1].name


class _Log:
    """Passes events on and keeps what the result needs."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._phases: list[PhaseFinished] = []
        self._not_tested: tuple[str, ...] = ()
        self.phase = "smoke"
        self.finding: Finding | None = None

    def __call__(self, event: Event) -> None:
        match event:
            case TargetLoaded():
                self._not_tested = event.not_tested
            case PhaseStarted():
                self.phase = event.phase
            case FindingMade():
                self.finding = event.finding
            case PhaseFinished():
                self._phases.append(event)
                self.finding = event.finding or self.finding
        self._listener(event)

    def result(self, options: SuiteOptions, finding: Finding | None, seconds: float) -> SuiteResult:
        finished = {phase.phase for phase in self._phases}
        reasons = [f"{phase.phase}: {phase.inconclusive}" for phase in self._phases if phase.inconclusive]
        reasons += [f"{phase}: it did not run to its end" for phase in options.phases if phase not in finished]
        refused = [phase for phase in self._phases if phase.refused]
        if len(refused) < len(self._phases):
            advice = "; to do without it on purpose: --without explorer, or phases=... in a test"
            reasons += [f"{one.phase}: {one.refused}{advice}" for one in refused if one.phase in INDISPENSABLE]
        else:
            reasons += [f"{phase.phase}: {phase.refused}" for phase in refused]
        if finding is not None:
            finding = replace(finding, phase=finding.phase or self.phase)
            told = tuple(reasons) if finding.unseen else ()
            return SuiteResult(finding.status, (finding,), tuple(self._phases), self._not_tested, told, seconds)
        status = Status.UNKNOWN if reasons else Status.OK
        return SuiteResult(status, (), tuple(self._phases), self._not_tested, tuple(reasons), seconds)
