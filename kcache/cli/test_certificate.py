"""The certificate of ``kcache verify``, as it is written to files."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

import kcache
from kcache.cli import eta, main
from kcache_conformance.phases.execution_counter import ExecutionCounter
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.results.exploration_outcomes import Tally
from kcache_conformance.verification import verify as verification
from kcache_conformance.verification.verify import verify
from kcache_model.bound import parse_bound
from kcache_model.progress import NoProgress
from kcache_model.verdict import Status

SMALL = """
import threading


class Store:
    def __init__(self, key_func):
        self._key_func, self._lock, self._items = key_func, {lock}, {{}}

    def add(self, obj):
        with self._lock:
            self._items[self._key_func(obj)] = obj

    def list(self):
        with self._lock:
            return [self._items[key] for key in self._items]


def new_store(key_func, indexers):
    return Store(key_func)


new_store.kcache_unsupported = [
    "indexes", "update", "delete", "replace", "transaction", "get", "get_by_key", "list_keys", "resync",
    "bookmark", "last_sync_resource_version", "failing_key_functions",
]
"""
"""A store of two operations: few programs."""


def store(folder: Path, lock: str = "threading.Lock()") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "small.py").write_text(SMALL.format(lock=lock), encoding="utf-8")
    return f"{folder / 'small.py'}:new_store"


def written(target: str, folder: Path, *arguments: str) -> tuple[Result, dict[str, Any]]:
    file = folder / "out.json"
    command = ("verify", target, "--bound", "2x1", "--json", str(file), "--html", str(folder / "out.html"), *arguments)
    done = CliRunner(env={"NO_COLOR": "1"}).invoke(main, command, prog_name="kcache", terminal_width=98)
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return done, data


def test_a_certificate_is_written_and_changes_with_the_sources(tmp_path: Path) -> None:
    done, data = written(store(tmp_path), tmp_path)
    assert done.exit_code == 0, done.output
    certificate = data["certificate"]
    schema = resources.files("kcache_model").joinpath("schemas", "certificate.schema.json").read_text(encoding="utf-8")
    Draft202012Validator(json.loads(schema)).validate(certificate)
    programs = certificate["programs"]
    assert programs["all"] == programs["explored"] == programs["exhausted"] > 0
    assert (certificate["status"], certificate["missing"]) == ("ok", "")
    assert certificate["bound"] == {"threads": 2, "operations": 1}
    assert certificate["versions"]["kcache"] == kcache.__version__
    assert "by_index" in certificate["not_tested"]
    assert [run["programs"] for run in certificate["runs"]] == [programs["all"]]
    assert certificate["resume"]["done"] == [[0, programs["all"]]]
    assert "--resume" not in done.stdout
    (file,) = certificate["sources"]["files"]
    assert file["file"].endswith("small.py")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "Certificate" in page
    assert certificate["sources"]["fingerprint"][:16] in page
    assert certificate["sources"]["fingerprint"][:16] in done.stdout

    elsewhere = tmp_path / "elsewhere"
    same, other = (written(store(elsewhere, lock), elsewhere)[1] for lock in ("threading.Lock()", "threading.RLock()"))
    assert same["certificate"]["sources"]["fingerprint"] == certificate["sources"]["fingerprint"]
    assert other["certificate"]["sources"]["fingerprint"] != certificate["sources"]["fingerprint"]


def test_a_later_run_goes_on_from_the_file_of_the_first(tmp_path: Path) -> None:
    target, file = store(tmp_path), tmp_path / "out.json"
    cut, _ = written(target, tmp_path, "--budget", "1ms")
    assert cut.exit_code == 3
    assert f"  a later run can continue: --resume {file}" in cut.stdout
    done, data = written(target, tmp_path, "--resume", str(file))
    assert done.exit_code == 0, done.output
    programs = data["certificate"]["programs"]
    assert programs["all"] == programs["explored"] == programs["exhausted"] > 0
    assert [run["programs"] for run in data["certificate"]["runs"]] == [0, programs["all"]]
    told = " ".join(done.stdout.split())
    assert re.search(rf"runs 2: \S+ \S+, 0 programs; \S+ \S+, {programs['all']} programs seconds", told)
    before = file.read_bytes()
    other = CliRunner().invoke(main, ["verify", target, "--bound", "3x1", "--resume", str(file), "--json", str(file)])
    assert other.exit_code == 2
    assert "out.json cannot be continued: bound was 2x1, but is now 3x1; restore it" in other.stderr
    assert file.read_bytes() == before


def test_a_file_that_is_not_kept_is_advised(tmp_path: Path) -> None:
    command = ("verify", store(tmp_path), "--bound", "2x1", "--budget", "1ms")
    done = CliRunner(env={"NO_COLOR": "1"}).invoke(main, command)
    assert "  a later run can continue: --json FILE keeps it" in done.stdout


def test_lines_tell_how_far_it_is_unless_nothing_is_to_be_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eta, "FIRST_LINE_SECONDS", 0.01)
    monkeypatch.setattr(eta, "_LINE_SECONDS", 0.01)
    command = ("verify", store(tmp_path), "--bound", "2x1", "--budget", "10m")
    loud, quiet = (CliRunner().invoke(main, (*command, *options)) for options in ((), ("-q",)))
    done = r"(nothing explored yet|\d+( of \d+)? programs, \d+ executions)"
    line = rf"kcache: {done} after \d+ s of 10 min(, about \d+ \w+ left)?"
    assert re.search(r"kcache: \d+ of \d+ programs, \d+ executions after", loud.stderr)
    assert [told for told in loud.stderr.splitlines() if not re.fullmatch(line, told)] == []
    assert (loud.exit_code, quiet.exit_code, quiet.stderr) == (0, 0, "")


def test_the_first_line_comes_soon_and_no_others_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eta, "FIRST_LINE_SECONDS", 0.01)
    command = ("check", f"{store(tmp_path)}", "--only", "explorer", "--programs", "40", "--no-saved")
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(r"kcache: .+ after 0 s", line)


def test_executions_are_counted_while_one_program_is_explored() -> None:
    told: list[int] = []
    counter = ExecutionCounter(NoProgress(), told.append, report_seconds=-1.0)
    for _ in range(3):
        counter.alive()
    counter.reset()
    counter.alive()
    assert told == [1, 2, 3, 1]


def test_the_time_that_is_left_is_that_of_the_last_minutes() -> None:
    now = [0.0]
    shown = eta.Pace(lambda: now[0])
    assert (shown.progress, shown.remaining) == ("nothing explored yet", "")
    shown.note(1000, Tally(programs=400))  # of an earlier run
    assert shown.remaining == ""
    now[0] = 10.0
    shown.note(1000, Tally(programs=420, executions=77))
    assert shown.line == "420 of 1000 programs, 77 executions after 10 s, about 5 min left"
    for minute in range(1, 10):
        now[0] = 10.0 + 60.0 * minute
        shown.note(1000, Tally(programs=420 + minute))
    assert shown.remaining == ", about 10 h left"
    shown.note(None, Tally(programs=430, executions=80))
    assert shown.line == "430 programs, 80 executions after 9 min"


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0 s"), (119, "119 s"), (120, "2 min"), (7300, "2 h")])
def test_times_are_short(seconds: float, text: str) -> None:
    assert eta.duration_text(seconds) == text


def test_a_fault_has_no_certificate_that_is_ok(tmp_path: Path) -> None:
    done, data = written(store(tmp_path, "__import__('contextlib').nullcontext()"), tmp_path)
    assert done.exit_code == 1, done.output
    assert data["certificate"]["status"] == "violation"
    assert data["certificate"]["programs"]["explored"] < data["certificate"]["programs"]["all"]


def test_programs_that_could_not_be_counted_first_are_counted_in_passing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "_COUNTING_SHARE", 0.0)
    certificate = verify(store(tmp_path), parse_bound("2x1"), SuiteOptions(budget_seconds=600.0))
    assert certificate.status is Status.OK
    assert certificate.programs == certificate.tally.exhausted > 0
    cut = verify(store(tmp_path), parse_bound("2x1"), SuiteOptions(budget_seconds=0.0))
    assert (cut.programs, cut.status) == (None, Status.UNKNOWN)


def test_sources_that_change_while_it_runs_are_noticed() -> None:
    one, other = Tally(sources=frozenset({("a.py", "1")})), Tally(sources=frozenset({("a.py", "2"), ("b.py", "3")}))
    assert one.merged(other).are_sources_changed
    assert not one.merged(Tally(sources=frozenset({("b.py", "3")}))).are_sources_changed


def test_each_reason_for_no_proof_is_told_once() -> None:
    told = Tally(notes=("a.py:1: x",)).merged(Tally(notes=("a.py:2: y", "a.py:1: x")))
    assert (told.note, told.notes) == ("a.py:1: x", ("a.py:1: x", "a.py:2: y"))


WAITS = "threading.Event().wait()"
SHELF = """
import threading


