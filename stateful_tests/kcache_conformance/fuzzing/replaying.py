"""Tries again what a word describes: is the rule still broken?"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from kcache_conformance.isolation import STARTUP_SECONDS, raise_if_failed, run_job
from kcache_conformance.isolation.worker import Outlet
from kcache_model.target import TargetError

from .engines.interleavings import explore_calls
from .engines.programs import replay_program
from .engines.threads import run_threads
from .engines.worlds import USUAL, Order, World, visit
from .evidence import Engine
from .judging.inline import Inline
from .judging.outcome import answer_of
from .memory import limit_memory
from .objects.codec import NotPlainError
from .objects.specimen import Specimen
from .rules import Rule
from .subject import load_subject
from .trial import Trial, decode_trial

_SECONDS = 10.0
_GRACE_SECONDS = 9.0


class Answer(enum.StrEnum):
    """What trying again showed."""

    REPRODUCED = "reproduced"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    """It did not happen again, which says little: real threads cannot be repeated."""


@dataclass(frozen=True)
class Replayed:
    """The answer, and what the function did this time."""

    answer: Answer
    what: str


def replay_trial(word: str, *, patience_seconds: float = 3.0) -> Replayed:
    """Try a finding again, in child processes.

    Raises:
        FormatError: the word is damaged.
        TargetError: there is no such function any more.
        HarnessError: kcache itself failed.
    """
    trial = decode_trial(word)
    if trial.engine is Engine.WORLDS:
        return _in_worlds(trial, patience_seconds)
    answers: list[Replayed] = []
    end = run_job(
        f"{__name__}:trial_job",
        {"word": word},
        on_event=lambda event: answers.append(Replayed(Answer(event["answer"]), event["what"])),
        deadline_seconds=STARTUP_SECONDS + 2 * _SECONDS,
        patience_seconds=patience_seconds,
        grace_seconds=_GRACE_SECONDS + patience_seconds,
    )
    raise_if_failed(end)
    match end.how:
        case "hang":
            return Replayed(Answer.REPRODUCED, f"it did not return within {patience_seconds:g} s")
        case "crash":
            return Replayed(Answer.REPRODUCED, f"it ended the process: {end.message.splitlines()[0]}")
    return answers[0]


def trial_job(outlet: Outlet, word: str) -> None:
    """Runs in the child."""
    limit_memory()
    try:
        _try(outlet, decode_trial(word))
    except (NotPlainError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise TargetError(f"the word does not fit the function any more, or is damaged: {error}") from error


def _try(outlet: Outlet, trial: Trial) -> None:
    subject = load_subject(trial.spec, trial.kind)
    specimens = [Specimen(tree) for tree in trial.trees]
    outlet.watch.note("replay")

    def answer(found: Answer, what: str) -> None:
        outlet.watch.rest()
        outlet.send({"event": "answer", "answer": found.value, "what": what})

    match trial.engine:
        case Engine.PROGRAMS:
            fault = replay_program(subject.function, trial.details["keys"], trial.details["puts"], specimens)
            answer(Answer.FIXED if fault is None else Answer.REPRODUCED, fault or "the index stays right")
        case Engine.THREADS:
            others = [Specimen(tree) for tree in trial.details.get("others", ())]
            outlet.watch.rest()
            evidence, calls = run_threads(subject.function, subject.kind, [*specimens, *others], seconds=_SECONDS / 4)
            said = f"nothing wrong in {calls:,} calls, which is no proof" if evidence is None else evidence.breach.what
            answer(Answer.UNKNOWN if evidence is None else Answer.REPRODUCED, said)
        case Engine.EXPLORER:
            outlet.watch.rest()
            result = explore_calls(subject, specimens, seconds=_SECONDS)
            if result.evidence is not None:
                answer(Answer.REPRODUCED, f"{result.evidence.breach.what}\n{result.evidence.setting}")
            else:
                done = result.is_complete and not result.reason
                said = f"{result.executions:,} interleavings without it"
                answer(Answer.FIXED if done else Answer.UNKNOWN, f"{said}; {result.reason}" if result.reason else said)
        case _:
            inline = Inline(subject.function, subject.kind, trial.most_values)
            for specimen in specimens[:-1]:
                answer_of(subject.function, subject.kind, specimen.fresh())
            breaches = {breach.rule: breach.what for breach in inline.breaches(specimens[-1])}
            what = breaches.get(trial.rule)
            answer(Answer.FIXED if what is None else Answer.REPRODUCED, what or "the rule is kept")


def _in_worlds(trial: Trial, patience_seconds: float) -> Replayed:
    def meanings(trees: list[Any], world: World) -> tuple[Any, ...]:
        seen = visit(trial.spec, trial.kind, trees, world, patience_seconds=patience_seconds)
        if seen.failure:
            raise TargetError(seen.failure)
        return seen.meanings

    trees = list(trial.trees)
    if trial.rule is Rule.HISTORY:
        one, other = meanings([trees[-1]], USUAL)[-1], meanings(trees, USUAL)[-1]
    else:
        details = dict(trial.details)
        world = World(**{**details, "order": Order(details["order"])}) if details else USUAL
        one, other = meanings(trees, USUAL)[-1], meanings(trees, world)[-1]
    if one == other:
        return Replayed(Answer.FIXED, "the same values now")
    return Replayed(Answer.REPRODUCED, f"{one} first, then {other}")
