"""The suite: all phases within one budget, the implementation in a process or thread of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kcache_conformance.isolation import raise_if_failed
from kcache_model.finding import Finding
from kcache_model.indexers.target import Target
from kcache_model.verdict import Status

from .events import INDISPENSABLE, Event, FindingMade, Listener, PhaseFinished, PhaseStarted, SuiteResult, TargetLoaded
from .jobs import run_phases_in_child, run_phases_in_thread
from .suite_options import SuiteOptions
from .target_type import Stopped
from .target_types import target_type_named

__all__ = ["SuiteOptions", "run_suite"]


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
    target_type = target_type_named(options.kind)
    options = replace(options, phases=options.phases or tuple(target_type.phases))
    log = _Log(listener)
    if isinstance(target, str):
        end = run_phases_in_child(target, options, log)
    else:
        end = run_phases_in_thread(target, options, log)
    finding = log.finding
    raise_if_failed(end)
    if end.how in ("hang", "crash") and finding is None:
        spec = target if isinstance(target, str) else None
        finding = target_type.stopped(Stopped(spec, end.how == "hang", log.phase, end.note, end.message, options))
    if finding is not None and finding.program is not None and isinstance(target, str):
        # The program as it ran in the child, so that another one can do the same.
        seed = target_type.hash_seed(options.seed)
        finding = replace(finding, program=finding.program.with_hash_seed(seed))
    return log.result(options, finding, time.monotonic() - began)


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
