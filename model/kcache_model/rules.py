"""Rules: what an implementation must do, each with an id, who says so, and what usually breaks it.

The tables are TOML files: one beside this module for what holds of every target type, one in the folder of each type
that has rules of its own. ``kcache rules`` prints them.
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
    """By which promises an implementation is judged."""

    CLIENT_GO = "client-go"
    """What client-go's documentation and behaviour promise. What they call misuse, or leave undefined, is advice."""
    STRICT = "strict"
    """Also what kcache's own reference guarantees beyond that."""


class Severity(enum.StrEnum):
    """The effect of a broken rule on the verdict."""

    VIOLATION = "violation"
    ADVICE = "advice"
    """Told apart from the violations; the run may be ok nevertheless."""


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        id: its stable name, in every report.
        promise: what an implementation must do.
        source: who says so: a symbol of client-go, an issue, a document.
        cause: what usually breaks it.
        fix: what usually mends that.
        contract: the least contract that asks for it; under a lesser one it is advice.
        example: a file of the shipped examples that breaks it; empty if there is none.
        is_of_state: whether a write breaks it, and any later call shows that.
        is_once: whether it is one decision of the implementation, whatever calls show it: one finding is enough.
        declaration: the name in ``kcache_unsupported`` with which an implementation says that it does otherwise.
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
        """What breaking it is under a contract."""
        is_asked = self.contract is Contract.CLIENT_GO or contract is Contract.STRICT
        return Severity.VIOLATION if is_asked else Severity.ADVICE


@dataclass(frozen=True)
class BrokenRule:
    """A rule that does not hold of what was seen.

    Attributes:
        rule: its id.
        text: one sentence that says what was seen.
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
"""Kind of finding -> id of the rule that it breaks where nothing more is known."""


def rule_of_anomaly(anomaly: str) -> str:
    """The id of the rule that an anomaly breaks: ``half-applied-write``."""
    return anomaly.replace(" ", "-")


@functools.cache
def rules_in(package: str) -> Mapping[str, Rule]:
    """Id -> rule, of the table ``rules.toml`` of a package."""
    table = tomllib.loads((files(package) / "rules.toml").read_text(encoding="utf-8"))
    return {name: _rule(name, fields) for name, fields in table.items()}


def common_rules() -> Mapping[str, Rule]:
    """Those that hold of every target type."""
    return rules_in("kcache_model")


def _rule(name: str, fields: Mapping[str, Any]) -> Rule:
    contract = Contract(fields.get("contract", Contract.CLIENT_GO))
    return Rule(**{**fields, "id": name, "contract": contract})
