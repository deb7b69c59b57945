"""The page of rules is what the tables say, and the tables say what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from kcache.cli import main
from kcache_conformance.report.rules_text import all_rules, rules_page
from kcache_conformance.targets.target_types import TARGET_TYPES, target_type_named
from kcache_model.anomaly import Anomaly
from kcache_model.finding import Finding, FindingKind
from kcache_model.indexers.target import make_target
from kcache_model.rules import Contract, Severity, rule_of_anomaly

ROOT = Path(__file__).parent.parent
PAGE = Path(__file__).parent / "rules.md"
RULES = {rule.id: rule for rules in all_rules().values() for rule in rules.values()}


def test_the_page_is_made_of_the_tables(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        PAGE.write_text(rules_page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == rules_page(), "write it again: kcache rules --markdown > docs/rules.md"


def test_every_rule_says_all() -> None:
    for rule in RULES.values():
        assert rule.promise.endswith("."), rule
        assert rule.source, rule
        assert rule.cause.endswith("."), rule
        assert rule.fix, rule
        assert not rule.example or (ROOT / rule.example).is_file(), rule


def test_every_kind_and_anomaly_has_a_rule() -> None:
    for kind in FindingKind:
        assert Finding(kind, "", "").rule in RULES
    for anomaly in Anomaly:
        assert Finding(FindingKind.NONLINEARIZABLE, "", "", anomaly=anomaly).rule == rule_of_anomaly(anomaly)
        assert rule_of_anomaly(anomaly) in RULES


def test_every_rule_that_the_code_names_is_in_a_table() -> None:
    named = re.compile(r"""(?:BrokenRule\(|rule=|rule, wrong = |yield )"([a-z]+(?:-[a-z]+)+)\"""")
    files = [
        path for folder in ("model", "stress", "stateful_tests") for path in (ROOT / folder).rglob("kcache_*/**/*.py")
    ]
    found = {rule for path in files for rule in named.findall(path.read_text(encoding="utf-8"))}
    assert len(found) > 15
    assert found <= set(RULES)


def test_declarations_can_be_declared() -> None:
    for rule in target_type_named("indexer").rules.values():
        if rule.declaration:

            def factory(key_func: object, indexers: object) -> object:
                raise AssertionError("never made")

            assert rule.declaration in make_target(factory, unsupported=[rule.declaration]).unsupported  # type: ignore[arg-type]


def test_the_contract_decides_what_is_advice() -> None:
    lesser, both = RULES["unsorted-keys"], RULES["half-applied-write"]
    assert lesser.severity(Contract.CLIENT_GO) is Severity.ADVICE
    assert lesser.severity(Contract.STRICT) is Severity.VIOLATION
    assert both.severity(Contract.CLIENT_GO) is both.severity(Contract.STRICT) is Severity.VIOLATION


def test_the_command_lists_all_and_tells_one() -> None:
    listed = CliRunner().invoke(main, ["rules"]).output
    assert all(rule in listed for rule in RULES)
    told = CliRunner().invoke(main, ["rules", "unsorted-keys"]).output
    assert "strict; under other contracts a breach is advice" in told
    wrong = CliRunner().invoke(main, ["rules", "unsorted"])
    assert wrong.exit_code == 2
    assert "there is no rule unsorted" in wrong.output


def test_every_type_has_rules() -> None:
    assert all(target_type_named(name).rules for name in TARGET_TYPES)
