"""Replay of a fuzzing finding from its token: it checks whether the rule is still broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcache_conformance.isolation import STARTUP_SECONDS, raise_if_failed, run_job
from kcache_conformance.isolation.worker import Outlet
from kcache_model.call_program import HASH_SEEDS
from kcache_model.decoding import is_integer
from kcache_model.errors import FormatError, TargetError
from kcache_stress.target.replay_answer import ReplayAnswer, Replayed

from .engines.interleavings import explore_calls
from .engines.perturbations import UNPERTURBED, Order, Perturbation, run_perturbed
from .engines.programs import replay_program
from .engines.threads import run_threads
from .evidence import Engine
from .judging.inline import Inline
from .judging.outcome import answer_of
from .memory import limit_memory
from .objects.fuzzed_object import FuzzedObject
from .objects.trees import NotPlainError
from .rules import Rule
from .subject import load_subject
from .trial import Trial, decode_trial

_SECONDS = 10.0
_GRACE_SECONDS = 9.0
_MOST_DAYS = 50_000


def replay_trial(token: str, *, patience_seconds: float = 3.0) -> Replayed:
    """Try a finding again, in child processes.

    Raises:
        FormatError: the replay token is damaged.
        TargetError: the function no longer exists.
        HarnessError: kcache itself failed.
    """
    trial = decode_trial(token)
    if trial.engine is Engine.PERTURBATIONS:
        return _perturbed(trial, patience_seconds)
    answers: list[Replayed] = []
    end = run_job(
        f"{__name__}:trial_job",
        {"token": token},
        on_event=lambda event: answers.append(Replayed(ReplayAnswer(event["answer"]), event["what"])),
        deadline_seconds=STARTUP_SECONDS + 2 * _SECONDS,
        patience_seconds=patience_seconds,
        grace_seconds=_GRACE_SECONDS + patience_seconds,
    )
    raise_if_failed(end)
    match end.how:
        case "hang":
            return Replayed(ReplayAnswer.REPRODUCED, f"it did not return within {patience_seconds:g} s")
        case "crash":
            return Replayed(ReplayAnswer.REPRODUCED, f"it ended the process: {end.message.splitlines()[0]}")
    return answers[0]


def trial_job(outlet: Outlet, token: str) -> None:
    """Try the finding of a token again, and send the answer; runs in the child."""
    limit_memory()
    try:
        _try(outlet, decode_trial(token))
    except (NotPlainError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise TargetError(f"the replay token does not match the function any more, or is damaged: {error}") from error


def _try(outlet: Outlet, trial: Trial) -> None:
    subject = load_subject(trial.spec, trial.kind)
    fuzzed_objects = [FuzzedObject(tree) for tree in trial.trees]
    outlet.watch.note("replay")

    def answer(kind: ReplayAnswer, what: str) -> None:
        outlet.watch.rest()
        outlet.send({"event": "answer", "answer": kind.value, "what": what})

    match trial.engine:
        case Engine.PROGRAMS:
            fault = replay_program(subject.function, trial.details["keys"], trial.details["puts"], fuzzed_objects)
            answer(ReplayAnswer.FIXED if fault is None else ReplayAnswer.REPRODUCED, fault or "the index is correct")
        case Engine.THREADS:
            others = [FuzzedObject(tree) for tree in trial.details.get("others", ())]
            outlet.watch.rest()
            evidence, calls = run_threads(
                subject.function, subject.kind, [*fuzzed_objects, *others], seconds=_SECONDS / 4
            )
            said = (
                f"none of {calls:,} calls failed; this is not a proof" if evidence is None else evidence.violation.what
            )
            answer(ReplayAnswer.UNKNOWN if evidence is None else ReplayAnswer.REPRODUCED, said)
        case Engine.EXPLORER:
            outlet.watch.rest()
            result = explore_calls(subject, fuzzed_objects, seconds=_SECONDS)
            if result.evidence is not None:
                answer(ReplayAnswer.REPRODUCED, f"{result.evidence.violation.what}\n{result.evidence.setting}")
            else:
                is_complete = result.is_complete and not result.reason
                said = f"none of {result.executions:,} interleavings fails"
                answer(
                    ReplayAnswer.FIXED if is_complete else ReplayAnswer.UNKNOWN,
                    f"{said}; {result.reason}" if result.reason else said,
                )
        case _:
            inline = Inline(subject.function, subject.kind, trial.most_values)
            for fuzzed_object in fuzzed_objects[:-1]:
                answer_of(subject.function, subject.kind, fuzzed_object.fresh())
            violations = {violation.rule: violation.what for violation in inline.violations(fuzzed_objects[-1])}
            what = violations.get(trial.rule)
            answer(
                ReplayAnswer.FIXED if what is None else ReplayAnswer.REPRODUCED, what or "the function obeys the rule"
            )


def _perturbed(trial: Trial, patience_seconds: float) -> Replayed:
    def meanings(trees: list[Any], perturbation: Perturbation) -> tuple[Any, ...]:
        run = run_perturbed(trial.spec, trial.kind, trees, perturbation, patience_seconds=patience_seconds)
        if run.failure:
            raise TargetError(run.failure)
        return run.meanings

    trees = list(trial.trees)
    if trial.rule is Rule.HISTORY:
        one, other = meanings([trees[-1]], UNPERTURBED)[-1], meanings(trees, UNPERTURBED)[-1]
    else:
        perturbation = _perturbation(trial.details) if trial.details else UNPERTURBED
        one, other = meanings(trees, UNPERTURBED)[-1], meanings(trees, perturbation)[-1]
    if one == other:
        return Replayed(ReplayAnswer.FIXED, "the values are the same now")
    return Replayed(ReplayAnswer.REPRODUCED, f"{one} first, then {other}")


def _perturbation(details: Mapping[str, Any]) -> Perturbation:
    """Return the perturbation that a token describes.

    Raises:
        FormatError: the token describes no perturbation.
    """
    try:
        perturbation = Perturbation(**{**details, "order": Order(details["order"])})
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"the replay token is damaged; copy all of it ({error})") from None
    numbers = is_integer(perturbation.hash_seed) and is_integer(perturbation.days)
    is_typed = numbers and isinstance(perturbation.is_elsewhere, bool)
    if not is_typed or not 0 <= perturbation.hash_seed < HASH_SEEDS or abs(perturbation.days) > _MOST_DAYS:
        raise FormatError(f"the replay token is damaged; copy all of it ({perturbation})")
    return perturbation
