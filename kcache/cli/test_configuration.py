"""Configured targets, waivers and baselines on the command line; and every mistake in a file gets one clear line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

import kcache_model
from kcache.cli import main
from kcache_conformance.targets.configuration import find_configuration
from kcache_model.errors import FormatError
from kcache_model.rules import Contract

STORE = """
import kcache

class Store:
    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def get_by_key(self, key, default=None):
        return self._inner.get_by_key(key)

def new_indexer(key_func, indexers):
    return Store(kcache.new_indexer(key_func, indexers))
"""

TARGETS = """
[tool.kcache]
contract = "strict"

[tool.kcache.targets.mine]
factory = "store.py:new_indexer"
{more}

[tool.kcache.targets.reference]
factory = "kcache:new_indexer"
contract = "client-go"
budget = "2m"
"""

SMOKE = ("--only", "smoke")

Write = Callable[[str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    (tmp_path / "store.py").write_text(STORE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return lambda text: (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8") and None


def kcache(*arguments: str, **environment: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1", **environment}).invoke(main, arguments, prog_name="kcache")


def test_all_targets_are_checked_with_a_table_at_the_end(write: Write, tmp_path: Path) -> None:
    write(TARGETS.replace("{more}", ""))
    done = kcache("check", *SMOKE, "--json", "out.json")
    assert done.exit_code == 1
    assert "kcache check store.py:new_indexer (semantics classic, contract strict, seed 0, budget 30 s)" in done.output
    assert "kcache check kcache:new_indexer (semantics classic, seed 0, budget 120 s)" in done.output
    rows = [line.split() for line in done.output.splitlines() if line.startswith("│")]
    assert [row[1:4:2] for row in rows] == [["mine", "violation"], ["reference", "ok"]]
    assert json.loads((tmp_path / "out-mine.json").read_text())["findings"][0]["rule"] == "default-ignored"
    assert (tmp_path / "out-reference.json").is_file()
    assert kcache("check", "reference", *SMOKE).exit_code == 0


def test_what_is_typed_counts_more_than_the_environment_and_that_more_than_the_file(write: Write) -> None:
    write(TARGETS.replace("{more}", ""))
    assert "budget 120 s" in kcache("check", "reference", *SMOKE).output
    assert "budget 60 s" in kcache("check", "reference", *SMOKE, KCACHE_BUDGET="1m").output
    assert "budget 5 s" in kcache("check", "reference", *SMOKE, "--budget", "5s", KCACHE_BUDGET="1m").output


def test_waivers_and_declarations_accept_what_they_name(write: Write) -> None:
    waiver = 'waivers = [{ rule = "default-ignored", reason = "so be it" }, { rule = "torn-replace" }, { rule = "x" }]'
    write(TARGETS.replace("{more}", waiver))
    done = kcache("check", "mine", *SMOKE)
    assert done.exit_code == 0, done.output
    assert "waived: default-ignored (so be it)" in done.output
    assert "unused waiver: torn-replace" in done.output
    assert "unknown rule in a waiver: x" in done.output
    write(TARGETS.replace("{more}", 'declare = ["default"]'))
    done = kcache("check", "mine", *SMOKE)
    assert done.exit_code == 0, done.output
    assert "default" in done.output


def test_a_baseline_accepts_what_was_there(write: Write, tmp_path: Path) -> None:
    write(TARGETS.replace("{more}", ""))
    assert kcache("check", "mine", *SMOKE, "--write-baseline", "known.json").exit_code == 1
    assert kcache("check", "mine", *SMOKE, "--baseline", "known.json").exit_code == 0
    worse = STORE.replace("def new_indexer", "def old_indexer") + WORSE
    (tmp_path / "store.py").write_text(worse, encoding="utf-8")
    done = kcache("check", "mine", *SMOKE, "--baseline", "known.json")
    assert done.exit_code == 1
    assert "result-is-no-list" in done.output
    assert "default-ignored" not in done.output
    (tmp_path / "known.json").write_text("[]")
    assert "known.json is not a baseline" in kcache("check", "mine", "--baseline", "known.json").output


WORSE = """
class Worse(Store):
    def list_keys(self):
        return iter(self._inner.list_keys())

