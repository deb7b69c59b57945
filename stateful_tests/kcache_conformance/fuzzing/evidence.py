"""Evidence of the engines: a broken rule, and the objects that break it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .judging.violation import InputClass, Symptom, Violation
from .objects.fuzzed_object import FuzzedObject
from .rules import Rule


class Engine(enum.StrEnum):
    """The engine that has found a broken rule."""

    HYPOTHESIS = "hypothesis"
    COMPARISONS = "comparisons"
    CROSSHAIR = "crosshair"
    PROGRAMS = "programs"
    THREADS = "threads"
    EXPLORER = "explorer"
    PERTURBATIONS = "worlds"


@dataclass(frozen=True)
class Evidence:
    """One broken rule.

    Attributes:
        violation: the rule, and the symptom.
        input_class: the class of the objects.
        engine: the engine that found it.
        fuzzed_objects: the objects; all before the last must be passed to the function first, in this order.
        setting: further conditions, as text: another hash seed, two threads.
        details: the further conditions for a replay, as plain JSON.
    """

    violation: Violation
    input_class: InputClass
    engine: Engine
    fuzzed_objects: tuple[FuzzedObject, ...]
    setting: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def symptom(self) -> Symptom:
        """The symptom, which is reported once; see :meth:`Violation.symptom`."""
        return self.violation.symptom(self.input_class)

    @property
    def rule(self) -> Rule:
        """The broken rule."""
        return self.violation.rule


@dataclass(frozen=True)
class EngineReport:
    """The work of one engine.

    Attributes:
        engine: the engine.
        did: the number of objects, calls or interleavings, as text.
        missed: the part that it could not analyse, and the reason; empty if there is none.
        seconds: its duration.
    """

    engine: Engine
    did: str
    missed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class _Shown:
    """A placeholder for an object of another process that is no plain data."""

    text: str

    def __repr__(self) -> str:
        return self.text


def encode_evidence(evidence: Evidence) -> dict[str, Any]:
    """Convert evidence into plain JSON."""
    return {
        "rule": evidence.rule.value,
        "what": evidence.violation.what,
        "place": evidence.violation.place,
        "input_class": evidence.input_class.value,
        "engine": evidence.engine.value,
        "fuzzed_objects": [
            {"tree": fuzzed_object.tree} if fuzzed_object.is_plain else {"shown": repr(fuzzed_object.original)}
            for fuzzed_object in evidence.fuzzed_objects
        ],
        "setting": evidence.setting,
        "details": dict(evidence.details),
    }


def decode_evidence(data: Mapping[str, Any]) -> Evidence:
    """Convert plain JSON into evidence; the inverse of :func:`encode_evidence`."""
    return Evidence(
        Violation(Rule(data["rule"]), data["what"], data["place"]),
        InputClass(data["input_class"]),
        Engine(data["engine"]),
        tuple(
            FuzzedObject(part["tree"]) if "tree" in part else FuzzedObject(None, _Shown(part["shown"]))
            for part in data["fuzzed_objects"]
        ),
        data["setting"],
        data["details"],
    )
