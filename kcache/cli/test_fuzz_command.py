"""``kcache fuzz``: verdicts, what is shown, machine-readable results, replays, and wrong usage."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kcache.cli import main
from kcache.testing import fuzz_index_func, fuzz_key_func
from kcache_conformance.fuzzing.engines import symbolic
from kcache_conformance.fuzzing.evidence import Engine, EngineReport
from kcache_conformance.fuzzing.judging.violation import InputClass
from kcache_conformance.fuzzing.report import FuzzFinding, FuzzReport
from kcache_conformance.fuzzing.report_text import engine_line, print_report
from kcache_conformance.fuzzing.rules import Kind, Rule, Severity, rules_for
from kcache_model.errors import TargetError
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
    command = re.search(r"kcache (replay kf1\.\S+ --trust)", done.output)
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
    assert "Warnings" not in done.output
    assert re.search(r"ok after [0-9.]+ s: no object was found that breaks any of 15 rules", done.output)
    data = json.loads(report.read_text(encoding="utf-8"))
    assert data["schema"] == "kcache/fuzz/1"
    assert data["status"] == "ok"
    assert data["findings"] == []
    assert {"hypothesis", "programs", "threads", "explorer", "worlds"} <= {each["engine"] for each in data["engines"]}
    strict = kcache(
        "fuzz", f"{functions}:by_namespace", "--budget", "1s", "--no-crosshair", "--strict", "--only", "total"
    )
    assert strict.exit_code == 1, strict.output
    assert "A store should not hold this object." in strict.output


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
        (["functions.py:by_app", "--schema", "a", "--samples", "b"], "use only one of"),
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
        EngineReport(Engine.CROSSHAIR, "12 symbolic paths, 0 hints", "a run without a counterexample is not a proof"),
    )
    report = FuzzReport(
        "indexes:by_app", Kind.INDEX, Status.VIOLATION, findings, engines, rules_for(Kind.INDEX), "Pod", (), 4.2
    )
    report = replace(report, are_guessed=True, notes=("field 'lock' of class Pod: it keeps its default, None",))
    console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False)
    with console.capture() as capture:
        for engine in engines:
            console.print(engine_line(engine), soft_wrap=True)
        print_report(console, report)
    golden("fuzz_report", capture.get())


ORDERS = """
import uuid
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

class Gear:
    def __init__(self, teeth):
        self.teeth = teeth

@dataclass
class Order:
    id: uuid.UUID
    released: date | None
    price: Decimal
    customer: str | None = None
    lines: list[int] = field(default_factory=list)

def by_customer(order: Order) -> list[str]:
    return [order.customer.lower()]

def by_customer_or_none(order: Order) -> list[str]:
    return [] if order.customer is None else [order.customer.lower()]

def by_year(order: Order) -> list[str]:
    return [str(order.released.year)]

def by_year_or_none(order: Order) -> list[str]:
    return [] if order.released is None else [str(order.released.year)]

def by_share(order: Order) -> list[str]:
    return [str(1 / order.price)]

def by_price(order: Order) -> list[str]:
    return [str(order.price)]

def key(order: Order) -> str:
    return order.id

def key_as_text(order: Order) -> str:
    return str(order.id)

@dataclass
class Machine:
    name: str
    gear: Gear

@dataclass
class Spare:
    name: str
    gear: Gear | None = None

def by_machine(machine: Machine) -> list[str]:
    return [machine.name]

def by_spare(spare: Spare) -> list[str]:
    return [spare.name]

def by_lost(machine: "Lost") -> list[str]:
    return [machine.name]
