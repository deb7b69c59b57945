"""The suite: all phases within one budget, the implementation in a process or thread of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from kcache_conformance.isolation import raise_if_failed
from kcache_model.finding import Finding
from kcache_model.indexers.target import Target
from kcache_model.verdict import Status
from kcache_stress.interruption import Interrupted

from .events import (
    INDISPENSABLE,
    Event,
    FindingAdded,
    FindingMade,
    Listener,
    PhaseFinished,
    PhaseProgress,
    PhaseStarted,
    SuiteResult,
    TargetLoaded,
)
from .jobs import run_phases_in_child, run_phases_in_thread
from .replay_request import ReplayRequest
from .saved_failures import TargetFailures, show_again
from .suite_options import SuiteOptions
from .symptoms import Known, weighed
from .target_type import Stopped, TargetType
from .target_types import target_type_named

__all__ = ["SuiteOptions", "run_suite"]

SAVED: Final = "saved"
"""What findings of earlier runs that still fail say for their phase."""

_LEAST_SHARE: Final = 0.2
"""Of the budget, for the phases behind one that ended the process, or behind saved failures."""

_SAVED_SHARE: Final = 0.25
"""Of the budget, for saved failures."""


def run_suite(
    target: str | Target | Callable[..., Any],
    options: SuiteOptions,
    listener: Listener = lambda _: None,
    saved: TargetFailures | None = None,
) -> SuiteResult:
    """Run the phases one after another, and collect one finding for each distinct symptom.

    Args:
        target: the name of a factory that a child process can load, or a target that must run in this process: for
            another kind than Indexers, its factory. Only a child can be ended if it spins without giving up the
            interpreter, or survived if it crashes.
        options: what to run.
        listener: told what happens.
        saved: failures of earlier runs of a target with a name, which are shown again first; what still fails counts as
            found.

    Raises:
        TargetError: the target cannot be loaded or is no Indexer.
        HarnessError: the harness failed.
    """
    __tracebackhide__ = True  # pytest shows what it raises
    began = time.monotonic()
    target_type = target_type_named(options.kind)
    options = replace(options, phases=options.phases or tuple(target_type.phases))
    log = _Log(listener, target_type, options)
    if saved is not None and saved.requests and isinstance(target, str):
        log.show_again(saved, target)
    spent = time.monotonic() - began
    left = replace(options, budget_seconds=max(_LEAST_SHARE * options.budget_seconds, options.budget_seconds - spent))
    while not log.is_enough:
        try:
            if isinstance(target, str):
                end = run_phases_in_child(target, left, log.known, log)
            else:
                end = run_phases_in_thread(target, left, log.known, log)
        except Interrupted:
            log.interrupted()
            break
        if end.how == "target_error" and log.has_worked and isinstance(target, str):
            log.became_unusable(end.message)
        else:
            raise_if_failed(end)
            if end.how not in ("hang", "crash"):
                break
            spec = target if isinstance(target, str) else None
            log.ended(Stopped(spec, end.how == "hang", log.phase, end.note, end.message, options))
        # The phases behind the one that ended the process, with what is left of the time.
        phases = tuple(phase for phase in left.phases if phase not in log.finished and phase != log.phase)
        if not phases or log.is_enough:
            break
        seconds = max(_LEAST_SHARE * options.budget_seconds, options.budget_seconds - (time.monotonic() - began))
        left = replace(options, phases=phases, budget_seconds=seconds)
    return log.result(time.monotonic() - began, has_name=isinstance(target, str))


class _Log:
    """Passes events on and keeps what the result needs."""

    def __init__(self, listener: Listener, target_type: TargetType, options: SuiteOptions) -> None:
        self._listener = listener
        self._type = target_type
        self._options = options
        self._phases: list[PhaseFinished] = []
        self._not_tested: tuple[str, ...] = ()
        self._provisional: Finding | None = None
        self.phase = options.phases[0]
        self.known = Known(target_type.rules)
        self._saved: tuple[Finding, ...] = ()
        self._unsettled: tuple[ReplayRequest, ...] = ()
        self._so_far: dict[str, PhaseProgress] = {}
        self._is_interrupted = False

    def __call__(self, event: Event) -> None:
        match event:
            case TargetLoaded():
                self._not_tested = event.not_tested
            case PhaseStarted():
                self.phase = event.phase
            case PhaseProgress():
                self._so_far[event.phase] = event
            case FindingMade():
                self._provisional = event.finding
            case FindingAdded():
                self._provisional = None
                self.known = self.known.adding(event.finding)
            case PhaseFinished():
                self._provisional = None
                self._phases.append(event)
        self._listener(event)

    def show_again(self, saved: TargetFailures, target: str) -> None:
        """Saved failures come first, within their share of the budget."""
        seconds = _SAVED_SHARE * self._options.budget_seconds
        self._not_tested = saved.not_tested  # as long as the target is not loaded, for a run may end here
        self(PhaseStarted(SAVED, seconds))
        again = show_again(saved, target, self._options, seconds=seconds)
        for finding in again.findings:
            found = weighed(replace(finding, phase=SAVED), self._type.rules, self._options)
            if not self.known.has(found):
                self.known = self.known.adding(found)
        self._saved = self.known.findings
        first = next(iter(self._saved), None)
        self._unsettled = again.unsettled
        counts = {"programs": again.count, **({"undecided": len(again.unsettled)} if again.unsettled else {})}
        self(PhaseFinished(SAVED, counts, finding=first, findings=len(self._saved)))
        self.phase = self._options.phases[0]

    @property
    def finished(self) -> frozenset[str]:
        """The phases that ran to their end."""
        return frozenset(phase.phase for phase in self._phases)

    @property
    def is_enough(self) -> bool:
        """Whether as much was found as is wanted."""
        wrong = [finding for finding in self.known.findings if finding.status is Status.VIOLATION]
        return len(wrong) >= self._options.most_findings

    def ended(self, stopped: Stopped) -> None:
        """The target hung, or ended its process: while a finding was made smaller, that is what is told."""
        finding, is_new = self._added(self._provisional or self._type.stopped(stopped))
        self(PhaseFinished(self.phase, {}, finding=finding, findings=int(is_new)))

    @property
    def has_worked(self) -> bool:
        """Whether a phase has done something: from then on, no error of the target takes that away."""
        return bool(self._phases) or any(any(done.counts.values()) for done in self._so_far.values())

    def became_unusable(self, why: str) -> None:
        """The target turned out to be unusable in a phase, which ends without a verdict; the others go on."""
        done = self._so_far.get(self.phase)
        self(PhaseFinished(self.phase, {} if done is None else done.counts, inconclusive=" ".join(why.split())))

    def interrupted(self) -> None:
        """The user stopped the run: what was done of each phase is told, and what was being made smaller."""
        self._is_interrupted = True
        if self._provisional is not None:
            self._added(self._provisional)
        for phase in self._options.phases:
            done = self._so_far.get(phase)
            if done is not None and phase not in self.finished:
                found = [finding for finding in self.known.findings if finding.phase == phase]
                self(
                    PhaseFinished(
                        phase,
                        done.counts,
                        done.coverage,
                        inconclusive="it was interrupted",
                        finding=next(iter(found), None),
                        overlapped=done.overlapped,
                        findings=len(found),
                    )
                )

    def _added(self, finding: Finding) -> tuple[Finding, bool]:
        """A finding as it is told, which is kept if it is new; whether it is."""
        finding = weighed(replace(finding, phase=finding.phase or self.phase), self._type.rules, self._options)
        is_new = not self.known.has(finding)
        if is_new:
            self.known = self.known.adding(finding)
        return finding, is_new

    def result(self, seconds: float, *, has_name: bool) -> SuiteResult:
        """The outcome of the whole."""
        reasons = [f"{phase.phase}: {phase.inconclusive}" for phase in self._phases if phase.inconclusive]
        reasons += [
            f"{phase}: it did not run to its end" for phase in self._options.phases if phase not in self.finished
        ]
        run = [phase for phase in self._phases if phase.phase != SAVED]
        refused = [phase for phase in run if phase.refused]
        if len(refused) < len(run):
            advice = "; to do without it on purpose: --without explorer, or phases=... in a test"
            reasons += [f"{one.phase}: {one.refused}{advice}" for one in refused if one.phase in INDISPENSABLE]
        else:
            reasons += [f"{phase.phase}: {phase.refused}" for phase in refused]
        seed = self._type.hash_seed(self._options.seed)
        findings = sorted(self.known.findings, key=_urgency)
        if has_name:  # the programs as they ran in the child, so that another one can do the same
            findings = [
                replace(finding, program=finding.program.with_hash_seed(seed))
                if finding.program is not None and finding not in self._saved
                else finding
                for finding in findings
            ]
        statuses = {finding.status for finding in findings}
        if Status.VIOLATION in statuses:
            status, reasons = Status.VIOLATION, []
        else:
            status = Status.UNKNOWN if reasons or Status.UNKNOWN in statuses else Status.OK
        return SuiteResult(
            status,
            tuple(findings),
            tuple(self._phases),
            self._not_tested,
            tuple(reasons),
            seconds,
            self._unsettled,
            self._is_interrupted,
        )


def _urgency(finding: Finding) -> tuple[bool, bool, int]:
    """What to mend first: what one thread shows, in small programs; advice last."""
    program = finding.program
    size = 0 if program is None or not hasattr(program, "operations") else len(list(program.operations()))
    return finding.is_advice or finding.is_waived, bool(getattr(program, "threads", ())), size
