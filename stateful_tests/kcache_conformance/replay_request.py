"""Replay of a finding, as the arguments of ``kcache replay``: what a report prints, and what is saved."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kcache_model.finding import Finding
from kcache_model.indexers.codec import encode_blob
from kcache_model.indexers.program import Program
from kcache_model.rules import Contract, rules_in


@dataclass(frozen=True)
class ReplayRequest:
    """What shows a finding again.

    Attributes:
        words: a replay token; or a target and a program, which carries no schedule.
        strict_errors: whether kcache's error types are asked for; a token says so itself.
        contract: by which promises the target is judged; likewise.
    """

    words: tuple[str, ...]
    strict_errors: bool = False
    contract: Contract = Contract.CLIENT_GO

    @property
    def command(self) -> str:
        """The line to paste."""
        from .token_trust import needs_trust  # not for a run that finds nothing

        options = " --strict-errors" * self.strict_errors + " --strict" * (self.contract is Contract.STRICT)
        options += " --trust" * needs_trust(self.words)
        return f"kcache replay {shlex.join(self.words)}{options}"


def plain_request(request: ReplayRequest) -> dict[str, Any]:
    """A replay as plain JSON."""
    return {
        "words": list(request.words),
        "strict_errors": request.strict_errors,
        "contract": request.contract.value,
    }


def request_of(data: Mapping[str, Any]) -> ReplayRequest:
    """The inverse of :func:`plain_request`; anything else raises what it leads to."""
    words = tuple(map(str, data["words"]))
    return ReplayRequest(words, bool(data["strict_errors"]), Contract(data["contract"]))


def replay_request(finding: Finding, target: str, *, strict_errors: bool = False) -> ReplayRequest | None:
    """How the finding is shown again; ``None`` if it is not: it has no program, or a local factory made the target."""
    if "<" in target:
        return None
    if finding.schedule:
        return ReplayRequest((finding.schedule,))
    if not isinstance(finding.program, Program):
        return None
    rule = rules_in("kcache_model.indexers").get(finding.rule)
    contract = Contract.CLIENT_GO if rule is None else rule.contract
    return ReplayRequest((target, encode_blob(finding.program)), strict_errors, contract)


def long_command(request: ReplayRequest) -> str:
    """The command that works on any machine."""
    return request.command


def replay_command(
    finding: Finding,
    target: str,
    *,
    strict_errors: bool = False,
    command_of: Callable[[ReplayRequest], str] = long_command,
) -> str | None:
    """The command that shows the finding again; ``None`` if there is none. ``command_of`` may be a shorter one."""
    request = replay_request(finding, target, strict_errors=strict_errors)
    return None if request is None else command_of(request)
