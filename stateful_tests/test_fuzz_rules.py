"""For every rule a function that breaks it, and one that looks alike but keeps it."""

from __future__ import annotations

import copy
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from kcache_conformance.fuzzing.engines import perturbation_search
from kcache_conformance.fuzzing.engines.interleavings import explore_calls
from kcache_conformance.fuzzing.engines.perturbation_search import PerturbationSearch
from kcache_conformance.fuzzing.engines.perturbations import PERTURBATIONS, UNPERTURBED, Perturbation, run_perturbed
from kcache_conformance.fuzzing.engines.programs import replay_program, run_programs
from kcache_conformance.fuzzing.engines.random_search import Search
from kcache_conformance.fuzzing.engines.threads import run_threads
from kcache_conformance.fuzzing.evidence import Engine
from kcache_conformance.fuzzing.judging.inline import Inline
from kcache_conformance.fuzzing.objects.fuzzed_object import FuzzedObject
from kcache_conformance.fuzzing.objects.trees import encode
from kcache_conformance.fuzzing.options import FuzzOptions
from kcache_conformance.fuzzing.rules import RULES, Kind, Rule, rules_for
from kcache_conformance.fuzzing.schemas import schema
from kcache_conformance.fuzzing.session import fuzz
from kcache_conformance.fuzzing.subject import load_subject, make_subject

POD = {
    "metadata": {"name": "web-1", "namespace": "shop", "uid": "7", "resourceVersion": "41",
                 "labels": {"app": "web", "tier": "gold"}, "finalizers": ["a/b", "a/b"]},
    "spec": {"nodeName": "node-1"},
}  # fmt: skip
OTHER = {"metadata": {"name": "db", "namespace": "shop", "labels": {"app": "db"}}, "spec": {"nodeName": "node-2"}}

INLINE = {
    Rule.RETURNS_LIST: (
        lambda obj: obj["spec"]["nodeName"],
        lambda obj: [obj["spec"]["nodeName"]],
    ),
    Rule.RETURNS_STR: (
        lambda obj: (obj["metadata"]["namespace"], obj["metadata"]["name"]),
        lambda obj: "/".join((obj["metadata"]["namespace"], obj["metadata"]["name"])),
    ),
    Rule.TOTAL: (
        lambda obj: [obj["metadata"]["annotations"]["zone"]],
        lambda obj: [obj["metadata"].get("annotations", {}).get("zone", "")],
    ),
    Rule.PURE: (
        lambda obj: [obj["metadata"]["labels"].setdefault("zone", "unknown")],
        lambda obj: [dict(obj["metadata"]["labels"]).setdefault("zone", "unknown")],
    ),
    Rule.REPEATABLE: (
        lambda obj, calls=[]: [str(len(calls)), *(calls.append(1) or ())],
        lambda obj, calls=[]: ["always", *(calls.append(1) or ())],
    ),
    Rule.EQUAL_OBJECTS: (
        lambda obj: [",".join(obj["metadata"]["labels"])],
        lambda obj: [",".join(sorted(obj["metadata"]["labels"]))],
    ),
    Rule.OWN_RESULT: (
        lambda obj: obj["metadata"]["finalizers"],
        lambda obj: list(obj["metadata"]["finalizers"]),
    ),
    Rule.FAN_OUT: (
        lambda obj: [str(port) for port in range(30_000)],
        lambda obj: [str(port) for port in range(30)],
    ),
    Rule.DISTINCT: (
        lambda obj: list(obj["metadata"]["finalizers"]),
        lambda obj: sorted(set(obj["metadata"]["finalizers"])),
    ),
    Rule.STABLE_KEY: (
        lambda obj: f"{obj['metadata']['name']}@{obj['metadata']['resourceVersion']}/{obj['metadata']['namespace']}",
        lambda obj: f"{obj['metadata']['name']}@{obj['metadata']['uid']}/{obj['metadata']['namespace']}",
    ),
    Rule.ONE_KEY_EACH: (
        lambda obj: obj["metadata"]["name"],
        lambda obj: f"{obj['metadata']['name']} in {obj['metadata']['namespace']}",
    ),
}  # fmt: skip
"""What one process sees with one object: the faulty function, then the right one."""

