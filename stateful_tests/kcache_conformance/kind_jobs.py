"""The phases of a kind as jobs: in a child process, or in a thread of this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcache_model.codec import decode_finding, encode_finding
from kcache_model.finding import Finding
from kcache_model.watch import Watch
from kcache_stress.explorer.replaying import ReplayAnswer, Replayed
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.isolation import STARTUP_SECONDS, JobEnd, raise_if_failed, run_job
from kcache_stress.isolation.worker import Outlet

from .events import FindingMade, Listener, PhaseProgress, TargetLoaded
from .jobs import Arguments, encode_event, in_child, in_thread, run_turns
from .kind import Kind, KindContext, Stopped
from .kinds import KINDS
from .phases import PhaseOutcome
from .turns import Turn

_REPLAY_SECONDS = 30.0


def run_kind_in_child(spec: str, arguments: Arguments, listener: Listener) -> JobEnd:
    """Run the phases of ``arguments["kind"]`` in a child process."""
    return in_child(f"{__name__}:_phases_job", spec, arguments, listener)


def run_kind_in_thread(factory: Callable[..., Any], arguments: Arguments, listener: Listener) -> JobEnd:
    """Run the phases in a thread of this process; a thread that hangs stays behind."""

    def work(watch: Watch) -> None:
        _run(KINDS[arguments["kind"]].load(factory), None, arguments, watch, listener)

    return in_thread(work, arguments["patience_seconds"])


def stopped_finding(kind: Kind, spec: str, arguments: Arguments, end: JobEnd, phase: str) -> Finding:
    """The finding for a child that hung or crashed."""
    return kind.stopped(
        Stopped(
            spec,
            end.how == "hang",
            phase,
            end.note,
            end.message,
            arguments["patience_seconds"],
            arguments["strict_errors"],
            tuple(arguments.get("instrument", ())),
        )
    )


def replay_word(kind: Kind, word: str, *, patience_seconds: float = 3.0) -> Replayed:
    """Show again what a word stands for, in a child process.

    Raises:
        FormatError: the word is damaged.
        TargetError: there is no such target.
        CannotExploreError: it cannot be scheduled any more.
        HarnessError: the harness failed.
    """
    spec = kind.target_of_word(word)
    answers: list[dict[str, Any]] = []
    end = run_job(
        f"{__name__}:_replay_job",
        {"kind": kind.name, "word": word},
        on_event=answers.append,
        deadline_seconds=STARTUP_SECONDS + _REPLAY_SECONDS,
        patience_seconds=patience_seconds,
    )
    raise_if_failed(end)
    if not answers:
        arguments = {"patience_seconds": patience_seconds, "strict_errors": False}
        finding = stopped_finding(kind, spec, arguments, end, "replay")
        return Replayed(ReplayAnswer.REPRODUCED, f"the process ended with a {end.how}", finding)
    data = answers[-1]
    if "refused" in data:
        raise CannotExploreError(data["refused"])
    shown = data["finding"]
    return Replayed(ReplayAnswer(data["answer"]), data["note"], None if shown is None else decode_finding(shown))


def _phases_job(outlet: Outlet, spec: str, arguments: Arguments) -> None:
    with outlet.loading(spec):
        target = KINDS[arguments["kind"]].load(spec)
    _run(target, spec, arguments, outlet.watch, lambda event: outlet.send(encode_event(event)))


def _replay_job(outlet: Outlet, kind: str, word: str) -> None:
    try:
        found = KINDS[kind].replay(word, outlet.watch)
    except CannotExploreError as error:
        outlet.send({"event": "replayed", "refused": str(error)})
        return
    finding = None if found.finding is None else encode_finding(found.finding)
    outlet.send({"event": "replayed", "answer": found.answer.value, "note": found.note, "finding": finding})


def _run(target: Any, spec: str | None, arguments: Arguments, watch: Watch, listener: Listener) -> None:
    kind = KINDS[arguments["kind"]]
    listener(TargetLoaded(kind.not_tested(target)))

    def run(turn: Turn) -> PhaseOutcome:
        context = KindContext(
            target,
            spec,
            arguments["strict_errors"],
            tuple(arguments.get("instrument", ())),
            2 * arguments["seed"] + turn.is_last,
            turn.seconds,
            arguments["patience_seconds"],
            watch,
            lambda fraction, counts: listener(PhaseProgress(turn.phase, fraction, dict(counts))),
            lambda finding: listener(FindingMade(finding)),
        )
        return kind.run_phase(turn.phase, context)

    run_turns(arguments, run, listener)
