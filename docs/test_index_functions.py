"""docs/index-functions.md keeps its word: bad examples are caught by their rule, good ones pass, options exist."""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import pytest
from page_steps import Run, blocks

from kcache.cli import main
from kcache.cli.fuzz import fuzz as fuzz_command
from kcache.testing import Rule, fuzz_index_func, fuzz_key_func
from kcache_conformance.fuzzing.engines.interleavings import explore_calls
from kcache_conformance.fuzzing.engines.perturbation_search import PerturbationSearch
from kcache_conformance.fuzzing.engines.perturbations import PERTURBATIONS, UNPERTURBED
from kcache_conformance.fuzzing.engines.programs import run_programs
from kcache_conformance.fuzzing.engines.random_search import Search
from kcache_conformance.fuzzing.evidence import Engine, Evidence
from kcache_conformance.fuzzing.judging.inline import Inline
from kcache_conformance.fuzzing.judging.violation import InputClass
from kcache_conformance.fuzzing.objects.fuzzed_object import FuzzedObject
from kcache_conformance.fuzzing.objects.strategies import ObjectMaker
from kcache_conformance.fuzzing.options import FuzzOptions
from kcache_conformance.fuzzing.report import FuzzError
from kcache_conformance.fuzzing.report_text import ENGINE_TITLES
from kcache_conformance.fuzzing.rules import RULES, Kind
from kcache_conformance.fuzzing.schemas.standard_types import STANDARD_TYPES
from kcache_conformance.fuzzing.session import fuzz
from kcache_conformance.fuzzing.static_analysis import read
from kcache_conformance.fuzzing.subject import Subject, load_subject
from kcache_conformance.indexers import recorded

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
FORMATS = (FOLDER / "formats.md").read_text(encoding="utf-8")
PAGE = (FOLDER / "index-functions.md").read_text(encoding="utf-8")
SECTIONS = {
    name: text
    for name, text in re.findall(r"^### ([a-z-]+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    if "def bad" in text
}

OWNERS = [{"apiVersion": "v1", "kind": "Job", "name": name, "uid": name} for name in ("b", "a")]
PODS = [
    FuzzedObject({"metadata": metadata, "spec": spec})
    for metadata, spec in (
        (
            {
                "name": "web-1",
                "namespace": "shop",
                "uid": "u1",
                "resourceVersion": "7",
                "labels": {"app": "web", "tier": "a"},
                "finalizers": ["b", "a", "b"],
                "ownerReferences": OWNERS,
                "creationTimestamp": "2024-02-29T23:59:59Z",
            },
            {"nodeName": "n1"},
        ),
        (
            {"name": "web-1", "uid": "u1", "labels": None, "creationTimestamp": "1970-01-01T00:00:00Z"},
            {"nodeName": "n2"},
        ),
        ({"name": "db", "uid": "u2", "labels": {"app": "db"}, "creationTimestamp": "2038-01-19T03:14:08Z"}, None),
        ({"name": "long-name-" * 12 + "0", "uid": "u3", "labels": {}, "creationTimestamp": None}, {}),
        ({}, {}),
    )
]
"""Valid objects."""


@dataclass(frozen=True)
class Example:
    """The functions ``bad`` and ``good`` of a section, in a file."""

    file: Path
    kind: Kind

    def subject(self, name: str) -> Subject:
        return load_subject(f"{self.file}:{name}", self.kind)


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.fixture
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Example:
    rule = Rule(request.param)
    (code,) = blocks(SECTIONS[rule.value], "python")
    file = tmp_path / f"example_{rule.name.lower()}.py"
    file.write_text(code, encoding="utf-8")
    return Example(file, Kind.INDEX if Kind.INDEX in RULES[rule].kinds else Kind.KEY)


def violations(subject: Subject) -> set[Rule]:
    """What the judge says of some objects."""
    inline = Inline(subject.function, subject.kind)
    return {violation.rule for pod in PODS for violation in inline.violations(pod)}


def valid_violations(subject: Subject, examples: int) -> dict[Rule, str]:
    """What Hypothesis finds with the default objects."""
    found: dict[Rule, str] = {}

    def note(evidence: Evidence) -> None:
        if evidence.input_class is InputClass.VALID:
            found[evidence.rule] = evidence.violation.what

    reading = read(subject.function)
    schema = FuzzOptions().sources.schema(subject, reading)
    inline = Inline(subject.function, subject.kind)
    search = Search(inline, schema, note, reads=lambda field: reading.reads(field.name, *field.aliases))
    search.run(ObjectMaker(reading).strategy(schema), 20.0, examples=examples)
    assert search.examples > 0
    return found


def differs_under_perturbations(subject: Subject) -> set[Rule]:
    perturbation_search = PerturbationSearch(
        str(subject.spec), subject.kind, lambda trees: [True] * len(trees), patience_seconds=20.0
    )
    found, missed = perturbation_search.run(PODS, 0.0)
    assert missed == ""
    return {evidence.rule for evidence in found}


def wrong_in_programs(subject: Subject) -> set[Rule]:
    found, _ = run_programs(subject.function, PODS, seconds=0.3, seed=0)
    return set() if found is None else {found.rule}


def wrong_in_interleavings(subject: Subject) -> set[Rule]:
    found = explore_calls(subject, PODS, seconds=10.0)
    assert found.reason == ""
    return set() if found.evidence is None else {found.evidence.rule}


def does_not_return(subject: Subject) -> set[Rule]:
    options = FuzzOptions(seconds=2.0, patience_seconds=1.0, only=(Rule.TERMINATES,), is_symbolic=False)
    return {finding.rule for finding in fuzz(str(subject.spec), subject.kind, options).errors}


ENGINES: dict[Rule, Callable[[Subject], set[Rule]]] = {
    Rule.TERMINATES: does_not_return,
    Rule.HISTORY: differs_under_perturbations,
    Rule.HASH_SEED: differs_under_perturbations,
    Rule.CLOCK: differs_under_perturbations,
    Rule.ENVIRONMENT: differs_under_perturbations,
    Rule.THREAD_SAFE: wrong_in_interleavings,
    Rule.CONSISTENT: wrong_in_programs,
}
"""How a rule is checked that one object in one process does not show."""


def test_the_page_has_the_rules() -> None:
    listed = [row for row in rows(section("The rules")) if row[0].startswith("[`")]
    assert [row[0] for row in listed] == [f"[`{rule}`](#{rule})" for rule in RULES]
    assert [row[2] for row in listed] == [text.severity.value for text in RULES.values()]
    assert [row[3].split(", ") for row in listed] == [
        [kind.value for kind in Kind if kind in text.kinds] for text in RULES.values()
    ]
    assert list(SECTIONS) == [rule.value for rule in RULES]
    assert f"one of {len(RULES)} [rules]" in PAGE


def test_the_page_has_the_types_of_the_standard_library() -> None:
    row = re.search(r"^\| standard library \| (.*) \|$", PAGE, re.MULTILINE)
    builtin = re.search(r"^\| builtins \| (.*) \|$", PAGE, re.MULTILINE)
    assert row is not None
    assert builtin is not None
    named = set(re.findall(r"`(\w+)`", row[1] + builtin[1]))
    assert {"ipaddress", "Path"} <= named
    others = {kind for kind in STANDARD_TYPES if kind.__qualname__ not in named}
    assert all(kind.__module__ == "ipaddress" or issubclass(kind, PurePath) for kind in others)


def test_the_page_has_the_engines() -> None:
    listed = [row[0] for row in rows(section("The engines"))][1:]
    assert sorted(listed) == sorted(ENGINE_TITLES.values())
    (line,) = re.findall(r"^The engines: (.*)\.$", FORMATS, re.MULTILINE)
    assert sorted(line.split(", ")) == sorted(f"`{engine}`" for engine in Engine)


@pytest.mark.one_in(6, start=1)
@pytest.mark.parametrize("example", SECTIONS, indirect=True, ids=str)
def test_the_bad_example_is_caught(
    example: Example, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    rule = Rule(request.node.callspec.params["example"])
    subject = example.subject("bad")
    if rule in ENGINES:
        assert rule in ENGINES[rule](subject)
    else:
        assert rule in violations(subject)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("example", SECTIONS, indirect=True, ids=str)
def test_the_good_example_passes(
    example: Example,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    effort: Callable[[int, int], int],
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    rule = Rule(request.node.callspec.params["example"])
    subject = example.subject("good")
    assert violations(subject) == set()
    assert valid_violations(subject, effort(30, 100)) == {}
    if rule in ENGINES:
        assert ENGINES[rule](subject) == set()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", range(3))
def test_the_examples_of_each_style_pass(number: int, tmp_path: Path) -> None:
    code = blocks(section("How to write a good one"), "python")
    assert len(code) == 3
    (name,) = re.findall(r"^def (\w+)", code[number], re.MULTILINE)
    file = tmp_path / f"style_{number}.py"
    file.write_text(code[number], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
        assert valid_violations(Subject(getattr(module, name), Kind.INDEX, name), 300) == {}
    finally:
        del sys.modules[file.stem]


@pytest.mark.nightly
def test_the_samples_from_tests_run(tmp_path: Path, run_command: Run) -> None:
    (code,) = blocks(section("From tests"), "python")
    dictionaries, attributes, types = blocks(section("How to write a good one"), "python")
    assert "seconds=10" in code
    (key_code,) = blocks(SECTIONS["stable-key"], "python")
    key = key_code.partition("def good")[2]
    functions = f"import kcache\n\n{types}\n{attributes}\n{dictionaries}\ndef key_of{key}"
    (tmp_path / "indexes.py").write_text(functions, encoding="utf-8")
    quick = code.replace("seconds=10", "seconds=0.2, only=['total'], crosshair=False")
    (tmp_path / "test_indexes.py").write_text(quick, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = run_command(tmp_path, "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert f"{code.count('def test_')} passed" in done.stdout


def test_the_arguments_that_the_page_names_are_those_of_the_functions() -> None:
    (listed,) = re.findall(r"The others are those of the command: (.*?)\.\s", section("From tests"), re.DOTALL)
    names = re.findall(r"`(\w+)`", listed)
    assert names == list(inspect.signature(fuzz_index_func).parameters)[2:]
    assert set(inspect.signature(fuzz_key_func).parameters) < set(inspect.signature(fuzz_index_func).parameters)


def test_lambdas_are_not_tried_in_other_processes() -> None:
    report = fuzz_index_func(lambda _: [], seconds=0.2)
    skipped = {engine.engine for engine in report.engines if "other processes cannot load" in engine.missed}
    assert skipped == {Engine.CROSSHAIR, Engine.PERTURBATIONS}


@pytest.mark.nightly
def test_strict_makes_adversarial_objects_fail() -> None:
    def by_name(obj: Any) -> list[str]:
        return [obj["metadata"].get("name") or ""]

    report = fuzz_index_func(by_name, seconds=1.0, only=["total"])
    assert [finding.tier for finding in report.findings] == [InputClass.ADVERSARIAL]
    with pytest.raises(FuzzError, match="TOTAL"):
        fuzz_index_func(by_name, seconds=1.0, only=["total"], strict=True)


def options_of_fuzz() -> set[str]:
    return {name for parameter in fuzz_command.params for name in (*parameter.opts, *parameter.secondary_opts)}


def test_every_option_of_the_page_exists() -> None:
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert named <= options_of_fuzz()
    assert named >= options_of_fuzz() - {"FUNCTION", "function", "--crosshair", "--kind", "-q", "-v"}


def test_the_commands_of_the_page_can_be_given() -> None:
    lines = [line for block in blocks(PAGE, "console") for line in block.splitlines() if line.startswith("$ ")]
    assert len(lines) > 5
    for line in lines:
        assert line.startswith("$ kcache fuzz ")
        arguments = shlex.split(line.removeprefix("$ kcache fuzz "), comments=True)
        # With the settings that it has below kcache: click keeps the option that it makes for help.
        fuzz_command.make_context("fuzz", arguments, **main.context_settings)


def test_the_scenarios_of_the_page_are_recorded() -> None:
    data = Path(recorded.__file__).parent / "data"
    known = {
        json.loads(line)["id"] for file in data.glob("edge-*.jsonl") for line in file.read_text("utf-8").splitlines()
    }
    named = set(re.findall(r"\(`([a-z-]+)`\)", section("What a failure leaves behind")))
    assert len(named) == 7
    assert named <= known


def test_perturbations_are_as_the_page_says() -> None:
    days = sorted(abs(perturbation.days) for perturbation in (UNPERTURBED, *PERTURBATIONS) if perturbation.days)
    assert days[0] == 1
    assert 59 * 365 < days[-1] < 61 * 365


def test_the_first_sample_is_what_is_found(run_command: Run) -> None:
    (sample,) = (block for block in blocks(PAGE, "console") if "kcache fuzz examples" in block)
    command, _, expected = sample.partition("\n")
    arguments = command.removeprefix("$ ").split()
    done = run_command(ROOT, *arguments, "--only", "returns-list", "--no-crosshair", "--first")
    assert done.returncode == 1
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    shown = [line for line in expected.splitlines() if line and line != "..." and "kcache replay" not in line]
    assert [line for line in shown if line not in printed] == []
    word = re.search(r"^ *kcache replay (.*)$", expected, re.MULTILINE)
    assert word is not None
    assert run_command(ROOT, "kcache", "replay", word[1]).returncode == 1, "the word must still show the bug"