FILE = """
    import datetime, functools, hashlib, os, random, threading, time

    def node(obj):
        return obj["spec"].get("nodeName", "")

    def by_hash(obj):
        return [str(hash(node(obj)) % 1000)]

    def by_digest(obj):
        return [hashlib.sha256(node(obj).encode()).hexdigest(), *sorted({"a", "b", node(obj)})]

    def by_set_order(obj):
        return ["".join({node(obj), "a", "b", "c", "d", "e", "f"})]

    def by_today(obj):
        return [datetime.datetime.now(datetime.UTC).date().isoformat()]  # today elsewhere may be another day

    def by_date(obj):
        time.time()
        return [datetime.date.fromisoformat("2024-02-29").isoformat()]

    def by_zone(obj):
        return [*time.tzname]

    def by_folder(obj):
        return [os.path.abspath(node(obj))]

    def by_variable(obj):
        return [os.environ.get("USER", "")]

    def by_random(obj):
        return [str(random.random() if not CHOSEN else CHOSEN[0]) for _ in [CHOSEN.append(random.random())]]

    CHOSEN = []

    def by_own_random(obj):
        return [str(random.Random(node(obj)).random()), str(datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC))]

    SEEN = []

    def by_history(obj):
        SEEN.append(node(obj))
        return [SEEN[0]]

    @functools.cache
    def longer(text):
        return text * 2

    def by_cache(obj):
        return [longer(node(obj))]

    def all_of_them(obj):
        return [*by_hash(obj), *by_today(obj), *by_folder(obj), *by_history(obj)]

    def none_of_them(obj):
        return [*by_digest(obj), *by_date(obj), *by_own_random(obj), *by_cache(obj)]

    BUFFER = []

    def shared_buffer(obj):
        BUFFER.clear()
        BUFFER.append(node(obj))
        time.sleep(0)
        return list(BUFFER)

    LOCK = threading.Lock()

    def locked_buffer(obj):
        with LOCK:
            return shared_buffer(obj)

    def waits(obj):
        threading.Event().wait()

    def waits_shortly(obj):
        threading.Event().wait(0.001)
        return []
"""

ONE_PERTURBATION = {
    "by_hash": Rule.HASH_SEED,
    "by_set_order": Rule.HASH_SEED,
    "by_today": Rule.CLOCK,
    "by_zone": Rule.ENVIRONMENT,
    "by_folder": Rule.ENVIRONMENT,
    "by_variable": Rule.ENVIRONMENT,
    "by_random": Rule.ENVIRONMENT,
    "by_history": Rule.HISTORY,
}
"""The perturbation under which each faulty function gives other values than usually."""

ELSEWHERE = {Rule.CONSISTENT, Rule.THREAD_SAFE, Rule.TERMINATES, *ONE_PERTURBATION.values()}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rules") / "functions_for_rules.py"
    path.write_text(textwrap.dedent(FILE))
    return path


def kind_of(rule: Rule) -> Kind:
    return Kind.INDEX if Kind.INDEX in RULES[rule].kinds else Kind.KEY


# --- Every rule ----------------------------------------------------------------------------------------------------


def test_every_rule_has_a_test_and_a_text():
    assert set(INLINE) | ELSEWHERE == set(Rule) == set(RULES)
    assert set(rules_for(Kind.INDEX)) | set(rules_for(Kind.KEY)) == set(Rule)
    assert all(text.demand and text.why.endswith(".") and text.kinds for text in RULES.values())


