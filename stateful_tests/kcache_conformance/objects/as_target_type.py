"""The target type of an object type."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from kcache_model.bound import Bound
from kcache_model.finding import Finding, FindingKind
from kcache_model.object_types.noted_programs import noted_program
from kcache_model.object_types.object_type import ObjectType
from kcache_model.object_types.smaller import smaller
from kcache_model.outcomes import WAITS, Outcome
from kcache_stress.engine.granularity import Granularity
from kcache_stress.interruption import is_interrupted
from kcache_stress.objects.findings import Setting, token_format
from kcache_stress.objects.named_target import load_object_target

from ..isolation import STARTUP_SECONDS, run_job
from ..phases.suite_options import SuiteOptions
from ..targets.gallery import Example
from ..targets.imported_late import imported_late
from ..targets.judged_recording import JudgedRecording, JudgeOptions, RecordingJudge
from ..targets.target_type import REPLAY, Exploring, Stopped, TargetType
from .phases import phases
from .programs import lonely_calls, random_program, small_scope, waiting_programs, with_cancellations

if TYPE_CHECKING:
    from kcache_stress.objects.object_exploration import ObjectExplorationTarget

_judge_lines: Final = imported_late(f"{__package__}.recordings:judge_lines")
_replay_token: Final = imported_late(f"{__package__}.replaying:replay_token")
_NOTHING_READ: Final = {"calls": 0, "finding": None}
"""The fields of the document of a recording that was not read in time."""
_REPLAY_JOB: Final = "kcache_conformance.runs.replays:replay_job"
_PATIENCE_SECONDS: Final = 0.5
_SMALLER_SECONDS: Final = 10.0
_ATTEMPTS: Final = 40
_EXPLORER: Final = "explorer"
"""The phase whose executions may hang because the explorer has paused a thread."""


def target_type(object_type: ObjectType, examples: Callable[[], Sequence[Example]] = lambda: ()) -> TargetType:
    """Return the target type of an object type.

    Args:
        object_type: the type.
        examples: faulty and correct targets.
    """
    return TargetType(
        name=object_type.name,
        summary=object_type.summary,
        reference=object_type.reference,
        phases=phases(object_type),
        load=partial(load_object_target, object_type),
        not_tested=lambda target: tuple(sorted(target.unsupported)),
        stopped=partial(_stopped, object_type),
        examples=examples,
        codec=object_type.codec,
        tokens=token_format(object_type),
        replay=partial(_replay_token, object_type),
        owns=object_type.owns,
        recordings=RecordingJudge(partial(_judge_lines, object_type), _NOTHING_READ),
        exploring=_exploring(object_type),
    )


def late_exploring(whole: Callable[[], Exploring | None]) -> Exploring:
    """Return the exploring functions of a type that is built at their first use."""

    def now() -> Exploring:
        exploring = whole()
        assert exploring is not None
        return exploring

    return Exploring(
        exploration_target=lambda *arguments: now().exploration_target(*arguments),
        stand_in=lambda *arguments: now().stand_in(*arguments),
        random_program=lambda *arguments: now().random_program(*arguments),
        programs=lambda *arguments: now().programs(*arguments),
        small_scope=lambda *arguments: now().small_scope(*arguments),
        count=lambda *arguments: now().count(*arguments),
        lonely_calls=lambda target: now().lonely_calls(target),
        waiting=lambda *arguments: now().waiting(*arguments),
    )


def late_recordings(whole: Callable[[], RecordingJudge | None]) -> RecordingJudge:
    """Return the judge of the recordings of a type that is built at its first use."""

    def judge(lines: Callable[[], Iterable[str]], options: JudgeOptions) -> JudgedRecording:
        recordings = whole()
        assert recordings is not None
        return recordings.judge(lines, options)

    return RecordingJudge(judge, _NOTHING_READ)


def _exploring(object_type: ObjectType) -> Exploring:
    def exploration_target(spec: str, instrument: tuple[str, ...], granularity: Granularity) -> ObjectExplorationTarget:
        from kcache_stress.objects.object_exploration import ObjectExplorationTarget

        return ObjectExplorationTarget(object_type, load_object_target(object_type, spec), instrument, granularity)

    def random(target: Any, seed: int, shape: tuple[int, int], options: SuiteOptions) -> Any:
        rng = Random(seed)
        sizes = tuple(rng.randint(1, shape[1]) for _ in range(rng.randint(2, shape[0])))
        return with_cancellations(object_type, random_program(seed, object_type, target, (sizes,)), options)

    def scope(bound: Bound, target: Any, options: SuiteOptions, deadline: float) -> Iterator[Any]:
        for program in small_scope(object_type, target, bound, deadline):
            yield with_cancellations(object_type, program, options)

    def count(bound: Bound, target: Any, _: SuiteOptions, deadline: float) -> int | None:
        number = sum(1 for _ in small_scope(object_type, target, bound, deadline))
        return number if time.monotonic() < deadline and not is_interrupted() else None

    def waiting(bound: Bound, target: Any, programs: int) -> int:
        lonely = sum(1 for _ in lonely_calls(object_type, target))
        return waiting_programs(object_type, target, bound, programs - lonely)

    def strategy(target: Any, _: SuiteOptions, threads: tuple[int, int], operations: tuple[int, int]) -> Any:
        from .state_machine import concurrent_programs  # Hypothesis is most of the time that imports take

        return concurrent_programs(object_type, target, threads, operations)

    return Exploring(
        exploration_target=exploration_target,
        stand_in=object_type.stand_in,
        random_program=random,
        programs=strategy,
        small_scope=scope,
        count=count,
        lonely_calls=partial(lonely_calls, object_type),
        waiting=waiting,
    )


def _stopped(object_type: ObjectType, stopped: Stopped) -> Finding:
    """Return the finding for a call that hung or ended the process; the noted program is the only information."""
    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    program = noted_program(object_type.codec, stopped.note)
    if program is None:
        what = f"creating the {object_type.called}"
    else:
        what = str(program.prefix[-1]) if not program.threads and program.prefix else "a call"
    if stopped.phase == REPLAY or (stopped.phase == _EXPLORER and program is not None and program.threads):
        return _execution_stopped(object_type, stopped, kind, program)
    did = f"did not return within {stopped.options.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    finding = Finding(kind, stopped.phase, f"{what} {did}", observed=Outcome(value=did), detail=stopped.detail)
    if program is None:
        return finding
    program = _smaller(object_type, stopped, program)
    token = _token(object_type, stopped, program, kind)
    rule = object_type.rule_of_outcome(program, WAITS, WAITS) if stopped.is_hang and program.is_sequential else ""
    script = object_type.script(program, stopped.name, {})
    return replace(finding, program=program, schedule=token, script=script, rule=rule or finding.rule)


def _token(object_type: ObjectType, stopped: Stopped, program: Any, kind: FindingKind) -> str:
    options = stopped.options
    setting = Setting(object_type, stopped.name, options.strict_errors, options.instrument, options.is_strict)
    return token_format(object_type).encode(setting.token(program, kind))


def _execution_stopped(object_type: ObjectType, stopped: Stopped, kind: FindingKind, program: Any) -> Finding:
    """Return the finding of an execution under the explorer that did not end, or that ended the process."""
    hint = (
        "; it waits for something real, or spins without touching anything shared (`while True: pass`); if that is in "
        "another package, name it with --instrument"
    )
    summary = f"an execution did not end{hint}" if stopped.is_hang else "an execution ended the process"
    finding = Finding(kind, _EXPLORER, summary, program, detail=stopped.detail)
    return finding if program is None else replace(finding, schedule=_token(object_type, stopped, program, kind))


def _smaller(object_type: ObjectType, stopped: Stopped, program: Any) -> Any:
    """Return the smallest program of one thread that still ends in the same way, tried in child processes."""
    if stopped.spec is None or stopped.phase == REPLAY or program.threads or len(program.prefix) < 2:
        return program
    how = "hang" if stopped.is_hang else "crash"
    last = program.prefix[-1].name

    def fails(candidate: Any) -> bool:
        if not candidate.prefix or candidate.prefix[-1].name != last:
            return False
        word = _token(object_type, stopped, candidate, FindingKind.CRASH)
        ended = run_job(
            _REPLAY_JOB,
            {"target_type": object_type.name, "word": word},
            on_event=lambda _: None,
            deadline_seconds=STARTUP_SECONDS,
            patience_seconds=_PATIENCE_SECONDS,
        )
        return ended.how == how

    return smaller(object_type, program, fails, seconds=_SMALLER_SECONDS, attempts=_ATTEMPTS)
