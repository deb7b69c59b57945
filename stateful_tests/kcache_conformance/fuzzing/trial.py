"""Replay token of a fuzzing finding, which can be pasted into a command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kcache_model.blob import pack, unpack
from kcache_model.errors import FormatError

from .evidence import Engine, Evidence
from .objects.trees import Tree
from .rules import Kind, Rule

PREFIX = "kf1."


@dataclass(frozen=True)
class Trial:
    """The data that are needed to replay a finding.

    Attributes:
        spec: the name of the function.
        kind: the kind of the function.
        rule: the broken rule.
        engine: the engine that found it, which decides how it is replayed.
        trees: the objects.
        details: the conditions of the engine.
        most_values: the maximum number of values of an object.
    """

    spec: str
    kind: Kind
    rule: Rule
    engine: Engine
    trees: tuple[Tree, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    most_values: int | None = None

    @staticmethod
    def of(spec: str, kind: Kind, evidence: Evidence, most_values: int | None) -> Trial:
        """Create the trial of some evidence, whose fuzzed objects must be plain data."""
        trees = tuple(fuzzed_object.tree for fuzzed_object in evidence.fuzzed_objects)
        return Trial(spec, kind, evidence.rule, evidence.engine, trees, evidence.details, most_values)


def encode_trial(trial: Trial) -> str:
    """Return the token: ``kf1.`` and compressed JSON in URL-safe base 64."""
    data: dict[str, Any] = {
        "t": trial.spec,
        "k": trial.kind.value,
        "r": trial.rule.value,
        "e": trial.engine.value,
        "o": list(trial.trees),
    }
    if trial.details:
        data["d"] = dict(trial.details)
    if trial.most_values is not None:
        data["m"] = trial.most_values
    return pack(PREFIX, data)


def decode_trial(token: str) -> Trial:
    """Return the trial of a token; the inverse of :func:`encode_trial`.

    Raises:
        FormatError: the text is no such replay token, or was cut off.
    """
    data = unpack(PREFIX, token, "replay token of kcache fuzz")
    try:
        if not data["o"] or not isinstance(data["o"], list) or not isinstance(data.get("m", 0), (int, type(None))):
            raise ValueError("it holds no object")
        return Trial(
            str(data["t"]),
            Kind(data["k"]),
            Rule(data["r"]),
            Engine(data["e"]),
            tuple(data["o"]),
            dict(data.get("d", {})),
            data.get("m"),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FormatError(f"the replay token of kcache fuzz is damaged; copy all of it ({error})") from None
