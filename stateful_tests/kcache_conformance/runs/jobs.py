"""Jobs that run the phases of a run: in a child process, or in a thread of this process."""

from __future__ import annotations

import gc
import itertools
import queue
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kcache_conformance.isolation import STARTUP_SECONDS, JobEnd, raise_if_failed, run_job
from kcache_conformance.isolation.journal import MemoryJournal
from kcache_model.codec import Codec, decode_finding, encode_finding
from kcache_model.errors import TargetError
from kcache_model.finding import Finding
from kcache_model.progress import ProgressListener
from kcache_model.thread_time import own_seconds
from kcache_model.verdict import Status

from ..phases.budget_slices import RUN_SECONDS, BudgetSlice, budget_slices, too_few
from ..phases.phase import PhaseContext, PhaseOutcome
from ..phases.suite_options import SuiteOptions, decode_options, encode_options
from ..phases.symptoms import KnownFindings, with_severity
from ..results.completeness import by_call
from ..results.events import (
    Event,
    FindingAdded,
    FindingMade,
    Listener,
    PhaseFinished,
    PhaseProgress,
    PhaseStarted,
    TargetLoaded,
)
from ..targets.target_types import target_type_named

if TYPE_CHECKING:
    from kcache_conformance.isolation.worker import Outlet

OnProgress: TypeAlias = Callable[[float, PhaseOutcome], None]

_LONGEST_STEP_SECONDS: Final = 300.0
"""The longest time between two signs of progress, for budgets that are longer or that count work."""

_SEEDS_APART: Final = 1_000_000
"""The distance between the seeds of a phase's attempts: after a finding, a phase continues with another seed."""

_LEAST_SECONDS: Final = 5.0
"""Seconds of the process's own CPU time: the minimum work of a run may take this long, however small the budget is."""

_MOST_IDLE_SECONDS: Final = 1.0
"""Seconds. A target that waited longer than this gets no time beyond the budget: it would wait then, too."""

_MOST_SHARE: Final = 0.5
"""The share of the remaining budget that a turn may spend on its minimum work while other turns follow."""

_MOST_REPEATED: Final = 3
"""The number of known findings after which a turn of a phase ends."""


def run_phases_in_child(
    spec: str,
    options: SuiteOptions,
    known: KnownFindings,
    listener: Listener,
    is_over: Callable[[float], bool] | None = None,
) -> JobEnd:
    """Run the phases in a child process and return its end; ``is_over`` ends it early, see :func:`.run_job`."""
    target_type = target_type_named(options.kind)
    return run_job(
        f"{__name__}:_phases_job",
        {
            "spec": spec,
            "options": encode_options(options),
            "known": [encode_finding(finding, target_type.codec) for finding in known.findings],
            "began": time.time(),
        },
        on_event=lambda data: listener(decode_event(data, target_type.codec)),
        deadline_seconds=STARTUP_SECONDS + 2 * min(options.budget_seconds, _LONGEST_STEP_SECONDS),
        is_over=is_over,
        patience_seconds=options.patience_seconds,
        hash_seed=target_type.hash_seed(options.seed),
    )


def run_phases_in_thread(target: Any, options: SuiteOptions, known: KnownFindings, listener: Listener) -> JobEnd:
    """Run the phases in a thread of this process; if the thread hangs, it is abandoned."""
    from kcache_conformance.isolation.watchdog import Watchdog

    ends: queue.Queue[JobEnd] = queue.Queue()
    journal = MemoryJournal()
    is_left = threading.Event()

    def notify(event: Event) -> None:
        if not is_left.is_set():
            listener(event)

    def work() -> None:
        watch = Watchdog(
            journal,
            options.patience_seconds,
            lambda stacks: ends.put(JobEnd("hang", stacks, journal.text)),
        )
        try:
            from kcache_stress.modules.tested_code import describe_tested

            deadline = time.monotonic() + options.budget_seconds
            tested = describe_tested(getattr(target, "factory", target))
            loaded = target_type_named(options.kind).load(target)
            _run_phases(loaded, None, tested, options, deadline, known, watch, notify)
            ends.put(JobEnd("done"))
        except TargetError as error:
            ends.put(JobEnd("target_error", str(error)))
        except BaseException:
            ends.put(JobEnd("harness_error", traceback.format_exc()))
        finally:
            watch.end()

    threading.Thread(target=work, name="kcache phases", daemon=True).start()
    end = ends.get()
    is_left.set()
    return end


def load_in_child(spec: str, options: SuiteOptions) -> TargetLoaded:
    """Load a target in a child process; return its version and the features it lacks, by itself and by the options.

    Raises:
        TargetError: there is no such target.
        HarnessError: the harness failed.
    """
    loaded: list[dict[str, Any]] = []
    end = run_job(
        f"{__name__}:load_job",
        {"spec": spec, "kind": options.kind, "declared": list(options.declared)},
        on_event=loaded.append,
        deadline_seconds=STARTUP_SECONDS,
        patience_seconds=options.patience_seconds,
    )
    raise_if_failed(end)
    if not loaded:  # loading ended the process; it will do so again in a phase, where that is a finding
        return TargetLoaded(())
    return TargetLoaded(tuple(loaded[0]["not_tested"]), loaded[0]["tested"])


