"""Children that hang, spin, crash, leave or lie, and parents that always get an answer."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcache_conformance.indexers.target_type import INDEXER
from kcache_conformance.isolation import JobEnd, child, run_job
from kcache_conformance.isolation.journal import FileJournal, MemoryJournal, read_journal
from kcache_conformance.isolation.watchdog import Watchdog
from kcache_conformance.runs.replays import token_of_program
from kcache_model.codec import decode_finding
from kcache_model.finding import Finding
from kcache_model.indexers import operations as op
from kcache_model.indexers.codec import INDEXERS
from kcache_model.indexers.items import Item
from kcache_model.indexers.program import Program
from kcache_model.object_types.noted_programs import begin, noted_program, step
from kcache_stress.loading import extend_import_path

A = Item("a", "v1")
PROGRAM = Program(("node",), (op.list_keys(), op.add(A)))

FACTORY = """
import ctypes, os, re, sys, threading, time
import kcache

class Indexer(kcache.Cache):
    def add(self, obj):
        {body}

def new_indexer(key_func, indexers):
    return Indexer(key_func, kcache.new_thread_safe_store(indexers))
"""


def run(tmp_path: Path, body: str, program: Program = PROGRAM) -> tuple[JobEnd, list[Finding]]:
    file = tmp_path / "implementation.py"
    file.write_text(FACTORY.format(body=body), encoding="utf-8")
    answers: list[dict[str, Any]] = []
    end = run_alone(f"{file}:new_indexer", program, answers.append)
    return end, [decode_finding(one["finding"], INDEXERS) for one in answers if one.get("finding") is not None]


def run_alone(
    spec: str, program: Program = PROGRAM, on_event: Callable[[dict[str, Any]], None] = lambda _: None
) -> JobEnd:
    """Replay a program in a child process."""
    arguments = {"target_type": INDEXER.name, "word": token_of_program(INDEXER, spec, program)}
    return run_job(
        "kcache_conformance.runs.replays:replay_job",
        arguments,
        on_event=on_event,
        deadline_seconds=60.0,
        patience_seconds=0.5,
    )


@pytest.mark.parametrize(
    "body",
    ["lock = threading.Lock(); lock.acquire(); lock.acquire()", "while True: pass", "threading.Event().wait()"],
)
def test_a_call_that_never_returns_is_a_hang(tmp_path: Path, body: str) -> None:
    end, _ = run(tmp_path, body)
    assert end.how == "hang"
    assert noted_program(INDEXERS, end.note) == PROGRAM
    assert "in add" in end.message
    assert "kcache_stress" not in end.message, "the harness's own frames are of no interest"


@pytest.mark.parametrize(
    ("body", "message"),
    [("os.abort()", "SIGABRT"), ("ctypes.string_at(0)", "SIGSEGV"), ("os._exit(7)", "exit status 7")],
)
def test_a_call_that_ends_the_process_is_a_crash(tmp_path: Path, body: str, message: str) -> None:
    end, _ = run(tmp_path, body)
    assert end.how == "crash"
    assert noted_program(INDEXERS, end.note) == PROGRAM
    assert message in end.message


def test_sys_exit_is_an_exception_like_any_other(tmp_path: Path) -> None:
    end, (finding,) = run(tmp_path, "sys.exit(0)")
    assert end.how == "done"
    assert "SystemExit" in finding.summary


def test_output_of_the_implementation_disturbs_nobody(tmp_path: Path) -> None:
    end, findings = run(tmp_path, 'print(\'{{"event": "done"}}\', flush=True); super().add(obj)')
    assert (end.how, findings) == ("done", [])


def test_daemon_and_other_threads_do_not_keep_the_child_alive(tmp_path: Path) -> None:
    end, findings = run(tmp_path, "threading.Thread(target=time.sleep, args=(3600,)).start(); super().add(obj)")
    assert (end.how, findings) == ("done", [])


def test_an_implementation_that_forks_does_not_multiply_the_harness(tmp_path: Path) -> None:
    body = f"open({str(tmp_path / 'forks')!r}, 'a').write('x'); os.fork(); super().add(obj)"
    program = Program((), (op.add(A),) * 5)
    end, findings = run(tmp_path, body, program)
    assert (end.how, findings) == ("done", [])
    time.sleep(0.5)
    assert (tmp_path / "forks").read_text(encoding="utf-8") == "x" * 5 * 20, "a program of one thread runs twenty times"


@pytest.mark.waits
def test_a_frozen_process_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A regular expression that never ends holds the interpreter: not even the child's own watchdog runs."""
    assert run_job.__kwdefaults__ is not None
    monkeypatch.setitem(run_job.__kwdefaults__, "grace_seconds", 5.0)
    end, _ = run(tmp_path, 're.match("(a+)+$", "a" * 60 + "b")')
    assert end.how == "hang"
    assert "frozen" in end.message
    assert "in add" in end.message
    assert noted_program(INDEXERS, end.note) == PROGRAM


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("nonsense", "write package.module:factory"),
        ("no.such.module:factory", "there is no module no.such.module"),
        ("missing.py:factory", "there is no file missing.py"),
        ("json:lodas", "json has no lodas; did you mean loads"),
        ("json:__name__", "it must be a function"),
        ("json:loads.nothing", "json has no loads.nothing"),
    ],
)
def test_targets_that_cannot_be_loaded(spec: str, message: str) -> None:
    end = run_alone(spec)
    assert end.how == "target_error"
    assert message in end.message


