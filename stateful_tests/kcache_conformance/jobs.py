"""The phases of a run as a job: in a child process, or in a thread of this one."""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from kcache_conformance.isolation import STARTUP_SECONDS, JobEnd, run_job
from kcache_conformance.isolation.journal import MemoryJournal
from kcache_conformance.isolation.watchdog import Watchdog
from kcache_conformance.isolation.worker import Outlet
from kcache_model.codec import Codec, decode_finding, encode_finding
from kcache_model.errors import TargetError
from kcache_model.indexers.codec import dump_history, load_history
from kcache_model.progress import ProgressListener
from kcache_model.verdict import Status

from .budget_slices import BudgetSlice, budget_slices
from .events import Event, FindingMade, Listener, PhaseFinished, PhaseProgress, PhaseStarted, TargetLoaded
from .phase import PhaseContext, PhaseOutcome
from .suite_options import SuiteOptions, decode_options, encode_options
from .target_types import target_type_named


def run_phases_in_child(spec: str, options: SuiteOptions, listener: Listener) -> JobEnd:
    """Run the phases in a child process; how it ended."""
    codec = target_type_named(options.kind).codec
    return run_job(
        f"{__name__}:_phases_job",
        {"spec": spec, "options": encode_options(options)},
        on_event=lambda data: listener(decode_event(data, codec)),
        deadline_seconds=STARTUP_SECONDS + 2 * options.budget_seconds,
        patience_seconds=options.patience_seconds,
        hash_seed=target_type_named(options.kind).hash_seed(options.seed),
    )


def run_phases_in_thread(target: Any, options: SuiteOptions, listener: Listener) -> JobEnd:
    """Run the phases in a thread of this process; a thread that hangs stays behind."""
    ends: queue.Queue[JobEnd] = queue.Queue()
    journal = MemoryJournal()

    def work() -> None:
        watch = Watchdog(
            journal,
            options.patience_seconds,
            lambda stacks: ends.put(JobEnd("hang", stacks, journal.text)),
        )
        try:
            _run_phases(target_type_named(options.kind).load(target), None, options, watch, listener)
            ends.put(JobEnd("done"))
        except TargetError as error:
            ends.put(JobEnd("target_error", str(error)))
        except BaseException:
            ends.put(JobEnd("harness_error", traceback.format_exc()))

    threading.Thread(target=work, name="kcache phases", daemon=True).start()
    return ends.get()


def _phases_job(outlet: Outlet, spec: str, options: dict[str, Any]) -> None:
    decoded = decode_options(options)
    with outlet.loading(spec):
        target = target_type_named(decoded.kind).load(spec)
    codec = target_type_named(decoded.kind).codec
    _run_phases(target, spec, decoded, outlet.watch, lambda event: outlet.send(encode_event(event, codec)))


def _run_phases(
    target: Any, spec: str | None, options: SuiteOptions, watch: ProgressListener, listener: Listener
) -> None:
    target_type = target_type_named(options.kind)
    target = target_type.prepare(target, options)
    listener(TargetLoaded(target_type.not_tested(target)))

    def run(turn: BudgetSlice) -> PhaseOutcome:
        context = PhaseContext(
            target,
            spec,
            options,
            2 * options.seed + turn.is_last,
            turn.seconds,
            watch,
            lambda fraction, counts: listener(PhaseProgress(turn.phase, fraction, dict(counts))),
            lambda finding: listener(FindingMade(finding)),
        )
        return target_type.phases[turn.phase](context)

    _run_turns(options, run, listener)


def _run_turns(options: SuiteOptions, run: Callable[[BudgetSlice], PhaseOutcome], listener: Listener) -> None:
    """Run the phases by turns within the budget, until the first finding."""
    outcomes: dict[str, PhaseOutcome] = {}
    for turn in budget_slices(options.phases, options.budget_seconds):
        listener(PhaseStarted(turn.phase, turn.seconds))
        outcome = run(turn)
        if turn.phase in outcomes:
            outcome = outcomes[turn.phase].merged(outcome)
        outcomes[turn.phase] = outcome
        is_over = outcome.finding is not None and outcome.finding.status is Status.VIOLATION
        if turn.is_last or is_over:
            listener(_finished(turn.phase, outcome))
        if is_over:
            return


def _finished(phase: str, outcome: PhaseOutcome) -> PhaseFinished:
    nested = {name: _by_operation(getattr(outcome, name)) for name in ("coverage", "overlapped")}
    told = {**vars(outcome), "counts": dict(outcome.counts), **nested}
    return PhaseFinished(phase, inconclusive=outcome.inconclusive, **told)


def _by_operation(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (operation, result), count in sorted(counts.items()):
        nested.setdefault(operation, {})[result] = count
    return nested


_EVENTS: Mapping[str, type[Event]] = {
    kind.__name__: kind for kind in (TargetLoaded, PhaseStarted, PhaseProgress, FindingMade, PhaseFinished)
}


def encode_event(event: Event, codec: Codec) -> dict[str, Any]:
    """An event as plain JSON."""
    data = dict(vars(event))
    if data.get("finding") is not None:
        data["finding"] = encode_finding(data["finding"], codec)
    if data.get("sample") is not None:
        data["sample"] = list(dump_history(data["sample"]))
    return {"event": type(event).__name__, **data}


def decode_event(data: dict[str, Any], codec: Codec) -> Event:
    """The inverse of :func:`encode_event`."""
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    kind = _EVENTS[fields.pop("event")]
    if fields.get("finding") is not None:
        fields["finding"] = decode_finding(fields["finding"], codec)
    if fields.get("sample") is not None:
        fields["sample"] = load_history(fields["sample"])
    return kind(**fields)
