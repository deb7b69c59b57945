"""Findings of the explorer for programs on an Indexer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kcache_model.call_program import own_hash_seed
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.operations import Operation
from kcache_model.indexers.program import Program
from kcache_model.outcomes import Outcome
from kcache_model.render import operation_text, outcome_text

from ..engine.counterexample import Counterexample
from ..engine.execution import Problem
from ..target.replay_token import ReplayToken
from ..trace.renderer import Texts, render_interleaving
from .explained import explained
from .program_runner import ProgramRunner
from .program_tokens import PHASE, PROGRAM_TOKENS

if TYPE_CHECKING:
    from .subject import Subject


def program_texts(runner: ProgramRunner) -> Texts[Outcome]:
    """Return the texts that describe a program on an Indexer to a reader."""
    program = runner.program

    def with_outcomes(operations: Sequence[Operation], outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
        return list(zip(map(operation_text, operations), map(outcome_text, outcomes), strict=False))

    return Texts(
        called="indexer",
        made=lambda: runner.made,
        threads=[[operation_text(operation) for operation in thread] for thread in program.threads],
        outcome=outcome_text,
        before=lambda execution: with_outcomes(program.prefix, execution.prefix),
        afterwards=lambda execution: with_outcomes(runner.final_reads, execution.final),
    )


def bare_finding(program: Program, problem: Problem) -> Finding:
    """Return a finding without a schedule that repeats the problem."""
    return Finding(problem.kind, PHASE, problem.summary, program, rule=problem.rule)


def told_finding(
    subject: Subject, program: Program, found: Counterexample[Outcome], *, strict_errors: bool, detail: str = ""
) -> Finding:
    """Return a finding with the interleaving, the reason why it is not linearizable, and the replay token.

    Args:
        subject: the target; the schedule is run on it once more, to describe the interleaving.
        program: the program that fails.
        found: the counterexample.
        strict_errors: require kcache's error types.
        detail: the detail of the finding.
    """
    program = replace(program, hash_seed=own_hash_seed(), may_evict=subject.target.may_evict)
    runner = ProgramRunner(subject, program)
    problem = found.problem
    interleaving = render_interleaving(runner, found.schedule, program_texts(runner), problem)
    told = explained(program, found.execution, runner.final_reads, strict_errors)
    is_about_calls = problem.kind in (FindingKind.NONLINEARIZABLE, FindingKind.EXCEPTION)
    token = ReplayToken(
        subject.target.name,
        program,
        problem.kind,
        found.schedule,
        subject.granularity,
        subject.fingerprint,
        subject.instrument,
        strict_errors,
    )
    return Finding(
        problem.kind,
        PHASE,
        (told.reason if is_about_calls else "") or interleaving.summary or problem.summary,
        program,
        calls=told.calls if is_about_calls else (),
        core=told.core if is_about_calls else (),
        detail=detail,
        schedule=PROGRAM_TOKENS.encode(token),
        interleaving=interleaving,
        anomaly=told.anomaly if is_about_calls else None,
        rule=problem.rule,
    )
