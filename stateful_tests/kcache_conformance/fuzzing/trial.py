"""A finding as one replay token that can be pasted into a command line."""

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
    """The data of one replayable call: enough to see a finding again.

    Attributes:
        spec: name of the function.
        kind: of the function.
        rule: that it broke.
        engine: who found it, which decides how it is tried again.
        trees: the objects.
        details: of the engine.
        most_values: how many values an object might have.
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
        """The trial for some evidence, whose fuzzed objects must be plain data."""
        trees = tuple(fuzzed_object.tree for fuzzed_object in evidence.fuzzed_objects)
        return Trial(spec, kind, evidence.rule, evidence.engine, trees, evidence.details, most_values)


def encode_trial(trial: Trial) -> str:
    """``kf1.`` and compressed JSON in URL-safe base 64."""
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
    """The inverse of :func:`encode_trial`.

    Raises:
        FormatError: the replay token is none of ours, or was cut off.
    """
    data = unpack(PREFIX, token, "word of kcache fuzz")
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
        raise FormatError(f"the word of kcache fuzz is damaged; copy all of it ({error})") from None
