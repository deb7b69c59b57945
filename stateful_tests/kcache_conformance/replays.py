"""Findings shown again, perhaps on a changed target: the replay of a token, in a child process."""

from __future__ import annotations

from typing import Any, Final

from kcache_conformance.isolation import STARTUP_SECONDS, raise_if_failed, run_job
from kcache_conformance.isolation.worker import Outlet
from kcache_model.codec import decode_finding, encode_finding
from kcache_stress.explorer.replay import ReplayAnswer, Replayed
from kcache_stress.explorer.replay_token import ReplayToken
from kcache_stress.explorer.sandbox import CannotExploreError
from kcache_stress.explorer.virtual.virtual_thread import UncontrolledError

from .target_type import TargetType, execution_stopped
from .target_types import target_type_named

_SECONDS: Final = 30.0


def replay_in_child(target_type: TargetType, word: str, *, patience_seconds: float = 3.0) -> Replayed:
    """Show again what the replay token ``word`` stands for.

    Raises:
        FormatError: the token is damaged.
        TargetError: there is no such target.
        CannotExploreError: it cannot be scheduled any more.
        HarnessError: the harness failed.
    """
    token: ReplayToken[Any] = target_type.tokens.decode(word)
    answers: list[dict[str, Any]] = []
    end = run_job(
        f"{__name__}:replay_job",
        {"target_type": target_type.name, "word": word},
        on_event=answers.append,
        deadline_seconds=STARTUP_SECONDS + _SECONDS,
        patience_seconds=patience_seconds,
        hash_seed=getattr(token.program, "hash_seed", 0),
    )
    raise_if_failed(end)
    if not answers:
        stopped = execution_stopped(
            target_type,
            token.target,
            end,
            strict_errors=token.strict_errors,
            instrument=token.instrument,
            patience_seconds=patience_seconds,
        )
        return Replayed(ReplayAnswer.REPRODUCED, f"the process ended with a {end.how}", stopped)
    data = answers[-1]
    if "refused" in data:
        raise CannotExploreError(data["refused"])
    finding = data["finding"]
    return Replayed(
        ReplayAnswer(data["answer"]),
        data["note"],
        None if finding is None else decode_finding(finding, target_type.codec),
    )


def replay_job(outlet: Outlet, target_type: str, word: str) -> None:
    """Runs in the child: sends what became of the finding."""
    try:
        chosen = target_type_named(target_type)
        found = chosen.replay(chosen.tokens.decode(word), outlet.watch)
    except (CannotExploreError, UncontrolledError) as error:
        outlet.send({"event": "replayed", "refused": str(error)})
        return
    finding = None if found.finding is None else encode_finding(found.finding, chosen.codec)
    outlet.send({"event": "replayed", "answer": found.answer.value, "note": found.note, "finding": finding})