"""


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    file = tmp_path / "orders.py"
    file.write_text(ORDERS, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("faulty", "right", "kind", "code"),
    [
        ("by_customer", "by_customer_or_none", "index", 'UUID("00000000-0000-0000-0000-000000000000")'),
        ("by_year", "by_year_or_none", "index", "released=None"),
        ("by_share", "by_price", "index", 'price=Decimal("0")'),
        ("key", "key_as_text", "key", "from uuid import UUID"),
    ],
)
def test_objects_with_fields_of_the_standard_library(
    orders: Path, faulty: str, right: str, kind: str, code: str
) -> None:
    rule = "returns-str" if kind == "key" else "total"
    usual = ("--kind", kind, "--only", rule, "--budget", "1s", "--no-crosshair")
    done = kcache("fuzz", f"{orders}:{faulty}", *usual)
    assert done.exit_code == 1, done.output
    assert "\n  objects: Order\n" in done.output
    assert code in done.output
    command = re.search(r"kcache (replay kf1\.\S+ --trust)", done.output)
    assert command is not None
    again = kcache(*command[1].split())
    assert again.exit_code == 1, again.output
    passed = kcache("fuzz", f"{orders}:{right}", *usual)
    assert passed.exit_code == 0, passed.output
    assert "\n  objects: Order\n" in passed.output


@pytest.mark.parametrize("kind", ["index", "key"])
def test_an_annotation_that_cannot_be_used_is_never_dropped(orders: Path, kind: str, tmp_path: Path) -> None:
    usual = ("--kind", kind, "--budget", "1s", "--no-crosshair")
    refused = kcache("fuzz", f"{orders}:by_machine", *usual)
    assert refused.exit_code == 2, refused.output
    assert (
        "kcache: error: field 'gear' of class Machine (Gear): parameter 'teeth' of Gear.__init__ has no annotation; "
        "give a strategy, a schema, or samples of the objects instead (--strategy, --schema, --samples)\n"
    ) in refused.output
    named = kcache("fuzz", f"{orders}:by_machine", *usual, "--object-type", f"{orders}:Machine")
    assert named.output == refused.output
    lost = kcache("fuzz", f"{orders}:by_lost", *usual)
    assert lost.exit_code == 2, lost.output
    assert "parameter 'machine' has the annotation 'Lost', which cannot be resolved: name 'Lost'" in lost.output
    (tmp_path / "one.yaml").write_text("name: a\n", encoding="utf-8")
    other = kcache("fuzz", f"{orders}:by_lost", *usual, "--samples", str(tmp_path / "one.yaml"), "--only", "fan-out")
    assert other.exit_code != 2, other.output


def test_a_default_that_is_kept_is_told(orders: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    note = (
        "field 'gear' of class Spare (Gear): parameter 'teeth' of Gear.__init__ has no annotation: "
        "it keeps its default, None"
    )
    done = kcache("fuzz", f"{orders}:by_spare", "--budget", "1s", "--no-crosshair", "--json", str(file))
    assert done.exit_code == 0, done.output
    assert f"\n  objects: Spare\n    {note}\n" in done.output
    data = json.loads(file.read_text(encoding="utf-8"))
    assert (data["objects"], data["guessed"], data["notes"]) == ("Spare", False, [note])
    checked = kcache("check", f"{orders}:by_spare", "--type", "index-function", "--budget", "1s")
    assert f"left out: {note}" in checked.output


def test_a_guess_is_told(functions: Path) -> None:
    done = kcache("fuzz", f"{functions}:by_namespace", "--only", "total", "--budget", "1s", "--no-crosshair")
    assert "\n  objects: ConfigMap, guessed from the fields that the function reads\n" in done.output


def test_a_missing_crosshair_is_told_however_little_time_is_left(
    functions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbolic, "unavailable", lambda: "CrossHair is not installed")
    for function in ("by_app", "by_namespace"):
        done = kcache("fuzz", f"{functions}:{function}", "--only", "total", "--budget", "0.1s")
        assert "did not run; CrossHair is not installed" in done.output
    monkeypatch.setattr(symbolic, "unavailable", lambda: "")
    done = kcache("fuzz", f"{functions}:by_namespace", "--only", "total", "--budget", "0.1s")
    assert "did not run; no time was left" in done.output


def test_the_library_refuses_and_tells_as_the_command_does(orders: Path) -> None:
    for fuzz in (fuzz_index_func, fuzz_key_func):
        with pytest.raises(TargetError, match="field 'gear' of class Machine"):
            fuzz(f"{orders}:by_machine", seconds=1, crosshair=False)
    report = fuzz_index_func(f"{orders}:by_spare", seconds=1, crosshair=False)
    assert report.objects == "Spare"
    assert len(report.notes) == 1
