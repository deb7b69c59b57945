"""The suite: runs all phases within one budget, with the target in a child process or in a thread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from kcache_conformance.isolation import raise_if_failed
from kcache_model.finding import Finding
from kcache_model.object_types.object_type import ObjectTarget
from kcache_model.verdict import Status
from kcache_stress.interruption import Interrupted

from ..phases.budget_slices import LEAST_PROGRAMS, too_few
from ..phases.suite_options import SuiteOptions
from ..phases.symptoms import KnownFindings, with_severity
from ..results.completeness import methods_report
from ..results.events import (
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
    incomplete_reasons,
)
from ..targets.replay_request import ReplayRequest
from ..targets.target_type import Stopped, TargetType
from ..targets.target_types import target_type_named
from .jobs import run_phases_in_child, run_phases_in_thread
from .repeated_hang import RETURNED, repeated_alone
from .saved_failures import TargetFailures, show_again

__all__ = ["SuiteOptions", "run_suite"]

SAVED: Final = "saved"
"""The name of the phase of findings from earlier runs that still fail."""

_NO_TIME_TO_CONFIRM: Final = "the budget was spent before real threads could run it"

_LEAST_SHARE: Final = 0.2
"""The share of the budget for the phases after one that ended the process, or after saved failures."""

_TELLING_SECONDS: Final = 30.0
"""Seconds for findings that were detected while a test was explored: without an interleaving they explain nothing."""

_MOST_BUDGET: Final = 1.15
"""The multiple of the budget that a phase may use once it has done its minimum of work; then its process is ended."""

_LONG_LOADING: Final = 3.0
"""Seconds. A target that loads faster is loaded again for the remaining phases, however small the budget is."""

_LEAST_LIFE: Final = 7.0
"""Seconds that a child may run, once the target is loaded, before it counts as late: the target is slow, or waits for
the outside world."""


def run_suite(
    target: str | ObjectTarget | Callable[..., Any],
    options: SuiteOptions,
    listener: Listener = lambda _: None,
    saved: TargetFailures | None = None,
    *,
    spent_seconds: float = 0.0,
) -> SuiteResult:
    """Run the phases one after another, and collect one finding for each distinct symptom.

    Args:
        target: the name of a factory that a child process can load, or a target that must run in this process; for
            other types than Indexers, its factory. Only a child process can be ended if it loops without releasing the
            interpreter, and survived if it crashes.
        options: the options of the run.
        listener: receives the events.
        saved: failures of earlier runs of a named target. They are replayed first; failures that remain are findings.
        spent_seconds: the part of the budget that was spent before, to inspect the target.

    Raises:
        TargetError: the target cannot be loaded or is no Indexer.
        HarnessError: the harness failed.
    """
    __tracebackhide__ = True  # pytest shows the exceptions of this function at its caller
    began = time.monotonic() - spent_seconds
    target_type = target_type_named(options.kind)
    options = replace(options, phases=options.phases or tuple(target_type.phases))
    log = _Log(listener, target_type, options)
    if saved is not None and saved.requests and isinstance(target, str):
        log.show_again(saved, target)
    spent = time.monotonic() - began
    remaining = replace(
        options, budget_seconds=max(_LEAST_SHARE * options.budget_seconds, options.budget_seconds - spent)
    )

    def is_over(lived: float) -> bool:
        most = _MOST_BUDGET * options.budget_seconds + options.shrink_seconds
        most *= _programs_for_each_processor() if log.has_to_confirm else 1.0
        most += _TELLING_SECONDS if options.shrink_seconds and log.has_provisional else 0.0
        if time.monotonic() - began <= most:
            return False
        return log.has_done_the_least or log.is_late(lived, _MOST_BUDGET * remaining.budget_seconds)

    while not log.is_enough:
        try:
            if isinstance(target, str):
                end = run_phases_in_child(target, remaining, log.known, log, is_over)
            else:
                end = run_phases_in_thread(target, remaining, log.known, log)
        except Interrupted:
            log.interrupted()
            break
        if end.how == "target_error" and log.has_worked and isinstance(target, str):
            log.became_unusable(end.message)
        elif end.how == "over":
            log.over()
        else:
            raise_if_failed(end)
            if end.how not in ("hang", "crash"):
                break
            spec = target if isinstance(target, str) else None
            log.ended(Stopped(spec, end.how == "hang", log.phase, end.note, end.message, options), end.outside)
        # The phases after the phase that ended the process use the remaining time.
        phases = tuple(phase for phase in remaining.phases if phase not in log.finished and phase != log.phase)
        is_known = end.how == "over" and log.is_violated  # what the others would do changes no verdict any more
        is_too_late = end.how == "over" and log.is_too_late
        if not phases or log.is_enough or is_known or is_too_late:
            break
        log.goes_on_with(phases[0])
        seconds = max(_LEAST_SHARE * options.budget_seconds, options.budget_seconds - (time.monotonic() - began))
        remaining = replace(options, phases=phases, budget_seconds=seconds)
    return log.result(time.monotonic() - began, has_name=isinstance(target, str))


def _programs_for_each_processor() -> float:
    """Return the slowdown caused by other programs: 1.0 on a machine that is not busy."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 1.0
    return max(1.0, load / (os.cpu_count() or 1))


