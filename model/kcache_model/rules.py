"""Rules: the promises of an implementation, each with an id, its source and the usual cause of a violation.

The rules are in TOML files. The file beside this module has the rules of every target type; a target type with rules of
its own has a file in its folder. ``kcache rules`` prints the rules.
"""

from __future__ import annotations

import enum
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final


class Contract(enum.StrEnum):
    """The set of promises by which an implementation is judged."""

    CLIENT_GO = "client-go"
    """The promises of client-go's documentation and behaviour. Cases of misuse or undefined behaviour are advice."""
    STRICT = "strict"
    """The promises of client-go and the further guarantees of kcache's own reference implementation."""


class Severity(enum.StrEnum):
    """The effect of a broken rule on the verdict."""

    VIOLATION = "violation"
    ADVICE = "advice"
    """A broken rule that is reported apart from the violations; the verdict may be ok nevertheless."""


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        id: its stable name in every report.
        promise: the behaviour that an implementation must have.
        source: the origin of the promise: a symbol of client-go, an issue, a document.
        cause: the usual cause of a violation.
        fix: the usual fix.
        contract: the weakest contract that requires the rule; under a weaker one, breaking it is advice.
        example: a file of the shipped examples that breaks it; empty if there is none.
        is_of_state: whether a write breaks it and any later call can show this.
        is_once: whether one decision of the implementation breaks it, whatever calls show this: one finding is enough.
        declaration: the name in ``kcache_unsupported`` with which an implementation declares that it breaks the rule.
    """

    id: str
    promise: str
    source: str
    cause: str
    fix: str
    contract: Contract = Contract.CLIENT_GO
    example: str = ""
    is_of_state: bool = False
    is_once: bool = False
    declaration: str = ""

    def severity(self, contract: Contract) -> Severity:
        """Return the severity of a violation of this rule under a contract."""
        is_asked = self.contract is Contract.CLIENT_GO or contract is Contract.STRICT
        return Severity.VIOLATION if is_asked else Severity.ADVICE


@dataclass(frozen=True)
class BrokenRule:
    """A rule that an observation violates.

    Attributes:
        rule: the id of the rule.
        text: one sentence that describes the observation.
    """

    rule: str
    text: str

    def __str__(self) -> str:
        return self.text


RULE_OF_KIND: Final[Mapping[str, str]] = {
    "nonlinearizable": "not-linearizable",
    "divergence": "wrong-result",
    "invariant": "inconsistent-state",
    "exception": "unexpected-error",
    "deadlock": "deadlock",
    "livelock": "livelock",
    "nondeterminism": "nondeterminism",
    "hang": "hang",
    "crash": "crash",
    "leak": "leak",
    "failure": "failed-check",
    "data-race": "data-race",
}
"""Kind of finding -> id of the rule that it breaks if no more specific rule is known."""


def rule_of_anomaly(anomaly: str) -> str:
    """Return the id of the rule that an anomaly breaks: ``half-applied-write``."""
    return anomaly.replace(" ", "-")


@functools.cache
def rules_in(package: str) -> Mapping[str, Rule]:
    """Return the rules in ``rules.toml`` of a package, by id."""
    table = tomllib.loads((files(package) / "rules.toml").read_text(encoding="utf-8"))
    return {name: _rule(name, fields) for name, fields in table.items()}


def common_rules() -> Mapping[str, Rule]:
    """Return the rules that apply to every target type, by id."""
    return rules_in("kcache_model")


def _rule(name: str, fields: Mapping[str, Any]) -> Rule:
    contract = Contract(fields.get("contract", Contract.CLIENT_GO))
    return Rule(**{**fields, "id": name, "contract": contract})
