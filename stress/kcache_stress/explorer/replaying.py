"""Follows the schedule of a counterexample again, perhaps on a changed implementation."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from kcache_model.finding import Finding
from kcache_model.watch import Watch

from .counterexample import Counterexample, replayed
from .explore import ExploreOptions, StrategyName, explore
from .laboratory import Laboratory
from .replay_token import ReplayToken
from .sandbox import CannotExploreError
from .sources import fingerprint_of
from .strategies.interface import Coverage
from .virtual.virtual_thread import UncontrolledError

_SEARCH_SECONDS = 10.0


class ReplayAnswer(enum.StrEnum):
    """What became of a counterexample."""

    REPRODUCED = "reproduced"
    FIXED = "fixed"
    CHANGED = "changed"
    """The implementation has changed so much that the schedule does not fit, and no search settled the matter."""


@dataclass(frozen=True)
class Replayed:
    """The answer, what it rests on, and the finding if there still is one."""

    answer: ReplayAnswer
    note: str
    finding: Finding | None = None


def follow(laboratory: Laboratory[Any, Any], token: ReplayToken[Any], watch: Watch) -> Replayed:
    """Follow the schedule of a token; where it shows no problem any more, search all interleavings of its program.

    Args:
        laboratory: of its target, at its granularity.
        token: has a schedule.
        watch: told of the program, and of each execution.

    Raises:
        CannotExploreError: the target cannot be scheduled any more.
    """
    program, strict_errors = token.program, token.strict_errors
    laboratory.announce(program, watch)
    try:
        with laboratory.opened(program, strict_errors=strict_errors, pulse=watch.alive) as (runner, judge):
            execution, problem, followed = replayed(runner, judge, token.schedule)
            is_same = fingerprint_of(runner.sandbox.sources) == token.fingerprint
            runner.clean_up()
            watch.rest()
        if problem is not None:
            found = Counterexample(token.schedule, problem, execution, execution.preemptions)
            finding = laboratory.finding(program, problem, found, strict_errors=strict_errors)
            changed = "" if is_same or not token.fingerprint else "; the sources have changed since"
            return Replayed(ReplayAnswer.REPRODUCED, f"the same schedule still fails{changed}", finding)
    except UncontrolledError as error:
        raise CannotExploreError(str(error)) from error
    options = ExploreOptions(StrategyName.AUTO, token.granularity, seconds=_SEARCH_SECONDS, strict_errors=strict_errors)
    explored = explore(laboratory, program, options, watch)
    if explored.finding is not None:
        note = "the schedule does not fail any more, but another one of the same program does"
        return Replayed(ReplayAnswer.REPRODUCED, note, explored.finding)
    fits = "the schedule does not fail any more" if followed else "the schedule does not fit any more"
    if explored.coverage is Coverage.EXHAUSTED:
        note = f"{fits}, and no interleaving of its program fails ({explored.executions} executions)"
        return Replayed(ReplayAnswer.FIXED, note)
    same = "; the sources are the same, so the target does not do the same each time" if is_same else ""
    return Replayed(ReplayAnswer.CHANGED, f"{fits}; searching the program ended with: {explored.coverage.value}{same}")
