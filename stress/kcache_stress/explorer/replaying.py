"""Follows the schedule of a counterexample again, perhaps on a changed implementation."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kcache_model.finding import Finding
from kcache_model.program import Program
from kcache_model.watch import Unwatched, Watch

from .counterexample import Counterexample, replayed
from .explore import ExploreOptions, StrategyName, explore
from .findings import told_finding
from .judgement.program_judge import ProgramJudge
from .program_runner import ProgramRunner
from .replay_token import ReplayToken
from .strategies.interface import Coverage
from .subject import load_subject

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


def replay_token(token: ReplayToken[Program], watch: Watch | None = None) -> Replayed:
    """Follow the schedule; where it does not show the problem any more, search all interleavings of the program.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: it cannot be scheduled any more.
    """
    watch = watch or Unwatched()
    subject = load_subject(token.target, instrument=token.instrument, granularity=token.granularity)
    is_same = subject.fingerprint == token.fingerprint
    watch.begin(token.program)
    subject = subject.settled()
    runner = ProgramRunner(subject, token.program)
    judge = ProgramJudge(token.program, runner.final_reads, strict_errors=token.strict_errors)
    execution, problem, followed = replayed(runner, judge, token.schedule)
    runner.clean_up()
    watch.rest()
    if problem is not None:
        found = Counterexample(token.schedule, problem, execution, execution.preemptions)
        finding = told_finding(subject, token.program, found, strict_errors=token.strict_errors)
        changed = "" if is_same else "; the sources have changed since"
        return Replayed(ReplayAnswer.REPRODUCED, f"the same schedule still fails{changed}", finding)
    options = ExploreOptions(
        StrategyName.AUTO, token.granularity, seconds=_SEARCH_SECONDS, strict_errors=token.strict_errors
    )
    explored = explore(subject, token.program, options, watch)
    if explored.finding is not None:
        note = "the schedule does not fail any more, but another one of the same program does"
        return Replayed(ReplayAnswer.REPRODUCED, note, explored.finding)
    fits = "the schedule does not fail any more" if followed else "the schedule does not fit any more"
    if explored.coverage is Coverage.EXHAUSTED:
        note = f"{fits}, and no interleaving of its program fails ({explored.executions} executions)"
        return Replayed(ReplayAnswer.FIXED, note)
    same = "; the sources are the same, so the target does not do the same each time" if is_same else ""
    return Replayed(ReplayAnswer.CHANGED, f"{fits}; searching the program ended with: {explored.coverage.value}{same}")
