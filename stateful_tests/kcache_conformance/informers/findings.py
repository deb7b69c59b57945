"""What a reader gets to see of an informer that is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from kcache_model.finding import Finding
from kcache_model.informers.program import InformerProgram
from kcache_model.informers.script import script
from kcache_stress.explorer.execution import Problem
from kcache_stress.explorer.replay_token import ReplayToken, TokenFormat

InformerToken: TypeAlias = ReplayToken[InformerProgram]

TOKENS: Final = TokenFormat[InformerProgram]("ki1.", InformerProgram.encode, InformerProgram.decode)

_MOST_LINES: Final = 60
_REPEATED_WITHIN: Final = 4
_HARNESS: Final = re.compile(
    r", (threading|(pipeline|observer|witness|fake_server|watch_stream|history|answers|requests)\.py:)"
)
"""Steps that no reader wants to see."""


def finding_of(
    phase: str,
    problem: Problem,
    token: InformerToken,
    *,
    detail: str = "",
    story: Sequence[str] = (),
) -> Finding:
    """The finding of a program that goes wrong.

    Args:
        phase: which one found it.
        problem: what is wrong.
        token: the program, and where there is one, its schedule.
        detail: further lines, such as stacks.
        story: what the schedule does, line by line.
    """
    return Finding(
        problem.kind,
        phase,
        problem.summary,
        detail=detail or str(token.program),
        schedule=TOKENS.encode(replace(token, kind=problem.kind)),
        interleaving="\n".join(_shortened(story)),
        script=script(token.program, token.target),
    )


def bare_finding(phase: str, problem: Problem, target: str, program: InformerProgram) -> Finding:
    """The finding before it is made smaller."""
    return finding_of(phase, problem, InformerToken(target, program, problem.kind))


def _shortened(story: Sequence[str]) -> Sequence[str]:
    """The steps of the informer; of a long story the end: what goes wrong is there."""
    story = _without_repetition([line for line in story if not _HARNESS.search(line)] or story)
    if len(story) <= _MOST_LINES:
        return story
    return [f"... ({len(story) - _MOST_LINES} lines before)", *story[-_MOST_LINES:]]


def _without_repetition(story: Sequence[str]) -> Sequence[str]:
    """Who looks again and again whether something has changed is told of once."""
    kept: list[str] = []
    for line in story:
        if line not in kept[-_REPEATED_WITHIN:]:
            kept.append(line)
    return kept