def test_a_module_that_fails_to_import_shows_why(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import json\nraise RuntimeError('half way')\n", encoding="utf-8")
    end = run_alone(f"{tmp_path / 'broken.py'}:factory")
    assert end.how == "target_error"
    assert "half way" in end.message
    assert "broken.py" in end.message


@pytest.mark.parametrize("is_endless", [True, False])
def test_an_import_that_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_endless: bool) -> None:
    job = f"""
import time

def endless():
    while {is_endless}:
        pass

def work(outlet):
    with outlet.loading("slow.py:make", seconds=0.5):
        endless()
    time.sleep(1.0)
"""
    (tmp_path / "loading_job.py").write_text(job, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    end = run_job("loading_job:work", {}, on_event=lambda _: None, deadline_seconds=60.0, patience_seconds=60.0)
    assert end.how == ("target_error" if is_endless else "done")
    assert ("after 0.5 s, slow.py:make is not imported yet" in end.message) is is_endless
    assert ("in endless" in end.message) is is_endless


def test_a_fault_of_the_harness_is_told_apart() -> None:
    end = run_job("no_such_module:job", {}, on_event=lambda _: None, deadline_seconds=5.0, patience_seconds=1.0)
    assert end.how == "harness_error"
    assert "no_such_module" in end.message


def test_an_implementation_that_closes_the_channel_cannot_pass_for_good(tmp_path: Path) -> None:
    end, _ = run(tmp_path, "os.closerange(3, 50); super().add(obj)")
    assert end.how in ("crash", "harness_error")


def test_journals(tmp_path: Path) -> None:
    file, memory = FileJournal(tmp_path / "journal"), MemoryJournal()
    for journal in (file, memory):
        watch = Watchdog(journal, 60.0, lambda _: None)
        begin(watch, INDEXERS, Program((), (op.list_keys(),)))
        step(watch, INDEXERS, op.list_objects())
        begin(watch, INDEXERS, Program(("node",)))
        for operation in PROGRAM.prefix:
            step(watch, INDEXERS, operation)
        watch.rest()
    assert read_journal(tmp_path / "journal") == memory.text
    assert noted_program(INDEXERS, memory.text) == PROGRAM


@pytest.mark.parametrize("text", ["", "{", '{"schema": "other"}', "\n\n"])
def test_an_unreadable_journal_names_no_program(tmp_path: Path, text: str) -> None:
    (tmp_path / "journal").write_text(text, encoding="utf-8")
    assert noted_program(INDEXERS, read_journal(tmp_path / "journal")) is None
    assert read_journal(tmp_path / "missing") == ""


def test_nobody_is_watched_when_the_job_is_over() -> None:
    before = set(threading.enumerate())
    watch = Watchdog(MemoryJournal(), 60.0, lambda _: None)
    (thread,) = [one for one in set(threading.enumerate()) - before if one.name == "kcache watchdog"]
    watch.end()
    thread.join(60)
    assert not thread.is_alive()


PATH = ["/first", "/lib/python3", "/lib/python3/site-packages"]


def path_of_child(monkeypatch: pytest.MonkeyPatch, path: list[str], variable: str = "") -> list[str]:
    monkeypatch.setattr(sys, "path", path)
    monkeypatch.setattr(sys, "argv", ["/commands/kcache"])
    monkeypatch.setenv("PYTHONPATH", variable)
    harness = set(child._harness().values())
    return [entry for entry in child.import_path() if entry not in harness]


@pytest.mark.parametrize("start", ["", str(Path.cwd()), "/commands"], ids=["-c", "-m", "command"])
def test_a_child_has_the_import_path_of_its_parent_but_for_where_that_was_started(
    monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    assert path_of_child(monkeypatch, [start, *PATH]) == PATH


def test_a_working_directory_that_pythonpath_names_keeps_its_place_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    assert path_of_child(monkeypatch, [here, "/first", here, *PATH[1:]], "/first:.") == ["/first", here, *PATH[1:]]


def test_folders_of_targets_that_the_parent_has_loaded_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A child adds that of its own target, after the harness is loaded: a socket.py may lie there."""
    monkeypatch.setattr(sys, "path", [*PATH])
    extend_import_path(tmp_path)
    assert sys.path[0] == str(tmp_path)
    assert path_of_child(monkeypatch, sys.path) == PATH


def test_a_harness_that_is_not_installed_comes_last_on_the_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", PATH)
    assert child.import_path() == [*PATH, *dict.fromkeys(child._harness().values())]
