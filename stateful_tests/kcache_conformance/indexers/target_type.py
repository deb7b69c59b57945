"""Indexers as a target type of the suite.

This module imports little: most modules are imported when a function is called, which is mostly in a child process.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from kcache_model.call_program import hash_seed
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.codec import INDEXERS
from kcache_model.indexers.items import Semantics
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.operations import INDEX_OPERATIONS, Operation, OperationName
from kcache_model.indexers.program import Program
from kcache_model.indexers.target import INDEXES, Target, all_declared, make_target
from kcache_model.object_types.noted_programs import noted_program
from kcache_model.render import operation_text
from kcache_model.rules import common_rules, rules_in
from kcache_stress.indexers.program_tokens import PROGRAM_TOKENS
from kcache_stress.indexers.target_loading import load_target

from ..phases.suite_options import SuiteOptions
from ..targets.gallery import gallery
from ..targets.imported_late import imported_late
from ..targets.judged_recording import RecordingJudge
from ..targets.target_type import REPLAY, Exploring, Stopped, TargetType
from .phases import PHASES

_explored_indexer: Final = imported_late("kcache_stress.indexers.exploration:explored_indexer")
_run_program_in_child: Final = imported_late(f"{__package__}.program_job:run_program_in_child")
_EXPLORER: Final = "explorer"
"""The phase whose executions may hang because the explorer has paused a thread."""
_MINIMISE_SECONDS: Final = 10.0
_MINIMISE_ATTEMPTS: Final = 40
_MINIMISE_PATIENCE_SECONDS: Final = 0.5
_CONFIRMATION_SECONDS: Final = 5.0


def _load(target: Any) -> Target:
    if isinstance(target, str):
        return load_target(target)
    return target if isinstance(target, Target) else make_target(target)


def _prepare(target: Target, options: SuiteOptions) -> Target:
    from kcache_model.indexers.probing import probe

    return probe(replace(target, is_strict=options.is_strict, semantics=options.semantics), options.semantics)


def _not_tested(target: Target) -> tuple[str, ...]:
    """The operations and features that the target does not support; ``indexes`` replaces all operations on indices."""
    names = set(target.unsupported)
    if INDEXES in names:
        names -= {operation.value for operation in INDEX_OPERATIONS}
    return tuple(sorted(names))


def _stopped(stopped: Stopped) -> Finding:
    """Return the finding for a call that did not return or that ended the process; its program is minimised."""
    options, spec = stopped.options, stopped.spec
    how = "hang" if stopped.is_hang else "crash"
    if stopped.phase == REPLAY:  # an execution under the explorer; its message suggests --instrument
        return _execution_stopped(stopped)
    program = noted_program(INDEXERS, stopped.note) or Program(semantics=options.semantics)
    program = replace(program, hash_seed=program.hash_seed or hash_seed(options.seed))
    if spec is not None and program.is_sequential and len(program) > 1:
        from kcache_model.object_types.smaller import smaller

        def fails(candidate: Program) -> bool:
            ended = _run_program_in_child(
                spec,
                candidate,
                patience_seconds=_MINIMISE_PATIENCE_SECONDS,
                strict_errors=options.strict_errors,
                strict=options.is_strict,
            )
            return ended.how == how and _last(noted_program(INDEXERS, ended.note)) == _last(program)

        program = smaller(INDEXER_OBJECTS, program, fails, seconds=_MINIMISE_SECONDS, attempts=_MINIMISE_ATTEMPTS)
    steps = list(program.operations())
    last = operation_text(steps[-1]) if steps and program.is_sequential else "a call"
    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    did = f"did not return within {options.patience_seconds:g} s" if stopped.is_hang else "ended the process"
    finding = Finding(kind, stopped.phase, f"{last} {did}", program, detail=stopped.detail)
    if stopped.phase == _EXPLORER and stopped.is_hang and spec is not None and not program.is_sequential:
        return _confirmed(finding, spec, program, options)
    failed = next(filter(_fails, reversed(steps[:-1])), None) if program.is_sequential else None
    if not stopped.is_hang or failed is None:
        return finding
    summary = f"{finding.summary}; {operation_text(failed)} had raised before it, and seems to have kept its lock"
    return replace(finding, summary=summary, rule="lock-kept-after-error")


def _confirmed(finding: Finding, spec: str, program: Program, options: SuiteOptions) -> Finding:
    """Return the finding of a hang under the explorer, marked as unconfirmed if real threads do not hang.

    Under the explorer, a thread that spins or that waits in C code (for a database, for example) may wait for threads
    that the explorer has paused.
    """
    ended = _run_program_in_child(
        spec,
        program,
        seconds=_CONFIRMATION_SECONDS,
        patience_seconds=options.patience_seconds,
        strict_errors=options.strict_errors,
        strict=options.is_strict,
    )
    if ended.how in ("hang", "crash"):
        return finding
    frames = re.findall(r'File "(.*)", line (\d+)', finding.detail)
    where = ":".join(frames[-1]) if frames else "what the thread waits for"
    return replace(finding, unconfirmed=f"real threads do not hang in the same program ({where})")


def _fails(operation: Operation) -> bool:
    return any(item.key is None or None in item.values.values() for item in operation.given)


def _execution_stopped(stopped: Stopped) -> Finding:
    """Return the finding for an execution that did not end, or that ended the process."""
    kind = FindingKind.HANG if stopped.is_hang else FindingKind.CRASH
    how = "an execution did not end" if stopped.is_hang else "an execution ended the process"
    hint = (
        "; it waits for something real, or spins without touching anything shared (`while True: pass`); if that is in "
        "another package, name it with --instrument"
    )
    summary = how + (hint if stopped.is_hang else "")
    return Finding(kind, _EXPLORER, summary, noted_program(INDEXERS, stopped.note), detail=stopped.detail)


def _last(program: Program | None) -> OperationName | None:
    """The operation of the last call of a program, which did not return; ``None`` if there is no call."""
    return None if program is None or not len(program) else list(program.operations())[-1].name


def _random_program(target: Target, seed: int, shape: tuple[int, int], semantics: Semantics) -> Program:
    from kcache_stress.indexers.programs.random_programs import ExplorerShape, explorer_program

    threads, operations = shape
    return explorer_program(seed, target, semantics, ExplorerShape((2, threads), (1, operations)))


EXPLORING: Final = Exploring(
    exploration_target=lambda spec, instrument, granularity: _explored_indexer(
        spec, instrument=instrument, granularity=granularity
    ),
    stand_in=INDEXER_OBJECTS.stand_in,
    random_program=_random_program,
    programs=imported_late(f"{__package__}.concurrent_programs:concurrent_programs"),
    small_scope=imported_late("kcache_stress.indexers.programs.small_scope:small_scope_programs"),
    count=imported_late("kcache_stress.indexers.programs.small_scope:count_small_scope"),
)


INDEXER: Final = TargetType(
    name=INDEXER_OBJECTS.name,
    summary=INDEXER_OBJECTS.summary,
    reference=INDEXER_OBJECTS.reference,
    phases=PHASES,
    load=_load,
    not_tested=_not_tested,
    stopped=_stopped,
    examples=gallery,
    codec=INDEXERS,
    tokens=PROGRAM_TOKENS,
    replay=imported_late(f"{__package__}.token_replay:replay_token"),
    recordings=RecordingJudge(
        imported_late(f"{__package__}.recordings:judge_lines"),
        {"anomaly": None, "calls": 0, "open": 0, "threads": 0, "core": []},
    ),
    run_program=_run_program_in_child,
    declared=lambda factory, unsupported: make_target(factory, unsupported=unsupported),
    prepare=_prepare,
    knows=frozenset({"semantics", "contract", "threads"}),
    exploring=EXPLORING,
    hash_seed=hash_seed,
    rules={**common_rules(), **rules_in("kcache_model.indexers")},
    spare=lambda target, names: replace(target, unsupported=target.unsupported | all_declared(names)),
)
