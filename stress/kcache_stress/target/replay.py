"""Replay of a counterexample's schedule, possibly on a changed implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kcache_model.errors import CannotExploreError
from kcache_model.finding import FindingKind
from kcache_model.progress import ProgressListener

from ..engine.counterexample import Counterexample, replayed
from ..engine.strategy import Coverage
from ..modules.sources import fingerprint_of
from ..runtime.threads.virtual_thread import UncontrolledError
from .confirmation import Answer, Confirmation, with_confirmation
from .exploration_target import ExplorationTarget
from .explore import ExploreOptions, explore, seeking_data_races
from .replay_answer import SEARCH_SECONDS, ReplayAnswer, Replayed
from .replay_token import ReplayToken

_MORE = "not all were tried: increase --budget to try more"
_SAME = "the sources have not changed, so the target does not do the same each time"


def follow(
    exploration_target: ExplorationTarget[Any, Any],
    token: ReplayToken[Any],
    watch: ProgressListener,
    searches: Sequence[ExploreOptions] = (ExploreOptions(seconds=SEARCH_SECONDS),),
) -> Replayed:
    """Follow the schedule of a token; if it shows no problem any more, search the interleavings of its program.

    Args:
        exploration_target: the target of the token, at the granularity of the token.
        token: a token that has a schedule.
        watch: the listener that is notified of the program and of each execution.
        searches: the searches to run in turn until one finds a failure, covers everything, or runs out of budget.

    Raises:
        CannotExploreError: the explorer cannot schedule the target any more.
    """
    program, strict_errors = token.program, token.strict_errors
    seeks_data_races = token.kind is FindingKind.DATA_RACE
    exploration_target.announce(program, watch)
    try:
        open_runner = exploration_target.open_runner(program, strict_errors=strict_errors, pulse=watch.alive)
        with seeking_data_races(open_runner) if seeks_data_races else open_runner as (runner, judge):
            execution, problem, followed = replayed(runner, judge, token.schedule)
            while problem is None and runner.reset.leftover and runner.reset.reset_each_time():
                execution, problem, followed = replayed(runner, judge, token.schedule)
            is_same = fingerprint_of(runner.sandbox.sources) == token.fingerprint
            unseen = runner.sandbox.unseen(execution.trace, execution.hurry)
            runner.clean_up()
            watch.rest()
        if problem is not None:
            counterexample = Counterexample(token.schedule, problem, execution, execution.preemptions)
            finding = exploration_target.finding(program, problem, counterexample, strict_errors=strict_errors)
            confirmation = Confirmation(Answer.NOT_TRIED)
            if problem.kind is not FindingKind.DATA_RACE:
                confirmation = exploration_target.confirmation(
                    program, finding, counterexample, watch, is_seen=not unseen, strict_errors=strict_errors
                )
            finding = with_confirmation(finding, confirmation, unseen)
            finding = replace(finding, location=problem.location or finding.location)
            changed = "" if is_same or not token.fingerprint else "; the sources have changed since"
            return Replayed(ReplayAnswer.REPRODUCED, f"the same schedule still fails{changed}", finding)
    except UncontrolledError as error:
        raise CannotExploreError(str(error)) from error
    # If the target was fixed, its threads may take steps that the schedule does not contain.
    unfit = "" if followed else "; its schedule no longer applies"
    covered = -1
    others, rest = 0, ""
    for search in searches:
        options = replace(search, strict_errors=strict_errors, data_races=seeks_data_races)
        explored = explore(exploration_target, program, options, watch)
        others += explored.executions
        if explored.finding is not None:
            note = "the schedule does not fail any more, but another schedule of the same program does"
            return Replayed(ReplayAnswer.REPRODUCED, note, explored.finding)
        if explored.coverage is Coverage.EXHAUSTED:
            which = f"no interleaving of its program fails ({explored.executions} executions)"
            return _silent(f"it does not fail any more: {which}{unfit}", is_same)
        if explored.coverage is not Coverage.BOUND_REACHED:
            rest = f"no proof: {explored.no_proof}" if explored.no_proof else _MORE
            break
        covered = options.preemptions
    if covered >= 0:
        which = f"no interleaving of its program with up to {covered} preemptions fails"
        return _silent(f"it does not fail any more: {which}{unfit}", is_same)
    same = f"; {_SAME}" if is_same else ""
    return Replayed(
        ReplayAnswer.UNKNOWN if is_same else ReplayAnswer.CHANGED,
        f"it passes now, and so do {others} other executions of its program{unfit}; {rest}{same}",
    )


def _silent(note: str, is_same: bool) -> Replayed:
    """Return FIXED because no failure is left; UNKNOWN if the sources are unchanged."""
    if is_same:
        return Replayed(ReplayAnswer.UNKNOWN, f"{note}; but {_SAME}")
    return Replayed(ReplayAnswer.FIXED, note)
