"""Replay requests: the arguments of ``kcache replay`` for a finding, as reports print and ``.kcache`` saves them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kcache_model.finding import Finding
from kcache_model.rules import Contract


@dataclass(frozen=True)
class ReplayRequest:
    """The arguments that replay a finding.

    Attributes:
        words: a replay token; or a target and a program, which carries no schedule.
        strict_errors: whether the target must raise kcache's error types; a token contains this itself.
        contract: the contract that the target is judged by; a token contains this itself.
    """

    words: tuple[str, ...]
    strict_errors: bool = False
    contract: Contract = Contract.CLIENT_GO

    @property
    def command(self) -> str:
        """The command line to paste into a terminal."""
        from .token_trust import needs_trust  # imported here: a run without findings does not need it

        options = " --strict-errors" * self.strict_errors + " --strict" * (self.contract is Contract.STRICT)
        options += " --trust" * needs_trust(self.words)
        return f"kcache replay {shlex.join(self.words)}{options}"


def plain_request(request: ReplayRequest) -> dict[str, Any]:
    """Return a replay request as plain JSON."""
    return {
        "words": list(request.words),
        "strict_errors": request.strict_errors,
        "contract": request.contract.value,
    }


def request_of(data: Mapping[str, Any]) -> ReplayRequest:
    """Invert :func:`plain_request`; on other data, the errors of reading it are raised (KeyError, TypeError, ...)."""
    words = tuple(map(str, data["words"]))
    return ReplayRequest(words, bool(data["strict_errors"]), Contract(data["contract"]))


def replay_request(finding: Finding, target: str) -> ReplayRequest | None:
    """Return the request that replays a finding.

    ``None`` if the finding has no token, or if a local factory built the target (its name contains ``<``).
    """
    if "<" in target:
        return None
    return ReplayRequest((finding.schedule,)) if finding.schedule else None


def long_command(request: ReplayRequest) -> str:
    """Return the command that works on any machine."""
    return request.command


def replay_command(
    finding: Finding,
    target: str,
    *,
    command_of: Callable[[ReplayRequest], str] = long_command,
) -> str | None:
    """Return the command that replays the finding; ``None`` if there is none. ``command_of`` may shorten it."""
    request = replay_request(finding, target)
    return None if request is None else command_of(request)
