"""Findings about informers, with replay token, script and details for the reader."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from kcache_model.finding import Finding
from kcache_model.informers.program import InformerProgram
from kcache_model.informers.script import script
from kcache_model.interleaving import Interleaving
from kcache_stress.target.replay_token import ReplayToken, TokenFormat

if TYPE_CHECKING:
    from kcache_stress.engine.execution import Problem

InformerToken: TypeAlias = ReplayToken[InformerProgram]

TOKENS: Final = TokenFormat[InformerProgram]("ki1.", InformerProgram.encode, InformerProgram.decode)


def finding_of(
    phase: str,
    problem: Problem,
    token: InformerToken,
    *,
    detail: str = "",
    interleaving: Interleaving | None = None,
) -> Finding:
    """Create the finding of a failing program.

    Args:
        phase: the name of the phase.
        problem: the problem.
        token: the program, and its schedule if there is one.
        detail: further lines, such as stacks; by default the program.
        interleaving: the steps of the schedule.
    """
    return Finding(
        problem.kind,
        phase,
        (interleaving.summary if interleaving is not None else "") or problem.summary,
        detail=detail or str(token.program),
        schedule=TOKENS.encode(replace(token, kind=problem.kind)),
        interleaving=interleaving,
        script=script(token.program, token.target),
        rule=problem.rule,
    )


def minimal_finding(phase: str, problem: Problem, target: str, program: InformerProgram) -> Finding:
    """Create a finding whose program has not been minimised yet."""
    return finding_of(phase, problem, InformerToken(target, program, problem.kind))