def new_indexer(key_func, indexers):
    return Worse(kcache.new_indexer(key_func, indexers))
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.kcache", "pyproject.toml is not a TOML file"),
        ("[tool.kcache]\nbudgt = '3s'", "tool.kcache.budgt is not a setting; known are type, contract"),
        ("[tool.kcache]\nbudget = 3", "tool.kcache.budget must be a text, not 3"),
        ("[tool.kcache]\nbudget = 'soon'", "tool.kcache.budget is 'soon', not a duration"),
        ("[tool.kcache]\nseed = true", "tool.kcache.seed must be an integer, not True"),
        ("[tool.kcache]\ncontract = 'lax'", "tool.kcache.contract 'lax' is not a valid Contract"),
        ("[tool.kcache]\ninstrument = [1]", "tool.kcache.instrument must be a list of texts"),
        ("[tool.kcache.targets.a]", "targets.a.factory is missing"),
        ("[tool.kcache.targets.a]\nfactory = 'm:f'\nwhen = 1", "targets.a.when is not a setting"),
        ("[tool.kcache.targets.a]\nfactory = 'm:f'\nwaivers = [{}]", "targets.a.waivers.rule is missing"),
        ("[tool.kcache.targets.a]\nfactory = 'm:f'\nwaivers = ['x']", "targets.a.waivers must be a table, not 'x'"),
    ],
)
def test_a_mistake_is_told_with_file_and_key(text: str, said: str, write: Write) -> None:
    write(text)
    done = kcache("check")
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


METERS = """
import threading

from kcache import testing as kt

class Meter:
    def __init__(self, count=0):
        self._count = count

    def add(self):
        count = self._count
        self._count = count + 1
        return count

class LockedMeter(Meter):
    def __init__(self, count=0):
        super().__init__(count)
        self._lock = threading.Lock()

    def add(self):
        with self._lock:
            return super().add()

class MeterMachine(kt.Machine):
    def subject(self):
        return Meter()

    @kt.rule()
    def add(self, meter):
        return meter.add()

def test_both():
    meter = Meter()
    kt.run(meter.add, meter.add)
    assert meter.add() == 2
"""

ANYTHING = """
[tool.kcache.targets]
none = { factory = "nothing.py:Meter" }
class = { factory = "meters.py:Meter" }
called = { factory = "meters.py:LockedMeter(2)" }
said = { factory = "meters.py:LockedMeter", type = "class" }
compared = { factory = "meters.py:Meter", spec = "meters.py:LockedMeter" }
machine = { factory = "meters.py:MeterMachine" }
test = { factory = "meters.py:test_both" }
queue = { factory = "meters.py:Meter", type = "fifo" }
"""


@pytest.fixture
def meters(write: Write, tmp_path: Path) -> None:
    (tmp_path / "meters.py").write_text(METERS, encoding="utf-8")
    write(ANYTHING)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.usefixtures("meters")
def test_whatever_can_be_typed_can_stand_in_the_file(jobs: str, tmp_path: Path) -> None:
    only = ("--only", "explorer", "--programs", "10", "--no-saved")
    done = kcache("check", *only, "-j", jobs, "--json", "out.json")
    assert done.exit_code == 1, done.output
    assert "kcache check --spec meters.py:LockedMeter meters.py:Meter (" in done.output
    rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in done.output.splitlines() if line[0:1] == "│"]
    wrong, right, unable = "violation", "ok", "cannot be checked"
    expected = {"none": unable, "class": wrong, "called": right, "said": right, "compared": wrong}
    assert dict(rows) == {**expected, "machine": wrong, "test": wrong, "queue": unable}
    assert "none: there is no file nothing.py" in done.output
    assert "queue: the Meter that meters.py:Meter returned has no update" in done.output
    assert {file.name for file in tmp_path.glob("out*")} == {f"out-{name}.json" for name, row in rows if row != unable}


@pytest.mark.usefixtures("meters")
def test_what_is_typed_beside_a_name_counts_more_than_the_file() -> None:
    only = ("--only", "explorer", "--budget", "1ms", "--no-saved")
    assert "kcache check meters.py:Meter (seed" in kcache("check", "queue", "--type", "class", *only).output
    compared = kcache("check", "called", "--spec", "meters.py:LockedMeter(2)", *only)
    assert "kcache check --spec meters.py:LockedMeter(2) meters.py:LockedMeter(2) (seed" in compared.output
    assert kcache("check", "queue", *only).exit_code == 2
    assert kcache("check", "queue", "--spec", "map", *only).exit_code == 2


