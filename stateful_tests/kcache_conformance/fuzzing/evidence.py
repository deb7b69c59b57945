"""What the engines hand over: a broken rule, and the objects that show it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .judging.breach import Breach
from .judging.tiers import Tier
from .objects.specimen import Specimen
from .rules import Rule


class Engine(enum.StrEnum):
    """Who found something."""

    HYPOTHESIS = "hypothesis"
    COMPARISONS = "comparisons"
    CROSSHAIR = "crosshair"
    PROGRAMS = "programs"
    THREADS = "threads"
    EXPLORER = "explorer"
    WORLDS = "worlds"


@dataclass(frozen=True)
class Evidence:
    """One broken rule.

    Attributes:
        breach: which rule, and how it shows.
        tier: of the objects.
        engine: who found it.
        specimens: the objects; those before the last must be passed to the function first, in this order.
        setting: what else must be so, in words: another hash seed, two threads.
        details: the same for a replay, plain JSON.
    """

    breach: Breach
    tier: Tier
    engine: Engine
    specimens: tuple[Specimen, ...]
    setting: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rule(self) -> Rule:
        """The broken rule."""
        return self.breach.rule


@dataclass(frozen=True)
class EngineReport:
    """What one engine did.

    Attributes:
        engine: which one.
        did: in words: how many objects, calls, interleavings.
        missed: what it could not analyse, and why; empty if nothing.
        seconds: how long it took.
    """

    engine: Engine
    did: str
    missed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class _Shown:
    """Stands for an object of another process that is no plain data."""

    text: str

    def __repr__(self) -> str:
        return self.text


def encode_evidence(evidence: Evidence) -> dict[str, Any]:
    """As plain JSON."""
    return {
        "rule": evidence.rule.value,
        "what": evidence.breach.what,
        "tier": evidence.tier.value,
        "engine": evidence.engine.value,
        "specimens": [
            {"tree": specimen.tree} if specimen.is_plain else {"shown": repr(specimen.original)}
            for specimen in evidence.specimens
        ],
        "setting": evidence.setting,
        "details": dict(evidence.details),
    }


def decode_evidence(data: Mapping[str, Any]) -> Evidence:
    """The inverse of :func:`encode_evidence`."""
    return Evidence(
        Breach(Rule(data["rule"]), data["what"]),
        Tier(data["tier"]),
        Engine(data["engine"]),
        tuple(
            Specimen(part["tree"]) if "tree" in part else Specimen(None, _Shown(part["shown"]))
            for part in data["specimens"]
        ),
        data["setting"],
        data["details"],
    )
