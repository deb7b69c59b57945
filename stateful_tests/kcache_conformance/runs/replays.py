"""Replays: run the finding of a replay token again in a child process, perhaps on a changed target."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from kcache_conformance.isolation import STARTUP_SECONDS, raise_if_failed, run_job
from kcache_model.codec import decode_finding, encode_finding
from kcache_model.errors import CannotExploreError, FormatError
from kcache_model.finding import FindingKind
from kcache_model.rules import Contract
from kcache_stress.target.replay_answer import SEARCH_SECONDS, ReplayAnswer, Replayed
from kcache_stress.target.replay_token import ReplayToken

from ..phases.suite_options import DEFAULT_TYPE, SuiteOptions
from ..targets.replay_request import ReplayRequest
from ..targets.target_type import TargetType, execution_stopped
from ..targets.target_types import target_type_named, trusted_type_of_token
from ..targets.token_trust import require_trusted
from .repeated_hang import RETURNED, repeated_alone

if TYPE_CHECKING:
    from kcache_conformance.isolation.worker import Outlet

_SECONDS: Final = 30.0


def replay_in_child(
    target_type: TargetType, word: str, *, seconds: float = SEARCH_SECONDS, patience_seconds: float = 3.0
) -> Replayed:
    """Replay the token ``word``.

    Args:
        target_type: of its target.
        word: the token.
        seconds: how long the interleavings of its program are searched if its schedule does not fail any more.
        patience_seconds: how long one call may take.

    Raises:
        FormatError: the token is damaged.
        TargetError: there is no such target.
        CannotExploreError: the target cannot be scheduled any more.
        HarnessError: the harness failed.
    """
    token: ReplayToken[Any] = target_type.tokens.decode(word)
    seed = getattr(token.program, "hash_seed", 0)
    is_unsteady = getattr(token.program, "is_unsteady", False)
    replayed = Replayed(ReplayAnswer.UNKNOWN, RETURNED)
    for hash_seed in (seed, int(not seed)) if is_unsteady else (seed,):
        replayed = _replayed(target_type, word, token, hash_seed, seconds, patience_seconds)
        if replayed.answer is ReplayAnswer.REPRODUCED:
            break
    return replayed


def _replayed(
    target_type: TargetType,
    word: str,
    token: ReplayToken[Any],
    hash_seed: int,
    seconds: float,
    patience_seconds: float,
) -> Replayed:
    answers: list[dict[str, Any]] = []
    end = run_job(
        f"{__name__}:replay_job",
        {"target_type": target_type.name, "word": word, "seconds": seconds},
        on_event=answers.append,
        deadline_seconds=STARTUP_SECONDS + _SECONDS + seconds,
        patience_seconds=patience_seconds,
        hash_seed=hash_seed,
    )
    raise_if_failed(end)
    if not answers:
        options = SuiteOptions(
            kind=target_type.name,
            strict_errors=token.strict_errors,
            instrument=token.instrument,
            patience_seconds=patience_seconds,
        )
        stopped = execution_stopped(target_type, token.target, end, options)
        if end.outside:
            return Replayed(ReplayAnswer.UNKNOWN, f"a call waits for {end.outside}")
        again = repeated_alone(stopped, target_type, token.target, patience_seconds)
        if again is None:
            return Replayed(ReplayAnswer.UNKNOWN, RETURNED)
        return Replayed(ReplayAnswer.REPRODUCED, f"the process ended with a {end.how}", again)
    data = answers[-1]
    if "refused" in data:
        raise CannotExploreError(data["refused"])
    finding = data["finding"]
    return Replayed(
        ReplayAnswer(data["answer"]),
        data["note"],
        None if finding is None else decode_finding(finding, target_type.codec),
    )


def replay_job(outlet: Outlet, target_type: str, word: str, seconds: float = SEARCH_SECONDS) -> None:
    """Replay a token and send the answer; runs in the child process."""
    from kcache_stress.runtime.threads.virtual_thread import UncontrolledError

    try:
        chosen = target_type_named(target_type)
        replayed = chosen.replay(chosen.tokens.decode(word), outlet.watch, seconds)
    except (CannotExploreError, UncontrolledError) as error:
        outlet.send({"event": "replayed", "refused": str(error)})
        return
    finding = None if replayed.finding is None else encode_finding(replayed.finding, chosen.codec)
    outlet.send({"event": "replayed", "answer": replayed.answer.value, "note": replayed.note, "finding": finding})


def token_of_program(
    target_type: TargetType,
    target: str,
    program: Any,
    *,
    strict_errors: bool = False,
    contract: Contract = Contract.CLIENT_GO,
) -> str:
    """Return the token of a program that has no schedule: a finding of any kind is searched for."""
    is_strict = contract is Contract.STRICT
    token = ReplayToken(target, program, FindingKind.DIVERGENCE, strict_errors=strict_errors, is_strict=is_strict)
    return target_type.tokens.encode(token)


def replay_requested(
    request: ReplayRequest, named: Collection[str], *, seconds: float = _SECONDS, patience_seconds: float = 3.0
) -> Replayed:
    """Replay the arguments of ``kcache replay``.

    Args:
        request: the arguments.
        named: targets that the user has named: the request may run them, and the code of the project.
        seconds: how long to try a program whose schedule cannot be repeated.
        patience_seconds: how long one call may take.

    Raises:
        FormatError: a word is damaged.
        TargetError: there is no such target, or it is neither named nor the project's.
        CannotExploreError: the target cannot be scheduled any more.
        HarnessError: the harness failed.
    """
    match request.words:
        case (word,):
            target_type = trusted_type_of_token(word, named=named)
            if target_type is None:
                raise FormatError(f"{word[:40]} is not a replay token")
            return replay_in_child(target_type, word, seconds=seconds, patience_seconds=patience_seconds)
        case (target, program):
            target_type = target_type_named(DEFAULT_TYPE)
            assert target_type.codec.decode_word is not None
            decoded = target_type.codec.decode_word(program)
            require_trusted(request.words, named)
            word = token_of_program(
                target_type, target, decoded, strict_errors=request.strict_errors, contract=request.contract
            )
            return replay_in_child(target_type, word, seconds=seconds, patience_seconds=patience_seconds)
        case _:
            raise FormatError("give a replay token, or a target and a program")
