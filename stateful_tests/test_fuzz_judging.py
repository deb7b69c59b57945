"""What a violation costs, which objects count as valid, and what the judge leaves behind."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st

from kcache import DeletedFinalStateUnknown
from kcache_conformance.fuzzing.engines.random_search import Search
from kcache_conformance.fuzzing.evidence import Engine, Evidence, decode_evidence, encode_evidence
from kcache_conformance.fuzzing.judging.inline import Inline
from kcache_conformance.fuzzing.judging.violation import InputClass
from kcache_conformance.fuzzing.objects.fuzzed_object import FuzzedObject, fuzzed_object_of
from kcache_conformance.fuzzing.objects.trees import encode
from kcache_conformance.fuzzing.options import FuzzOptions, severity_of
from kcache_conformance.fuzzing.rules import RULES, Kind, Rule, Severity, rules_for
from kcache_conformance.fuzzing.schemas.kubernetes import MANIFEST, kinds
from kcache_conformance.fuzzing.session import fuzz
from kcache_conformance.fuzzing.sources import Sources
from kcache_conformance.fuzzing.subject import Subject
from kcache_model.rules import Contract
from kcache_model.verdict import Status

POD = {
    "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}, "finalizers": ["b/a", "a/b"]},
    "spec": {"nodeName": "node-1"},
}


@pytest.mark.parametrize("rule", Rule)
def test_severities(rule):
    assert severity_of(rule, is_valid=True) is RULES[rule].severity
    assert severity_of(rule, is_valid=False) is Severity.WARNING


def search_for(function: Callable[[Any], Any], rules: frozenset[Rule] = frozenset(Rule)) -> Search:
    schema = next(kind for kind in kinds(MANIFEST) if kind.name == "Pod")
    return Search(Inline(function, Kind.INDEX), schema, lambda evidence: None, rules=rules)


def test_the_clock_starts_with_the_first_object_and_a_fewest_number_are_tried():
    """Before it, Hypothesis reads the code of all modules; on a busy machine that takes longer than a short search."""

    def after_a_while():
        time.sleep(0.05)
        return st.just(POD)

    late = search_for(lambda obj: [])
    late.run(st.deferred(after_a_while), 0.01, examples=50)
    assert late.examples >= 1
    patient = search_for(lambda obj: [])
    patient.run(st.text().map(lambda name: {"metadata": {"name": name}}), 0.0, examples=200, fewest=40)
    assert patient.examples >= 40
    assert not patient.is_cut_short


def test_a_search_that_gets_no_object_ends():
    search = search_for(lambda obj: [])
    search.run(st.just(POD).filter(lambda _: False), 0.01, examples=10**6)
    assert search.examples == 0
    assert search.missed


TOMBSTONE = fuzzed_object_of(DeletedFinalStateUnknown("shop/web-1", POD))


@pytest.mark.parametrize(
    ("function", "fuzzed_object", "found"),
    [
        (lambda obj: [obj["spec"]["nodeName"]], TOMBSTONE, [(InputClass.ADVERSARIAL, Rule.TOTAL)]),
        (lambda obj: [obj["spec"]["nodeName"]], FuzzedObject({"metadata": {}}), [(InputClass.VALID, Rule.TOTAL)]),
        (lambda obj: [obj["spec"]["nodeName"]], FuzzedObject({"metadata": {}, "spec": {"nodeName": 1}}),
         [(InputClass.ADVERSARIAL, Rule.RETURNS_LIST)]),
        (lambda obj: ["a", "a"], TOMBSTONE, []),
        (lambda obj: ["a", "a"], FuzzedObject({"metadata": {}}), [(InputClass.VALID, Rule.DISTINCT)]),
        (lambda obj: [], FuzzedObject(None), []),
    ],
    ids=range(6),
)  # fmt: skip
def test_input_classes(function, fuzzed_object, found):
    judged = search_for(function).judge(fuzzed_object)
    assert [(input_class, violation.rule) for input_class, violation in judged] == found
    assert search_for(function, frozenset({Rule.CLOCK})).judge(fuzzed_object) == []


def report_of(function: Callable[[Any], Any], **options: Any) -> Any:
    return fuzz(Subject(function, Kind.INDEX, "f"), Kind.INDEX, FuzzOptions(budget_seconds=1.0, **options))


@pytest.mark.nightly
def test_adversarial_objects_count_only_where_strict():
    def index(obj):
        return [(obj["metadata"].get("labels") or {}).get("app", "")]

    report = report_of(index, only=(Rule.TOTAL,))
    assert report.findings == ()
    assert report.status is not Status.VIOLATION
    strict = report_of(index, only=(Rule.TOTAL,), contract=Contract.STRICT)
    assert [(one.rule, one.tier, one.severity) for one in strict.findings] == [
        (Rule.TOTAL, InputClass.ADVERSARIAL, Severity.ERROR)
    ]
    assert strict.status is Status.VIOLATION


def test_lesser_rules_only_warn_unless_strict():
    report = report_of(lambda obj: ["a", "a"], only=(Rule.DISTINCT,))
    assert report.status is not Status.VIOLATION
    assert [one.severity for one in report.findings] == [Severity.WARNING]
    assert report_of(lambda obj: ["a", "a"], only=(Rule.DISTINCT,), contract=Contract.STRICT).status is Status.VIOLATION


@dataclass
class Picky:
    name: str
    size: int

    def __post_init__(self) -> None:
        if not self.name or self.size < 0:
            raise ValueError("no such thing")


@dataclass
class Impossible:
    name: str

    def __post_init__(self) -> None:
        raise ValueError("no such thing")


@pytest.mark.nightly
def test_classes_may_refuse_some_values_but_not_all():
    def index(obj):
        return [obj.name] if obj.name != "special" else [1]

    report = report_of(index, only=(Rule.RETURNS_LIST,), sources=Sources(type_or_strategy=Picky))
    assert [one.tier for one in report.findings] == [InputClass.VALID]
    report = report_of(index, only=(Rule.RETURNS_LIST,), sources=Sources(type_or_strategy=Impossible))
    assert (report.status, report.findings) == (Status.UNKNOWN, ())
    assert "rejects all values that were tried" in report.reasons[0]


def test_excluded_rules_are_not_looked_for():
    options = FuzzOptions(only=(Rule.TOTAL, Rule.PURE), exclude=(Rule.PURE,))
    assert options.rules(Kind.INDEX) == {Rule.TOTAL}
    assert FuzzOptions(exclude=(Rule.PURE,)).rules(Kind.KEY) == set(rules_for(Kind.KEY)) - {Rule.PURE}
    assert FuzzOptions.from_json(options.to_json()) == options


# --- What a judge leaves behind ------------------------------------------------------------------------------------


def _drop(obj: Any) -> Any:
    return obj["metadata"].pop("labels", None)


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("change", [_drop, lambda obj: obj.clear(), lambda obj: obj["metadata"]["finalizers"].sort()])
def test_no_changed_copy_is_shown_as_a_new_object(turn, kind, change):
    seen: list[tuple[Any, Any]] = []

    def function(obj):
        before = copy.deepcopy(obj)
        is_known = any(obj is other for other, _ in seen)
        seen.append((obj, before if not is_known else None))
        if len(seen) >= turn:
            change(obj)
        return ["a"] if kind is Kind.INDEX else f"{before.get('metadata')}"

    fuzzed_object = FuzzedObject(encode(POD))
    Inline(function, kind).violations(fuzzed_object)
    assert fuzzed_object.tree == POD == fuzzed_object.fresh()
    news = [before for _, before in seen if before is not None]
    assert news[0] == POD
    if kind is Kind.INDEX:  # the judge of keys changes objects itself
        assert all(before == POD for before in news)


def test_the_probe_for_own_results_leaves_nothing_behind():
    shared, memo = ["a", "b"], {}

    def memoised(obj):
        return memo.setdefault("key", [obj["metadata"]["name"]])

    fuzzed_object = FuzzedObject(encode(POD))
    for function in (lambda obj: shared, memoised, lambda obj: obj["metadata"]["finalizers"]):
        found = Inline(function, Kind.INDEX).violations(fuzzed_object)
        assert Rule.OWN_RESULT in {violation.rule for violation in found}
    assert (shared, memo, fuzzed_object.tree) == (["a", "b"], {"key": ["web-1"]}, POD)


def test_objects_without_equality_are_not_accused():
    class Opaque:
        __slots__ = ("name",)

    obj = Opaque()
    obj.name = "a"
    assert Inline(lambda obj: [obj.name], Kind.INDEX).violations(fuzzed_object_of(obj)) == []


def test_evidence_goes_through_json():
    violation = Inline(lambda obj: None, Kind.INDEX).violations(FuzzedObject({}))[0]
    fuzzed_objects = (FuzzedObject(POD), fuzzed_object_of(print))
    evidence = Evidence(violation, InputClass.VALID, Engine.PROGRAMS, fuzzed_objects, "after: put a", {"keys": ["a"]})
    again = decode_evidence(encode_evidence(evidence))
    assert again == evidence
    assert again.rule is Rule.RETURNS_LIST
    assert repr(again.fuzzed_objects[1].original) == repr(print)