def load_job(outlet: Outlet, spec: str, kind: str, declared: list[str]) -> None:
    """Load the target and send its description; runs in the child process."""
    from kcache_stress.modules.tested_code import describe_tested

    target_type = target_type_named(kind)
    with outlet.loading(spec):
        target = target_type.load(spec)
    spared = target_type.spare(target, frozenset(declared))
    outlet.send({"event": "loaded", "not_tested": target_type.not_tested(spared), "tested": describe_tested(spec)})


def _phases_job(outlet: Outlet, spec: str, options: dict[str, Any], known: list[dict[str, Any]], began: float) -> None:
    passed, loaded_from = min(max(0.0, time.time() - began), STARTUP_SECONDS), time.monotonic()
    # Imported here: the parent process does not need the explorer. Imported before the target is loaded: a socket.py
    # beside the target must not replace the module of the standard library.
    from kcache_stress.modules.tested_code import describe_tested
    from kcache_stress.recorded_imports import require_recorded_files, use_imports

    decoded = decode_options(options)
    target_type = target_type_named(decoded.kind)
    if decoded.import_path:
        use_imports(decoded.import_path, decoded.module_files)
    RUN_SECONDS.set(decoded.budget_seconds)
    with outlet.loading(spec):
        target = target_type.load(spec)
    gc.freeze()  # code under test may collect garbage in each execution; the collection need not scan all of this
    require_recorded_files()
    codec = target_type.codec
    known_findings = KnownFindings(target_type.rules)
    for data in known:
        known_findings = known_findings.adding(decode_finding(data, codec))
    # Starting and loading count towards the budget of a run, but not towards the small budget of a suite's test.
    deadline = decoded.budget_seconds + (time.monotonic() if decoded.shrink_seconds else loaded_from - passed)

    def send(event: Event) -> None:
        outlet.send(encode_event(event, codec))

    seconds = max(0.0, time.time() - began)
    _run_phases(target, spec, describe_tested(spec), decoded, deadline, known_findings, outlet.watch, send, seconds)


def _run_phases(
    target: Any,
    spec: str | None,
    tested: str,
    options: SuiteOptions,
    deadline: float,
    known: KnownFindings,
    watch: ProgressListener,
    listener: Listener,
    loading_seconds: float = 0.0,
) -> None:
    """Run the phases on a loaded target, and report events to the listener."""
    exhausted: set[Any] = set()
    target_type = target_type_named(options.kind)
    advised_against = {**target_type.advised_against, **target_type.advised(target)}
    target = target_type.spare(target_type.prepare(target, options), frozenset(options.declared))
    calls = target_type.calls(target)
    listener(TargetLoaded(target_type.not_tested(target), tested, calls, loading_seconds))

    began, worked = own_seconds(), time.process_time()
    budget_end = began + deadline - time.monotonic()
    own_deadline = max(budget_end, began + _LEAST_SECONDS)

    def is_over(end: float) -> bool:
        now = own_seconds()
        idle = now - began - (time.process_time() - worked)
        return now > end or (now > budget_end and idle > _MOST_IDLE_SECONDS)

    def run(
        turn: BudgetSlice,
        attempt: int,
        seconds: float,
        programs: int | None,
        known: KnownFindings,
        on_progress: OnProgress,
    ) -> PhaseOutcome:
        is_end = turn.is_last and turn.phase == options.phases[-1]
        remaining_seconds = max(0.0, own_deadline - own_seconds())
        end = own_deadline - (0.0 if is_end else (1.0 - _MOST_SHARE) * remaining_seconds)
        context = PhaseContext(
            target_type.spare(target, known.spared),
            spec,
            options,
            2 * options.seed + turn.is_second + _SEEDS_APART * attempt,
            seconds,
            programs,
            deadline,
            watch,
            known,
            on_progress,
            lambda finding: listener(FindingMade(weigh(finding))),
            exhausted=exhausted,
            is_spent=lambda: is_over(end),
        )
        outcome = target_type.phases[turn.phase](context)
        return replace(outcome, counts={**outcome.counts, **context.met})

    def weigh(finding: Finding) -> Finding:
        return with_severity(finding, target_type.rules, options, advised_against)

    _Turns(options, run, weigh, listener, known, deadline, lambda: is_over(own_deadline)).run()


