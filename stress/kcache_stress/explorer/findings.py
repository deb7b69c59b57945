"""From a problem to a finding: what a reader gets to see."""

from __future__ import annotations

from dataclasses import replace

from kcache_model.finding import Finding, FindingKind
from kcache_model.outcomes import Outcome
from kcache_model.program import Program

from ..isolation import own_hash_seed
from ..report.interleaving import interleaving_text
from .counterexample import Counterexample
from .execution import Problem
from .history import explained
from .program_runner import ProgramRunner
from .replay_token import PROGRAM_TOKENS, ReplayToken
from .story.narration import narrate
from .subject import Subject

PHASE = "explorer"


def bare_finding(program: Program, problem: Problem) -> Finding:
    """A finding without a schedule that shows it."""
    return Finding(problem.kind, PHASE, problem.summary, program)


def told_finding(
    subject: Subject, program: Program, found: Counterexample[Outcome], *, strict_errors: bool, detail: str = ""
) -> Finding:
    """A finding with the interleaving, the reason why no order explains it, and the word that repeats it."""
    program = replace(program, hash_seed=own_hash_seed())
    runner = ProgramRunner(subject, program)
    narration = narrate(runner, found.schedule)
    runner.clean_up()
    problem = found.problem
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
        (told.reason if is_about_calls else "") or problem.summary,
        program,
        calls=told.calls if is_about_calls else (),
        core=told.core if is_about_calls else (),
        detail=detail,
        schedule=PROGRAM_TOKENS.encode(token),
        interleaving=interleaving_text(narration, problem),
        anomaly=told.anomaly if is_about_calls else None,
    )
