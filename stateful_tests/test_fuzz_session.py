"""Whole runs on functions that misbehave, and runs again of what was found."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shutil
import sys
import textwrap
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache_conformance.fuzzing import replaying, search_job, session
from kcache_conformance.fuzzing.engines import perturbation_search, random_search
from kcache_conformance.fuzzing.engines.perturbations import PERTURBATIONS
from kcache_conformance.fuzzing.evidence import Engine
from kcache_conformance.fuzzing.judging.violation import InputClass
from kcache_conformance.fuzzing.options import FuzzOptions
from kcache_conformance.fuzzing.replaying import replay_trial
from kcache_conformance.fuzzing.report import FuzzFinding, FuzzReport
from kcache_conformance.fuzzing.rules import Kind, Rule
from kcache_conformance.fuzzing.session import fuzz
from kcache_conformance.fuzzing.subject import make_subject
from kcache_conformance.fuzzing.trial import PREFIX, Trial, decode_trial, encode_trial
from kcache_conformance.isolation import JobEnd
from kcache_model.blob import pack
from kcache_model.errors import FormatError, TargetError
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status
from kcache_stress.target.replay_answer import ReplayAnswer

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "index_funcs"
RIGHT = "def index_func(obj):\n    return []\n"

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the file of the function, and says how it is called."""

    def to_file(text: str) -> str:
        path = tmp_path / "fuzzed_function.py"
        path.write_text(textwrap.dedent(text))
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        return f"{path}:index_func"

    return to_file


class _Outlet:
    """Takes the events of a job that runs in this process."""

    def __init__(self, on_event: Callable[[dict[str, Any]], None]) -> None:
        self.send = on_event
        self.watch = NoProgress()