@pytest.mark.usefixtures("meters")
def test_a_budget_in_work_stands_in_the_file(write: Write) -> None:
    table = '[tool.kcache.targets.right]\nfactory = "meters.py:LockedMeter"\ntype = "class"\nprograms = '
    write(f"{table}7\n")
    only = ("check", "--only", "explorer", "--no-saved")
    assert "(seed 0, budget 7 programs)" in kcache(*only).output
    assert "(seed 0, budget 60 s or 3 programs)" in kcache(*only, "--budget", "1m", "--programs", "3").output
    write(f"{table}0\n")
    wrong = kcache(*only)
    assert wrong.exit_code == 2
    assert "targets.right.programs must be at least 1, not 0" in wrong.output


@pytest.mark.usefixtures("meters")
def test_settings_of_all_targets_are_those_of_what_is_typed(write: Write) -> None:
    write("[tool.kcache]\nbudget = '1ms'\nseed = 7\ntype = 'class'")
    only = ("--only", "explorer", "--no-saved")
    assert "(seed 7, budget 0.001 s)" in kcache("check", "meters.py:LockedMeter", *only).output
    assert "(seed 3, budget 0.002 s)" in kcache("check", "meters.py:Meter", *only, "--seed=3", "--budget=2ms").output
    assert "unknown target type" not in kcache("check", "meters.py:Meter", *only).output
    assert "--type fifo" in kcache("check", "--reference", "--type", "fifo", *only).output


def test_without_a_configuration_it_says_so(write: Write) -> None:
    write("[tool.other]")
    done = kcache("check")
    assert done.exit_code == 2
    assert "give a TARGET, or --reference" in done.output
    assert kcache("check", "").exit_code == 2


def test_the_schema_agrees_with_what_is_read(write: Write, tmp_path: Path) -> None:
    file = Path(kcache_model.__file__).parent / "schemas" / "configuration.schema.json"
    validator = jsonschema.Draft202012Validator(json.loads(file.read_text(encoding="utf-8")))
    right = {
        "budget": "1m",
        "programs": 7,
        "targets": {"a": {"factory": "m:f", "spec": "map", "waivers": [{"rule": "hang"}]}},
    }
    assert validator.is_valid(right)
    for wrong in ({"budgt": "1m"}, {"budget": "soon"}, {"targets": {"a": {}}}, {"contract": "lax"}):
        assert not validator.is_valid(wrong)


def test_a_file_above_is_found_and_its_paths_are_its_own(write: Write, tmp_path: Path) -> None:
    write(TARGETS.replace("{more}", ""))
    below = tmp_path / "tests"
    below.mkdir()
    found = find_configuration(below)
    assert found.targets["mine"].factory == "../store.py:new_indexer"
    assert found.targets["mine"].options["contract"] is Contract.STRICT
    assert found.targets["reference"].factory == "kcache:new_indexer"
    (below / "kcache.toml").write_text("typ = 'fifo'", encoding="utf-8")
    with pytest.raises(FormatError, match=r"kcache.toml: typ is not a setting"):
        find_configuration(below)


@pytest.mark.parametrize("name", ["json", "junit", "html", "sarif", "github", "markdown", "text"])
def test_every_format_names_the_rule(name: str, write: Write, tmp_path: Path) -> None:
    write("")
    spec = ("check", "store.py:new_indexer", *SMOKE)
    done = kcache(*spec, "--format", name, "--output", "report")
    assert done.exit_code == 1
    assert "default-ignored" in (tmp_path / "report").read_text(encoding="utf-8")
    assert "default-ignored" in kcache(*spec, "--format", name).stdout


def test_formats_and_files_go_together(write: Write, tmp_path: Path) -> None:
    write("")
    spec = ("check", "store.py:new_indexer", *SMOKE)
    summary = tmp_path / "summary.md"
    done = kcache(*spec, "--format", "sarif", "--output", "a", "--format", "github", GITHUB_STEP_SUMMARY=str(summary))
    assert done.stdout.startswith("::error file=store.py,line=1,title=kcache%3A default-ignored::")
    assert json.loads((tmp_path / "a").read_text())["runs"][0]["results"][0]["ruleId"] == "default-ignored"
    assert summary.read_text().startswith("## kcache check `store.py:new_indexer`: violation")
    assert "both go to standard output" in kcache(*spec, "--format", "sarif", "--json", "-").output
    assert "each --output needs a --format" in kcache(*spec, "--output", "a").output