@dataclass
class _Turns:
    """The turns of the phases within the budget; after a finding, a phase continues and searches for others."""

    options: SuiteOptions
    start: Callable[[BudgetSlice, int, float, int | None, KnownFindings, OnProgress], PhaseOutcome]
    weigh: Callable[[Finding], Finding]
    listener: Listener
    known: KnownFindings
    deadline: float = inf
    is_spent: Callable[[], bool] = lambda: False
    outcomes: dict[str, PhaseOutcome] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Run all turns, or stop once there are as many violations as the options allow."""
        under_way: dict[str, None] = {}
        options = self.options
        for turn in budget_slices(options.phases, self.deadline - time.monotonic(), options.programs):
            if turn.phase in under_way and self._is_proved:
                self._finish(turn.phase)  # all small programs are exhausted: a long turn shows nothing new
                del under_way[turn.phase]
                continue
            self.listener(PhaseStarted(turn.phase, turn.seconds))
            under_way[turn.phase] = None
            self._turn(turn)
            if self._is_enough:
                for phase in under_way:  # also the phases that had a short turn before
                    self._finish(phase)
                return
            if turn.is_last:
                self._finish(turn.phase)
                del under_way[turn.phase]
            else:
                self._progress(turn.phase, 1.0, PhaseOutcome({}))

    @property
    def _is_enough(self) -> bool:
        wrong = [finding for finding in self.known.findings if finding.status is Status.VIOLATION]
        return len(wrong) >= self.options.most_findings

    @property
    def _is_proved(self) -> bool:
        """Whether all interleavings of all programs up to a bound are correct, and no other finding exists."""
        return not self.known.findings and any(outcome.proved for outcome in self.outcomes.values())

    def _turn(self, turn: BudgetSlice) -> None:
        began, begun = time.monotonic(), self._programs(turn.phase)
        again = 0
        for attempt in itertools.count():
            remaining_seconds = turn.seconds - (time.monotonic() - began)
            phase, programs = turn.phase, turn.programs
            if programs is not None:
                programs -= self._programs(phase) - begun
            if attempt and (
                remaining_seconds <= 0 or again == _MOST_REPEATED or (programs is not None and programs <= 0)
            ):
                break
            outcome = self.start(turn, attempt, remaining_seconds, programs, self.known, partial(self._progress, phase))
            self.outcomes[phase] = self._with(phase, outcome)
            if outcome.finding is None:
                break
            finding = self.weigh(replace(outcome.finding, phase=outcome.finding.phase or phase))
            if self.known.has(finding):
                again += 1
                if finding.status is Status.VIOLATION:
                    self.outcomes[phase] = self.outcomes[phase].merged(PhaseOutcome({"known": 1}))
                continue
            self.known = self.known.adding(finding)
            self.counts[phase] += 1
            self.listener(FindingAdded(finding))
            if self._is_enough:
                break

    def _programs(self, phase: str) -> int:
        return self.outcomes[phase].counts.get("programs", 0) if phase in self.outcomes else 0

    def _with(self, phase: str, outcome: PhaseOutcome) -> PhaseOutcome:
        return self.outcomes[phase].merged(outcome) if phase in self.outcomes else outcome

    def _progress(self, phase: str, fraction: float, so_far: PhaseOutcome) -> None:
        merged = self._with(phase, so_far)
        covered = by_call(merged.coverage), by_call(merged.overlapped)
        self.listener(PhaseProgress(phase, fraction, dict(merged.counts), *covered, merged.refused))

    def _finish(self, phase: str) -> None:
        outcome = self.outcomes[phase]
        own = [finding for finding in self.known.findings if finding.phase == phase]
        wrong = next((finding for finding in own if finding.status is Status.VIOLATION), None)
        finding = wrong or (None if outcome.finding is None else self.weigh(outcome.finding))
        outcome = replace(outcome, finding=finding)
        few = outcome.inconclusive or (self._too_few(phase) if finding is None and not outcome.refused else "")
        self.listener(_finished(phase, outcome, self.counts[phase], few))

    def _too_few(self, phase: str) -> str:
        """The reason why a phase that the budget cut short proves too little; empty if it did its minimum of work."""
        if self.options.programs is not None or not self.is_spent():
            return ""
        return too_few(phase, self._programs(phase))


def _finished(phase: str, outcome: PhaseOutcome, findings: int, inconclusive: str) -> PhaseFinished:
    nested = {name: by_call(getattr(outcome, name)) for name in ("coverage", "overlapped")}
    fields = {**vars(outcome), "counts": dict(outcome.counts), **nested}
    return PhaseFinished(phase, inconclusive=inconclusive, findings=findings, **fields)


_EVENTS: Mapping[str, type[Event]] = {
    kind.__name__: kind
    for kind in (TargetLoaded, PhaseStarted, PhaseProgress, FindingMade, FindingAdded, PhaseFinished)
}


def encode_event(event: Event, codec: Codec) -> dict[str, Any]:
    """Return an event as plain JSON."""
    data = dict(vars(event))
    if data.get("finding") is not None:
        data["finding"] = encode_finding(data["finding"], codec)
    if data.get("sample") is not None and codec.dump_history is not None:
        data["sample"] = list(codec.dump_history(data["sample"]))
    return {"event": type(event).__name__, **data}


def decode_event(data: dict[str, Any], codec: Codec) -> Event:
    """Invert :func:`encode_event`."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    kind = _EVENTS[fields.pop("event")]
    if fields.get("finding") is not None:
        fields["finding"] = decode_finding(fields["finding"], codec)
    if fields.get("sample") is not None and codec.load_history is not None:
        fields["sample"] = codec.load_history(fields["sample"])
    return kind(**fields)