class Shelf:
    def __init__(self):
        self._lock, self._count = threading.Lock(), 0

    def put(self, count):
        {what}
        with self._lock:
            self._count += 1

    def count(self):
        return self._count
"""


@pytest.mark.parametrize(("what", "code", "verdict"), [("pass", 0, "ok: .+, after"), (WAITS, 3, "incomplete after")])
def test_what_is_never_called_is_no_part_of_a_proof_and_makes_a_check_incomplete(
    what: str, code: int, verdict: str, tmp_path: Path
) -> None:
    file = tmp_path / f"shelf_{code}.py"
    file.write_text(SHELF.format(what=what), encoding="utf-8")
    done = CliRunner().invoke(main, ["verify", f"{file}:Shelf", "--bound", "2x1"])
    assert done.exit_code == code, done.output
    assert ("put never returned, so nothing is proved about it" in " ".join(done.output.split())) is bool(code)
    checked = CliRunner().invoke(main, ["check", f"{file}:Shelf", "--programs", "3", "--no-saved"])
    assert checked.exit_code == code
    assert re.search(rf"^{verdict} [0-9.]+ s$", checked.output, re.MULTILINE), checked.output
    brief = CliRunner().invoke(main, ["check", f"{file}:Shelf", "--programs", "3", "--no-saved", "-q"])
    assert re.search(rf": {verdict.split()[0].rstrip(':')}, [0-9.]+ s: ", brief.output, re.MULTILINE), brief.output
    left_out = ["check", f"{file}:Shelf", "--programs", "3", "--no-saved", "--leave-out", "put"]
    assert CliRunner().invoke(main, left_out).exit_code == 0