class _Log:
    """The log of a run: forwards events to the listener and stores the data for the result."""

    def __init__(self, listener: Listener, target_type: TargetType, options: SuiteOptions) -> None:
        self._listener = listener
        self._type = target_type
        self._options = options
        self._phases: list[PhaseFinished] = []
        self._not_tested: tuple[str, ...] = ()
        self._tested = ""
        self._calls: tuple[str, ...] = ()
        self._provisional: Finding | None = None
        self.phase = options.phases[0]
        self.known = KnownFindings(target_type.rules)
        self._saved: tuple[Finding, ...] = ()
        self._unsettled: tuple[ReplayRequest, ...] = ()
        self._so_far: dict[str, PhaseProgress] = {}
        self._is_interrupted = False
        self.loading_seconds = 0.0
        self._lived_before = 0.0

    def __call__(self, event: Event) -> None:
        match event:
            case TargetLoaded():
                self._not_tested, self._tested, self._calls = event.not_tested, event.tested, event.calls
                self.loading_seconds = event.seconds
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
        """Replay all saved failures before the phases."""
        self._not_tested = saved.not_tested  # as long as the target is not loaded, for a run may end here
        self(PhaseStarted(SAVED, 0.0))
        again = show_again(saved, target, self._options)
        for finding in again.findings:
            weighed_finding = self._with_severity(replace(finding, phase=SAVED))
            if not self.known.has(weighed_finding):
                self.known = self.known.adding(weighed_finding)
        self._saved, self._tested = self.known.findings, again.tested
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
    def has_provisional(self) -> bool:
        """Whether there is a finding that is still being made smaller."""
        return self._provisional is not None

    @property
    def is_enough(self) -> bool:
        """Whether there are as many violations as the options allow."""
        return self._violations >= self._options.most_findings

    @property
    def is_violated(self) -> bool:
        """Whether there is a violation."""
        return self._violations > 0

    @property
    def _violations(self) -> int:
        return sum(finding.status is Status.VIOLATION for finding in self.known.findings)

    def ended(self, stopped: Stopped, outside: str) -> None:
        """Record that the target hung or ended its process; a finding that was being made smaller is reported instead.

        Args:
            stopped: the call and how it stopped.
            outside: the wait for the outside world that the call is in; then it did not hang.
        """
        if self._provisional is None and outside:
            self(PhaseFinished(self.phase, {}, refused=f"a call waits for {outside}"))
            return
        finding = self._provisional
        if finding is None:
            hang = self._type.stopped(stopped)
            finding = repeated_alone(hang, self._type, stopped.spec, self._options.patience_seconds)
        if finding is None:
            self(PhaseFinished(self.phase, {"programs": 1}, inconclusive=RETURNED))
            return
        finding, is_new = self._added(finding)
        self(PhaseFinished(self.phase, {}, finding=finding, findings=int(is_new)))

    @property
    def has_worked(self) -> bool:
        """Whether a phase has done any work: later errors of the target do not discard it."""
        return bool(self._phases) or any(any(progress.counts.values()) for progress in self._so_far.values())

    def became_unusable(self, why: str) -> None:
        """End the current phase without a verdict, because the target is unusable; the other phases continue."""
        progress = self._so_far.get(self.phase)
        self(PhaseFinished(self.phase, {} if progress is None else progress.counts, inconclusive=" ".join(why.split())))

    def interrupted(self) -> None:
        """Record that the user stopped the run: the work of each phase, and the finding that was being made smaller."""
        self._is_interrupted = True
        if self._provisional is not None:
            self._added(self._provisional)
            self._provisional = None
        for phase in self._options.phases:
            if phase in self._so_far and phase not in self.finished:
                self._finish(phase, "it was interrupted")

    @property
    def has_done_the_least(self) -> bool:
        """Whether the current phase is a random one that has run its minimum of programs, or has a finding."""
        return self.phase in LEAST_PROGRAMS and (self._provisional is not None or self._is_done(self.phase))

    def is_late(self, lived: float, most_seconds: float) -> bool:
        """Whether the current random phase is so slow that it is ended before it has done its minimum of work.

        Args:
            lived: the seconds for which its process could run.
            most_seconds: its budget, and a little more.
        """
        if self.phase not in LEAST_PROGRAMS:
            self._lived_before = lived  # finite work always finishes, and takes no time from what follows
            return False
        is_random = self._options.programs is None
        exploring = self._type.exploring
        has_many = exploring is None or exploring.only is None  # a type with one program has no least number of them
        is_loaded = self.loading_seconds > 0.0
        own = lived - self._lived_before
        return is_random and has_many and is_loaded and own > max(most_seconds, self.loading_seconds + _LEAST_LIFE)

    @property
    def is_too_late(self) -> bool:
        """Whether another child, which must load the target again, would be too late for the remaining phases."""
        is_long = self.loading_seconds > max(_LEAST_SHARE * self._options.budget_seconds, _LONG_LOADING)
        return is_long or not self.has_done_the_least

    @property
    def has_to_confirm(self) -> bool:
        """Whether there is an interleaving that real threads have not run yet."""
        program = None if self._provisional is None else self._provisional.program
        return self.phase == "explorer" and bool(getattr(program, "threads", ()))

    def _is_done(self, phase: str) -> bool:
        least = LEAST_PROGRAMS.get(phase, 0)
        least = least if self._options.programs is None else min(least, self._options.programs)
        return phase in self._so_far and self._programs(phase) >= least

    def _programs(self, phase: str) -> int:
        return self._so_far[phase].counts.get("programs", 0) if phase in self._so_far else 0

    def over(self) -> None:
        """End the current phase, which did not return after the budget was spent; the work of all phases counts."""
        if self._provisional is not None:
            unconfirmed = _NO_TIME_TO_CONFIRM if self.has_to_confirm else self._provisional.unconfirmed
            self._added(replace(self._provisional, unconfirmed=unconfirmed))
        for phase in self._options.phases:
            is_done = phase == self.phase or (phase in LEAST_PROGRAMS and self._is_done(phase))
            if is_done and phase not in self.finished:
                has_findings = any(finding.phase == phase for finding in self.known.findings)
                few = (
                    "" if has_findings or self._options.programs is not None else too_few(phase, self._programs(phase))
                )
                self._finish(phase, few)

    def goes_on_with(self, phase: str) -> None:
        """Continue with a phase in another child process."""
        self._lived_before = 0.0
        self.phase = phase
        self._so_far.pop(phase, None)

    def _finish(self, phase: str, inconclusive: str = "") -> None:
        progress = self._so_far.get(phase, PhaseProgress(phase, 1.0, {}))
        findings = [finding for finding in self.known.findings if finding.phase == phase]
        self(
            PhaseFinished(
                phase,
                progress.counts,
                progress.coverage,
                inconclusive=inconclusive,
                refused=progress.refused,
                finding=next(iter(findings), None),
                overlapped=progress.overlapped,
                findings=len(findings),
            )
        )

    def _with_severity(self, finding: Finding) -> Finding:
        return with_severity(finding, self._type.rules, self._options, self._type.advised_against)

    def _added(self, finding: Finding) -> tuple[Finding, bool]:
        """Return the finding as it is reported, and whether it is new; a new finding is stored."""
        finding = self._with_severity(replace(finding, phase=finding.phase or self.phase))
        is_new = not self.known.has(finding)
        if is_new:
            self.known = self.known.adding(finding)
        return finding, is_new

    def result(self, seconds: float, *, has_name: bool) -> SuiteResult:
        """Return the result of the whole run."""
        reasons = [f"{phase.phase}: {phase.inconclusive}" for phase in self._phases if phase.inconclusive]
        reasons += [f"{phase}: it did not finish" for phase in self._options.phases if phase not in self.finished]
        run = [phase for phase in self._phases if phase.phase != SAVED]
        refused = [phase for phase in run if phase.refused]
        if len(refused) < len(run):
            advice = "; to skip this phase, use --without explorer, or phases=... in a test"
            reasons += [f"{one.phase}: {one.refused}{advice}" for one in refused if one.phase in INDISPENSABLE]
        else:
            reasons += [f"{phase.phase}: {phase.refused}" for phase in refused]
        if not any(phase.phase in INDISPENSABLE and not phase.refused for phase in run):  # then stress stands for all
            reasons += [f"{phase.phase}: {phase.few_overlaps}" for phase in run if phase.few_overlaps]
        methods = methods_report(self._calls, self._not_tested, [phase.coverage for phase in self._phases])
        if len(reasons) == sum(one.phase in INDISPENSABLE for one in refused):  # a refusal alone does not excuse these
            reasons += incomplete_reasons(methods)
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
            self._tested,
            methods,
        )


def _urgency(finding: Finding) -> tuple[bool, bool, int]:
    """Return the sort key for the order of fixing: findings of one thread first, small programs first, advice last."""
    program = finding.program
    size = 0 if program is None or not hasattr(program, "operations") else len(list(program.operations()))
    return finding.is_advice or finding.is_waived, bool(getattr(program, "threads", ())), size
