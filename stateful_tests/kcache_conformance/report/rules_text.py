"""Rules as text: for a terminal, and as the page docs/rules.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kcache_model.rules import Contract, Rule, common_rules

from ..targets.target_types import TARGET_TYPES, target_type_named

_PAGE: Final = """\
# Rules

Every finding names the rule that is broken. `kcache rules` prints this list, `kcache rules ID` one rule. Ids are
stable: waivers, baselines and reports use them.

Rules of the contract *strict* are guaranteed by kcache's reference, but not promised by client-go. Under the default
contract, `client-go`, a breach of such a rule is *advice*: it is shown separately and fails no run. With
`--contract strict` it is a violation. If an implementation deviates on purpose, declare that by name:
`factory.kcache_unsupported = ["NAME"]`. Then the rule is not checked, and the report lists the name.
"""

_TITLES: Final = {
    "indexer": "Indexers",
    "informer": "Informers",
    "index-function": "Index functions",
    "key-function": "Key functions",
}


def all_rules() -> Mapping[str, Mapping[str, Rule]]:
    """Return title -> rules: the rules of every target type, then the additional rules of each type."""
    common = common_rules()
    rules_by_title = {"Every target type": common}
    for name in TARGET_TYPES:
        own = {rule_id: rule for rule_id, rule in target_type_named(name).rules.items() if rule_id not in common}
        if own:
            rules_by_title[_TITLES.get(name, name)] = own
    return rules_by_title


def rule_lines(rule: Rule) -> Iterator[str]:
    """Yield the description of a rule, line by line."""
    yield f"Promise: {rule.promise}"
    yield f"Source: {rule.source}."
    yield f"Usual cause: {rule.cause}"
    yield f"Usual cure: {rule.fix}"
    if rule.contract is Contract.STRICT:
        yield "Contract: strict; under other contracts a breach is advice."
    if rule.declaration:
        yield f'Declared by: kcache_unsupported = ["{rule.declaration}"].'
    if rule.example:
        yield f"Example: {rule.example}"


def rules_page() -> str:
    """Return the text of the page docs/rules.md."""
    parts = [_PAGE]
    for title, rules in all_rules().items():
        parts.append(f"## {title}\n")
        for rule in rules.values():
            lines = "\n".join(f"- {line}" for line in rule_lines(rule))
            parts.append(f"### {rule.id}\n\n{lines}\n")
    return "\n".join(parts)
