"""Follows the schedule of a counterexample again, perhaps on a changed implementation."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from kcache_model.codec import decode_finding, encode_finding
from kcache_model.finding import Finding
from kcache_model.watch import Unwatched, Watch

from ..isolation import STARTUP_SECONDS, raise_if_failed, run_job
from ..isolation.worker import Outlet
from .batch import stopped
from .counterexample import Counterexample, replayed
from .explore import ExploreOptions, StrategyName, explore
from .findings import told_finding
from .judgement.program_judge import ProgramJudge
from .program_runner import ProgramRunner
from .replay_token import Token, decode_token
from .sandbox import CannotExploreError
from .strategies.interface import Coverage
from .subject import load_subject
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


def replay_token(token: Token, watch: Watch | None = None) -> Replayed:
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


def replay_in_child(word: str, *, patience_seconds: float = 3.0) -> Replayed:
    """The same in a child process, which may hang or crash.

    Raises:
        FormatError: the word is damaged.
        TargetError: there is no such target.
        CannotExploreError: it cannot be scheduled any more.
        HarnessError: the harness failed.
    """
    token = decode_token(word)
    answers: list[dict[str, Any]] = []
    end = run_job(
        f"{__name__}:_replay_job",
        {"word": word},
        on_event=answers.append,
        deadline_seconds=STARTUP_SECONDS + 2 * _SEARCH_SECONDS,
        patience_seconds=patience_seconds,
        hash_seed=token.program.hash_seed,
    )
    raise_if_failed(end)
    if not answers:
        return Replayed(ReplayAnswer.REPRODUCED, f"the process ended with a {end.how}", stopped(end))
    data = answers[-1]
    if "refused" in data:
        raise CannotExploreError(data["refused"])
    finding = data["finding"]
    return Replayed(ReplayAnswer(data["answer"]), data["note"], None if finding is None else decode_finding(finding))


def _replay_job(outlet: Outlet, word: str) -> None:
    try:
        found = replay_token(decode_token(word), outlet.watch)
    except (CannotExploreError, UncontrolledError) as error:
        outlet.send({"event": "replayed", "refused": str(error)})
        return
    outlet.send(
        {
            "event": "replayed",
            "answer": found.answer.value,
            "note": found.note,
            "finding": None if found.finding is None else encode_finding(found.finding),
        }
    )