def _run_here(function: str, arguments: dict[str, Any], *, on_event: Any, **_: Any) -> JobEnd:
    module, _, name = function.partition(":")
    try:
        getattr(importlib.import_module(module), name)(_Outlet(on_event), **json.loads(json.dumps(arguments)))
    except TargetError as error:
        return JobEnd("target_error", str(error))
    return JobEnd("done")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process, which is quicker; other tests try that they also do in one of their own."""
    for module in (session, replaying):
        monkeypatch.setattr(module, "run_job", _run_here)
    for module in (search_job, replaying):
        monkeypatch.setattr(module, "limit_memory", lambda: None)
    monkeypatch.setattr(sys, "path", list(sys.path))


def run(spec: str, *only: Rule, kind: Kind = Kind.INDEX, **options: Any) -> FuzzReport:
    chosen = {"budget_seconds": 20.0, "patience_seconds": 0.7, "is_symbolic": False, "is_first_enough": True, **options}
    return fuzz(spec, kind, FuzzOptions(only=only, **chosen))


def only_error(report: FuzzReport) -> FuzzFinding:
    assert report.status is Status.VIOLATION
    (finding,) = report.errors
    return finding


def soon(spec: str, rule: Rule, **options: Any) -> FuzzFinding:
    """The error that is found in a second, or in more where a machine is too busy for that."""
    for seconds in (1.0, 6.0, 30.0):
        report = run(spec, rule, budget_seconds=seconds, **options)
        if report.errors:
            break
    return only_error(report)


def answer_to(finding: FuzzFinding) -> ReplayAnswer:
    assert finding.word
    return replay_trial(finding.word, patience_seconds=0.7).answer


# --- Functions that misbehave --------------------------------------------------------------------------------------


@pytest.mark.waits
@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("body", "rule", "said"),
    [
        ("threading.Event().wait()", Rule.TERMINATES, "did not return within 0.7 s"),
        ("os._exit(3)", Rule.TOTAL, "it ended the process: the process ended with exit status 3"),
        ("return bytearray(8 << 30)", Rule.TOTAL, "MemoryError"),
        ("return index_func(obj)", Rule.TOTAL, "RecursionError"),
        ("sys.exit(0)", Rule.TOTAL, "SystemExit"),
        ("raise KeyboardInterrupt", Rule.TOTAL, "KeyboardInterrupt"),
    ],
    ids=["hangs", "exits", "memory", "recursion", "sys.exit", "interrupt"],
)
def test_what_a_function_may_do_to_its_process(write, body, rule, said):
    text = """
        import os, sys, threading

        def index_func(obj):
            if "metadata" in obj:
                BODY
            return []
    """
    finding = only_error(run(write(text.replace("BODY", body)), rule))
    assert (finding.rule, finding.tier) == (rule, InputClass.VALID)
    assert said in finding.what
    assert "from fuzzed_function import index_func" in finding.code
    if rule is Rule.TERMINATES or "exit" in body or "bytearray" in body:
        assert answer_to(finding) is ReplayAnswer.REPRODUCED
        write(RIGHT)
        assert answer_to(finding) is ReplayAnswer.FIXED


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "body",
    [
        """print('x' * 10_000); os.write(1, b'{' * 10_000); sys.stderr.write('y' * 10_000)
            threading.Thread(target=time.sleep, args=(0.01,), daemon=True).start()
            sys.setrecursionlimit(sys.getrecursionlimit() + 1)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            sys.stdout = sys.stderr = io.StringIO()""",
        "CALLS.append(1); len(CALLS) % 20 or os.fork()",
    ],
    ids=["much", "forks"],
)
def test_what_does_not_disturb_the_run(write, body):
    if "fork" in body and not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    spec = write(f"""
        import io, os, signal, sys, threading, time

        CALLS = []

        def index_func(obj):
            {body}
            return [obj["metadata"].get("name") or ""] if isinstance(obj, dict) and "metadata" in obj else []
    """)
    report = run(spec, Rule.TOTAL, Rule.RETURNS_LIST, budget_seconds=0.2)
    assert report.errors == ()
    assert report.engines[0].engine is Engine.HYPOTHESIS
    assert report.engines[0].did != "0 objects"
    assert not [reason for reason in report.reasons if "objects were tried" not in reason]


def test_an_endless_loop_for_an_object_that_agrees_to_everything_is_nobodys_fault(write):
    spec = write("""
        def index_func(obj):
            while type(obj) is not dict:
                pass
            return [obj["metadata"].get("name") or ""] if obj.get("metadata") else []
    """)
    report = run(spec, Rule.RETURNS_STR, patience_seconds=0.4, budget_seconds=0.2)
    assert Rule.TERMINATES not in {finding.rule for finding in report.errors}
    assert sum(engine.engine is Engine.HYPOTHESIS for engine in report.engines) >= 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
        ("import sys; sys.exit('no')", "SystemExit"),
        ("def index_funk(obj): ...", "did you mean index_funk"),
        ("def index_func(obj, other): ...", "must take one object"),
    ],
)
def test_functions_that_cannot_be_used(write, text, said):
    with pytest.raises(TargetError) as caught:
        run(write(text))
    assert said in str(caught.value)


def test_a_key_function(write):
    spec = write("""
        def index_func(obj):
            metadata = obj["metadata"]
            return "/".join(str(metadata.get(name)) for name in ("namespace", "name", "resourceVersion"))
    """)
    finding = only_error(run(spec, Rule.STABLE_KEY, kind=Kind.KEY))
    assert finding.rule is Rule.STABLE_KEY
    assert answer_to(finding) is ReplayAnswer.REPRODUCED
    write("def index_func(obj):\n    return str(obj['metadata'].get('name'))\n")
    assert answer_to(finding) is ReplayAnswer.FIXED


# --- Objects that are refused ----------------------------------------------------------------------------------------

_OF_EACH = (Rule.TOTAL, Rule.RETURNS_LIST, Rule.RETURNS_STR)


@pytest.mark.nightly
def test_a_function_that_accepts_no_object_is_never_right(write, here):
    spec = write("def index_func(obj):\n    raise ValueError(obj['metadata'])\n")
    finding = only_error(run(spec, Rule.TOTAL, budget_seconds=1.0, is_first_enough=False))
    assert re.search(r"it raised for every legal object \([0-9,]+ were tried\)", finding.what)
    unknown = run(spec, Rule.THREAD_SAFE, Rule.CONSISTENT, Rule.CLOCK, budget_seconds=1.0)
    assert unknown.status is Status.UNKNOWN
    assert any("it raised for every legal object" in reason for reason in unknown.reasons)
    missed = {engine.engine: engine.missed for engine in unknown.engines}
    assert {missed[one] for one in (Engine.PROGRAMS, Engine.THREADS, Engine.EXPLORER)} == {"it raised for every object"}


def test_a_function_of_whose_objects_none_is_legal(monkeypatch):
    monkeypatch.setattr(random_search, "is_valid", lambda *_: False)
    report = fuzz(make_subject(lambda obj: [], Kind.INDEX), Kind.INDEX, FuzzOptions(budget_seconds=0.5))
    assert report.status is Status.UNKNOWN
    assert re.fullmatch(r"none of the [0-9,]+ objects that were tried is legal", report.reasons[-1])
    assert {engine.missed for engine in report.engines if engine.engine in (Engine.PROGRAMS, Engine.THREADS)} == {
        "there are no objects"
    }


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("kind", "faulty", "right"),
    [
        (Kind.INDEX, "[obj['metadata']['namespace'] or '']", "[obj['metadata'].get('namespace') or '']"),
        (Kind.INDEX, "[obj.metadata.namespace.lower()]", "[(obj.metadata.namespace or '').lower()]"),
        (
            Kind.KEY,
            "obj['metadata']['namespace'] + '/' + obj['metadata']['name']",
            "(obj['metadata'].get('namespace') or '') + '/' + obj['metadata']['name']",
        ),
    ],
)
def test_cluster_scoped_objects_are_legal(write, here, kind, faulty, right):
    finding = only_error(run(write(f"def index_func(obj):\n    return {faulty}\n"), Rule.TOTAL, kind=kind))
    assert "it accepts the object with a metadata.namespace, but objects of cluster-scoped kinds" in finding.what
    report = run(write(f"def index_func(obj):\n    return {right}\n"), Rule.TOTAL, kind=kind, budget_seconds=2.0)
    assert (report.status, report.errors) == (Status.OK, ())


def test_a_key_function_that_reads_no_name_gets_objects_with_names(write, here):
    finding = only_error(
        run(write("def index_func(obj):\n    return obj['metadata']['uid']\n"), *_OF_EACH, kind=Kind.KEY)
    )
    assert "'uid'" in finding.what or "None" in finding.what


def test_a_hostile_object_that_ends_the_search_is_told(write):
    spec = write("import os\n\ndef index_func(obj):\n    return [] if 'metadata' in obj else os._exit(3)\n")
    report = run(spec, Rule.TOTAL, budget_seconds=2.0)
    assert report.status is Status.UNKNOWN
    assert report.reasons == ("a hostile object caused a crash, so the other engines did not run",)


def test_values_that_are_there_twice_are_a_warning(write, here):
    spec = write("def index_func(obj):\n    return [*(obj['metadata'].get('finalizers') or [])]\n")
    report = run(spec, budget_seconds=2.0)
    assert report.status is Status.OK
    assert report.findings[0].rule is Rule.DISTINCT


# --- The budget ----------------------------------------------------------------------------------------------------


def test_every_child_gets_what_is_left_of_the_budget(write, here, monkeypatch):
    given_to: dict[str, float] = {}

    def noting(function: str, arguments: dict[str, Any], **others: Any) -> JobEnd:
        given_to[function.partition(":")[2]] = arguments.get("seconds_left", 0.0)
        return _run_here(function, {**arguments, "seconds_left": 0.05}, **others)

    monkeypatch.setattr(session, "run_job", noting)
    run(write(RIGHT), Rule.TOTAL, budget_seconds=20.0)
    assert list(given_to) == ["search_job", "deep_job"]
    assert 20.0 >= given_to["search_job"] > given_to["deep_job"] > 0.0
    given_to.clear()
    monkeypatch.setattr(session, "unable", lambda _options: "")  # whatever is installed
    report = run(write(RIGHT), Rule.TOTAL, budget_seconds=0.01, is_symbolic=True)
    assert list(given_to) == ["search_job"]
    assert {(engine.engine, engine.missed) for engine in report.engines} >= {(Engine.CROSSHAIR, "no time was left")}


def test_progress_is_told(write, here):
    told: list[tuple[Engine, str, float]] = []
    options = FuzzOptions(budget_seconds=2.0, is_symbolic=False, exclude=(Rule.CONSISTENT,))
    fuzz(write(RIGHT), Kind.INDEX, options, progress=lambda *what: told.append(what))
    assert {engine for engine, _, _ in told} == set(Engine) - {Engine.CROSSHAIR, Engine.PROGRAMS}
    assert all(0.0 <= fraction <= 1.0 for _, _, fraction in told)
    assert sorted(fraction for _, _, fraction in told) == [fraction for _, _, fraction in told]
    assert any(re.fullmatch(r"[0-9,]+ objects", did) for _, did, _ in told)


# --- Functions that only this process has --------------------------------------------------------------------------


def test_what_cannot_be_checked_of_a_local_function_is_said():
    subject = make_subject(lambda obj: obj.spec.node_name, Kind.INDEX)
    report = fuzz(subject, Kind.INDEX, FuzzOptions(budget_seconds=0.2))
    missed = {engine.engine: engine.missed for engine in report.engines}
    assert "other processes cannot load the function" in missed[Engine.PERTURBATIONS]
    assert "other processes cannot load the function" in missed[Engine.CROSSHAIR]
    assert "cannot be loaded a second time" in missed[Engine.EXPLORER]
    assert {finding.word for finding in report.findings} <= {""}


def test_a_local_function_that_hangs():
    enough = threading.Event()
    try:
        subject = make_subject(lambda obj: enough.wait() and [], Kind.INDEX)
        report = fuzz(subject, Kind.INDEX, FuzzOptions(budget_seconds=0.5, patience_seconds=0.3))
    finally:
        enough.set()
    assert Rule.TERMINATES in {finding.rule for finding in report.errors} or report.reasons


# --- Replay tokens --------------------------------------------------------------------------------------------------

_TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
_TRIALS = st.builds(
    Trial,
    st.text(max_size=9),
    st.sampled_from(Kind),
    st.sampled_from(Rule),
    st.sampled_from(Engine),
    st.lists(_TREES, min_size=1, max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=5), _TREES, max_size=2),
    st.none() | st.integers(1, 10**6),
)


@pytest.mark.nightly
@given(_TRIALS)
def test_tokens_come_back(trial):
    word = encode_trial(trial)
    assert word.startswith(PREFIX)
    assert word.isascii()
    assert not set(word) & set(" \n'\"$\\/")
    assert decode_trial(word) == trial


@given(_TRIALS, st.data())
def test_damaged_tokens_are_refused(trial, data):
    word = encode_trial(trial)
    place = data.draw(st.integers(0, len(word) - 1))
    other = data.draw(st.sampled_from("A0_-.é \n"))
    for damaged in (word[:place], word[:place] + other + word[place + 1 :], word[place + 1 :]):
        with contextlib.suppress(FormatError):
            assert decode_trial(damaged) == trial  # the last character has spare bits


@pytest.mark.parametrize(
    "word",
    [
        "",
        PREFIX,
        "kc1.abc",
        PREFIX + "é",
        PREFIX + "====",
        *(pack(PREFIX, data) for data in (None, 1, [], "text", {}, {"t": "a:b"})),
        pack(PREFIX, {"t": "a:b", "k": "index", "r": "no rule", "e": "hypothesis", "o": []}),
        pack(PREFIX, {"t": "a:b", "k": "index", "r": "total", "e": "hypothesis", "o": 1}),
        pack(PREFIX, {"t": "a:b", "k": "index", "r": "total", "e": "hypothesis", "o": [], "d": [1]}),
    ],
)
def test_tokens_of_others_are_refused(word):
    with pytest.raises(FormatError):
        replay_trial(word)


def test_a_function_that_is_gone(write, tmp_path):
    word = encode_trial(Trial(write(RIGHT), Kind.INDEX, Rule.TOTAL, Engine.HYPOTHESIS, ({},)))
    assert replay_trial(word).answer is ReplayAnswer.FIXED
    (tmp_path / "fuzzed_function.py").unlink()
    with pytest.raises(TargetError, match="there is no file"):
        replay_trial(word)


# --- The examples --------------------------------------------------------------------------------------------------

CATALOG = {one["name"]: one for one in tomllib.loads((EXAMPLES / "catalog.toml").read_text())["function"]}
FAULTY = (
    "app_label_required", "node_of_missing_spec", "storage_class_as_str", "controller_or_none", "claims_generated",
    "default_tier_added", "finalizers_handed_out", "selector_in_dict_order", "workers_in_turn", "legacy_port_numbers",
    "nodes_by_pool_zone", "pods_by_secret",
)  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FAULTY)
def test_each_finding_can_be_tried_again(write, here, name):
    spec = write((EXAMPLES / f"{name}.py").read_text())
    rules = tuple(map(Rule, CATALOG[name]["rules"]))
    report = run(spec, *rules, budget_seconds=120.0)  # it ends with the first finding
    assert report.status is Status.VIOLATION
    found = [finding for finding in report.findings if finding.tier is InputClass.VALID]
    assert found
    assert {finding.rule for finding in found} <= set(rules)
    assert [answer_to(finding) for finding in found] == [ReplayAnswer.REPRODUCED] * len(found)
    write(RIGHT)
    assert [answer_to(finding) for finding in found] == [ReplayAnswer.FIXED] * len(found)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("rule", "faulty", "right"),
    [
        (Rule.CLOCK, "datetime.date.today().isoformat()", "datetime.date(2024, 2, 29).isoformat()"),
        (Rule.HISTORY, "SEEN.setdefault(0, name)", "SEEN.setdefault(name, name)"),
    ],
)
def test_findings_of_other_processes_can_be_tried_again(write, monkeypatch, rule, faulty, right):
    monkeypatch.setattr(perturbation_search, "PERTURBATIONS", PERTURBATIONS[:1])
    text = f"""
        import datetime

        SEEN = {{}}

        def index_func(obj):
            name = obj["metadata"].get("name") or ""
            return [{faulty}]
    """
    finding = soon(write(text), rule)
    assert (finding.rule, finding.engine) == (rule, Engine.PERTURBATIONS)
    assert answer_to(finding) is ReplayAnswer.REPRODUCED
    write(text.replace(faulty, right))
    assert answer_to(finding) is ReplayAnswer.FIXED


@pytest.mark.nightly
def test_programs_and_interleavings_can_be_tried_again(write):
    text = """
        import time

        FOUND = []

        def index_func(obj):
            FOUND.clear()
            FOUND.append((obj.get("metadata") or {}).get("name") or "")
            time.sleep(0)
            return list(FOUND)
    """
    finding = soon(write(text), Rule.THREAD_SAFE, is_first_enough=False)
    assert finding.engine is Engine.EXPLORER
    assert answer_to(finding) is ReplayAnswer.REPRODUCED
    write(text.replace("FOUND.clear()", "FOUND = []"))
    assert answer_to(finding) is ReplayAnswer.FIXED

    text = "SEEN = []\n\ndef index_func(obj):\n    SEEN.append(obj)\n    return [str(len(SEEN))]\n"
    finding = soon(write(text), Rule.CONSISTENT)
    assert finding.engine is Engine.PROGRAMS
    assert answer_to(finding) is ReplayAnswer.REPRODUCED
    write(text.replace("len(SEEN)", "1"))
    assert answer_to(finding) is ReplayAnswer.FIXED


@pytest.mark.nightly
def test_the_same_seed_finds_the_same():
    def index(obj):
        labels = obj["metadata"].get("labels") or {}
        return "gold" if labels.get("tier") == "gold" else [labels.get("zone", "")]

    options = FuzzOptions(budget_seconds=120.0, seed=5, only=(Rule.RETURNS_LIST,), is_first_enough=True)
    one, other = (only_error(fuzz(make_subject(index, Kind.INDEX), Kind.INDEX, options)) for _ in range(2))
    assert one == other
    assert '{"metadata": {"labels": {"tier": "gold"}}}' in one.code


@pytest.mark.waits
def test_a_call_that_returns_when_it_is_tried_again_is_no_hang(write, tmp_path):
    """A busy machine: the search begins anew, and the rest of the budget is used."""
    count = tmp_path / "count"
    spec = write(
        f"import pathlib, time\n\ndef index_func(obj):\n    if not pathlib.Path({str(count)!r}).exists():\n"
        f"        pathlib.Path({str(count)!r}).touch()\n        time.sleep(3)\n    return []\n"
    )
    report = run(spec, Rule.TOTAL, budget_seconds=8.0, patience_seconds=0.5)
    assert (report.status, report.findings, report.reasons) == (Status.OK, (), ()), report