@pytest.mark.parametrize("rule", INLINE, ids=lambda rule: rule.value)
def test_rules_of_one_object(rule):
    faulty, right = INLINE[rule]
    kind = kind_of(rule)
    assert rule in {violation.rule for violation in Inline(faulty, kind).violations(FuzzedObject(POD))}
    assert rule not in {violation.rule for violation in Inline(right, kind).violations(FuzzedObject(POD))}
    if rule not in (Rule.TOTAL, Rule.OWN_RESULT):
        assert Inline(right, kind).violations(FuzzedObject(POD)) == []


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "None"),
        ("a", "the str 'a'"),
        (b"a", "bytes"),
        ({"a"}, "set"),
        ({"a": 1}, "dict"),
        ((one for one in "a"), "generator"),
        (["a", 1], "list that holds an int"),
        ([None], "list that holds None"),
        (iter("a"), "str_ascii_iterator"),
        (ValueError, "type"),
    ],
)
def test_results_of_other_types_are_named(returned, said):
    found = Inline(lambda obj: returned, Kind.INDEX).violations(FuzzedObject({}))[0]
    assert found.rule is Rule.RETURNS_LIST
    assert said in found.what


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("returned", [[], (), ["a"], ("a", "b"), [Text("a")]])
def test_lists_and_tuples_of_str_are_right(returned):
    assert Inline(lambda obj: copy.copy(returned), Kind.INDEX).violations(FuzzedObject({})) == []


def test_coroutines_are_named_and_closed():
    async def index(obj):
        return []

    assert "a coroutine" in Inline(index, Kind.INDEX).violations(FuzzedObject({}))[0].what


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
def test_whatever_is_raised_breaks_total(error):
    def index(obj):
        raise error("no")

    (violation,) = Inline(index, Kind.INDEX).violations(FuzzedObject({}))
    assert (violation.rule, violation.what) == (Rule.TOTAL, f"it raised {error.__name__}: no")


class Unprintable(BaseException):
    def __str__(self):
        raise self


def test_exceptions_that_cannot_be_printed():
    def index(obj):
        raise Unprintable

    (violation,) = Inline(index, Kind.INDEX).violations(FuzzedObject({}))
    assert "its message cannot be read" in violation.what


def test_the_number_of_values_may_be_given():
    inline = Inline(lambda obj: ["a", "b", "c"], Kind.INDEX, most_values=2)
    assert [violation.rule for violation in inline.violations(FuzzedObject({}))] == [Rule.FAN_OUT]


# --- Rules of several calls, threads and processes -----------------------------------------------------------------


def test_consistent():
    fuzzed_objects = [FuzzedObject(POD), FuzzedObject(OTHER)]
    calls: list[Any] = []

    def faulty(obj):
        calls.append(obj)
        return [str(len(calls))]

    evidence, _ = run_programs(faulty, fuzzed_objects, seconds=30.0, seed=0)
    assert evidence is not None
    assert evidence.rule is Rule.CONSISTENT
    keys, puts = evidence.details["keys"], evidence.details["puts"]
    assert puts == [True]
    assert replay_program(faulty, keys, puts, evidence.fuzzed_objects)
    assert replay_program(lambda obj: [obj["spec"]["nodeName"]], keys, puts, evidence.fuzzed_objects) is None
    evidence, number = run_programs(lambda obj: [obj["spec"]["nodeName"]], fuzzed_objects, seconds=0.1, seed=0)
    assert evidence is None
    assert number > 0


def test_thread_safe(file):
    fuzzed_objects = [FuzzedObject(POD), FuzzedObject(OTHER)]
    faulty, right = (load_subject(f"{file}:{name}", Kind.INDEX) for name in ("shared_buffer", "locked_buffer"))
    evidence, _ = run_threads(faulty.function, Kind.INDEX, fuzzed_objects, seconds=20.0)
    assert evidence is not None
    assert evidence.rule is Rule.THREAD_SAFE
    assert run_threads(right.function, Kind.INDEX, fuzzed_objects, seconds=0.2)[0] is None
    found = explore_calls(faulty, fuzzed_objects, seconds=20.0)
    assert found.evidence is not None
    assert "two threads, interleaved like this" in found.evidence.setting
    kept = explore_calls(right, fuzzed_objects, seconds=20.0)
    assert (kept.evidence, kept.reason) == (None, "")


