"""The certificate of ``kcache verify``, as it is written to files."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

import kcache
from kcache.cli import main
from kcache_conformance.runs import verify as verification
from kcache_conformance.runs.outcomes import Tally
from kcache_conformance.runs.verify import verify
from kcache_model.bound import parse_bound
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


def test_a_fault_has_no_certificate_that_is_ok(tmp_path: Path) -> None:
    done, data = written(store(tmp_path, "__import__('contextlib').nullcontext()"), tmp_path)
    assert done.exit_code == 1, done.output
    assert data["certificate"]["status"] == "violation"
    assert data["certificate"]["programs"]["explored"] < data["certificate"]["programs"]["all"]


def test_programs_that_could_not_be_counted_first_are_counted_in_passing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "_COUNTING_SHARE", 0.0)
    certificate = verify(store(tmp_path), parse_bound("2x1"), seconds=600.0)
    assert certificate.status is Status.OK
    assert certificate.programs == certificate.tally.exhausted > 0
    cut = verify(store(tmp_path), parse_bound("2x1"), seconds=0.0)
    assert (cut.programs, cut.status) == (None, Status.UNKNOWN)


def test_sources_that_change_while_it_runs_are_noticed() -> None:
    one, other = Tally(sources=frozenset({("a.py", "1")})), Tally(sources=frozenset({("a.py", "2"), ("b.py", "3")}))
    assert one.merged(other).are_sources_changed
    assert not one.merged(Tally(sources=frozenset({("b.py", "3")}))).are_sources_changed


def test_each_reason_for_no_proof_is_told_once() -> None:
    told = Tally(notes=("a.py:1: x",)).merged(Tally(notes=("a.py:2: y", "a.py:1: x")))
    assert (told.note, told.notes) == ("a.py:1: x", ("a.py:1: x", "a.py:2: y"))
