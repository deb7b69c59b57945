"""``kcache fuzz``: verdicts, what is shown, machine-readable results, replays, and wrong usage."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kcache.cli import main
from kcache_conformance.fuzzing.evidence import Engine, EngineReport
from kcache_conformance.fuzzing.judging.violation import InputClass
from kcache_conformance.fuzzing.report import FuzzFinding, FuzzReport
from kcache_conformance.fuzzing.report_text import engine_line, print_report
from kcache_conformance.fuzzing.rules import Kind, Rule, Severity, rules_for
from kcache_model.verdict import Status

FUNCTIONS = """
def by_app(obj):
    return [obj["metadata"]["labels"]["app"]]

def by_namespace(obj):
    return [obj["metadata"].get("namespace") or ""]

def key(obj):
    return obj["metadata"].get("namespace") or "", obj["metadata"].get("name") or ""

number = 5
"""


def kcache(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments, prog_name="kcache", terminal_width=98)


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    file = tmp_path / "functions.py"
    file.write_text(FUNCTIONS, encoding="utf-8")
    return file


def test_a_faulty_function_is_shown_with_its_smallest_object_and_can_be_replayed(functions: Path) -> None:
    done = kcache("fuzz", f"{functions}:by_app", "--first", "--budget", "8s")
    assert done.exit_code == 1, done.output
    assert "TOTAL (found by: random objects (Hypothesis))" in done.output
    assert 'obj = {"metadata": {}}' in done.output
    assert "from functions import by_app" in done.output
    command = re.search(r"kcache (replay kf1\.\S+)", done.output)
    assert command is not None
    again = kcache(*command[1].split())
    assert again.exit_code == 1, again.output
    assert again.output.startswith("REPRODUCED: total of ")
    functions.write_text(FUNCTIONS.replace('["labels"]["app"]', '.get("labels", {}).get("app", "")'), encoding="utf-8")
    fixed = kcache(*command[1].split())
    assert fixed.exit_code == 0, fixed.output
    assert fixed.output.startswith("FIXED: ")


def test_a_correct_function_passes_and_strict_makes_hostile_objects_fail(functions: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = kcache("fuzz", f"{functions}:by_namespace", "--budget", "1s", "--no-crosshair", "--json", str(report))
    assert done.exit_code == 0, done.output
    assert "Warnings (--strict makes them fail):" in done.output
    assert re.search(r"ok after [0-9.]+ s: no rule of 15 broken, [12] warnings?", done.output)
    data = json.loads(report.read_text(encoding="utf-8"))
    assert data["schema"] == "kcache/fuzz/1"
    assert data["status"] == "ok"
    assert {finding["tier"] for finding in data["findings"]} == {"hostile"}
    assert {"hypothesis", "programs", "threads", "explorer", "worlds"} <= {each["engine"] for each in data["engines"]}
    strict = kcache(
        "fuzz", f"{functions}:by_namespace", "--budget", "1s", "--no-crosshair", "--strict", "--only", "total"
    )
    assert strict.exit_code == 1, strict.output
    assert "The object is not one that a store should be given." in strict.output


def test_a_terminal_shows_a_bar(functions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120)
    monkeypatch.setattr(sys.modules["kcache.cli.fuzz"], "stdout_console", lambda: console)
    done = kcache("fuzz", f"{functions}:by_namespace", "--only", "total", "--budget", "1s", "--no-crosshair")
    assert done.exit_code == 0, shown.getvalue()
    assert re.search(r"random objects \(Hypothesis\)\S* .*\u2501+.* objects", shown.getvalue())


def test_key_functions_have_rules_of_their_own(functions: Path) -> None:
    done = kcache("fuzz", f"{functions}:key", "--kind", "key", "--first", "--budget", "8s")
    assert done.exit_code == 1, done.output
    assert "RETURNS-STR" in done.output
    assert "it returned a tuple" in done.output


def test_only_and_exclude_choose_rules(functions: Path) -> None:
    done = kcache("fuzz", f"{functions}:by_app", "--exclude", "total", "--budget", "1s", "--no-crosshair")
    assert done.exit_code == 0, done.output
    assert "14 rules" in done.output or "rule of 14" in done.output
    done = kcache("fuzz", f"{functions}:by_app", "--only", "pure", "--budget", "1s", "--no-crosshair")
    assert done.exit_code == 0, done.output
    assert "threads" not in done.output.split("\n", 1)[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["functions.py:nothing"], "has no nothing"),
        (["functions.py:number"], "is an int; it must be a function of one object"),
        (["missing.py:f"], "there is no file missing.py"),
        (["functions.py:by_app", "--object-type", "functions.py:Pod"], "has no Pod"),
        (["functions.py:by_app", "--samples", "nowhere.yaml"], "nowhere.yaml"),
        (["functions.py:by_app", "--schema", "nowhere.json"], "nowhere.json"),
        (["functions.py:by_app", "--schema", "a", "--samples", "b"], "give one of"),
        (["functions.py:by_app", "--schema-name", "Pod"], "--schema"),
        (["functions.py:by_app", "--only", "beautiful"], "beautiful"),
    ],
)
def test_wrong_usage_ends_in_one_clear_line(
    functions: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(functions.parent)
    done = kcache("fuzz", *arguments)
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert "Traceback" not in done.output


def test_damaged_words_are_refused() -> None:
    done = kcache("replay", "kf1.eNpFy8EKgzAQhOF3")
    assert done.exit_code == 2
    assert "copy all of it" in done.output


def test_the_report_reads_well(golden: Callable[[str, str], None]) -> None:
    code = 'from indexes import by_app\n\nobj = {"metadata": {}}\nby_app(obj)'
    findings = (
        FuzzFinding(
            Rule.TOTAL,
            Severity.ERROR,
            InputClass.VALID,
            Engine.HYPOTHESIS,
            "it raised KeyError: 'labels'",
            "",
            code,
            "kf1.abc",
        ),
        FuzzFinding(
            Rule.HASH_SEED,
            Severity.ERROR,
            InputClass.VALID,
            Engine.PERTURBATIONS,
            "['shard-14'], but ['shard-05'] with PYTHONHASHSEED=1",
            "PYTHONHASHSEED=1",
            code,
        ),
        FuzzFinding(
            Rule.DISTINCT, Severity.WARNING, InputClass.VALID, Engine.HYPOTHESIS, "it returned ['a', 'a']", "", code
        ),
        FuzzFinding(
            Rule.PURE,
            Severity.WARNING,
            InputClass.ADVERSARIAL,
            Engine.HYPOTHESIS,
            "it changed the object",
            "",
            code,
            "kf1.abc",
        ),
    )
    engines = (
        EngineReport(Engine.HYPOTHESIS, "1,200 objects"),
        EngineReport(Engine.CROSSHAIR, "12 symbolic paths, 0 hints", "no counterexample is no proof"),
    )
    report = FuzzReport(
        "indexes:by_app", Kind.INDEX, Status.VIOLATION, findings, engines, rules_for(Kind.INDEX), "Pod", (), 4.2
    )
    console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False)
    with console.capture() as capture:
        for engine in engines:
            console.print(engine_line(engine), soft_wrap=True)
        print_report(console, report)
    golden("fuzz_report", capture.get())