def test_what_cannot_be_explored_is_said(file):
    subject = load_subject(f"{file}:shared_buffer", Kind.INDEX)
    assert "no two different objects" in explore_calls(subject, [FuzzedObject(POD)] * 3, seconds=1.0).reason
    local = make_subject(lambda obj: [], Kind.INDEX)
    assert "a second time" in explore_calls(local, [FuzzedObject(POD), FuzzedObject(OTHER)], seconds=1.0).reason


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ONE_PERTURBATION)
def test_a_faulty_function_gives_other_values_under_one_perturbation_only(file, name):
    trees = [encode(POD), encode(OTHER)]
    single = dict(PERTURBATIONS[0].single_differences())

    def meanings(perturbation: Perturbation) -> Any:
        seen = run_perturbed(f"{file}:{name}", Kind.INDEX, trees, perturbation, patience_seconds=5.0)
        assert not seen.failure
        return seen.meanings

    usual = meanings(UNPERTURBED)
    assert meanings(single[ONE_PERTURBATION[name]]) != usual
    sames = [perturbation for rule, perturbation in single.items() if rule is not ONE_PERTURBATION[name]]
    assert meanings(sames[list(ONE_PERTURBATION).index(name) % 3]) == usual


def test_a_right_function_gives_the_same_values_under_all_perturbations(file):
    search = PerturbationSearch(f"{file}:none_of_them", Kind.INDEX, lambda trees: [True] * len(trees), 5.0)
    assert search.run([FuzzedObject(POD), FuzzedObject(OTHER)], 60.0) == ([], "")
    assert search.runs == 2 + len(PERTURBATIONS)


def test_when_the_time_is_up_only_the_fewest_objects_are_tried():
    search = Search(Inline(lambda obj: [], Kind.INDEX), schema.Text(), lambda _: None, until=0.0)
    search.run(st.text(), 60.0, examples=500, fewest=7)
    assert search.examples == 7
    assert search.seconds_within(60.0) < 1.0


def test_when_the_time_is_up_only_the_first_perturbation_is_tried(file):
    search = PerturbationSearch(f"{file}:none_of_them", Kind.INDEX, lambda trees: [True] * len(trees), 5.0, until=0.0)
    assert search.run([FuzzedObject(POD), FuzzedObject(OTHER)], 60.0) == ([], "")
    assert (search.runs, search.is_cut_short) == (3, True)


def test_the_perturbation_search_tells_the_rules_apart(file, monkeypatch):
    monkeypatch.setattr(perturbation_search, "PERTURBATIONS", PERTURBATIONS[:1])
    monkeypatch.setattr(perturbation_search, "_ROUNDS", 1)
    search = PerturbationSearch(
        f"{file}:all_of_them", Kind.INDEX, lambda trees: ["spec" in tree for tree in trees], 5.0
    )
    found, missed = search.run([FuzzedObject(POD), FuzzedObject(OTHER)], 60.0)
    assert missed == ""
    by_rule = {evidence.rule: evidence for evidence in found}
    assert set(by_rule) == {Rule.HASH_SEED, Rule.CLOCK, Rule.ENVIRONMENT, Rule.HISTORY}
    assert all(evidence.engine is Engine.PERTURBATIONS for evidence in found)
    assert len(by_rule[Rule.HISTORY].fuzzed_objects) == 2
    assert by_rule[Rule.CLOCK].fuzzed_objects[0].tree == {"spec": {"nodeName": "node-2"}}
    assert by_rule[Rule.CLOCK].details["days"] == PERTURBATIONS[0].days


def test_terminates(file):
    options = FuzzOptions(
        budget_seconds=0.5, patience_seconds=0.4, only=(Rule.TERMINATES,), is_symbolic=False, is_first_enough=True
    )
    report = fuzz(f"{file}:waits", Kind.INDEX, options)
    assert [finding.rule for finding in report.findings] == [Rule.TERMINATES]
    assert fuzz(f"{file}:waits_shortly", Kind.INDEX, options).findings == ()
