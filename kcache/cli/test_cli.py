"""The command line as its users meet it: output, exit codes, files, replays, and input that is wrong."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache.cli.exits import clear_errors
from kcache_conformance.targets.gallery import gallery
from kcache_model.indexers.codec import encode_blob
from kcache_model.indexers.program import Program
from kcache_stress.indexers.program_tokens import PROGRAM_TOKENS

EXAMPLES = {example.name: f"{example.path}:new_indexer" for example in gallery()}


def kcache(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    # -P: as the console script does, which puts its own folder on the import path and not the working one.
    return subprocess.run(
        [sys.executable, "-P", "-m", "kcache", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def in_this_process(*arguments: str) -> Result:
    """The same without the start of a Python; what is asked of a target happens in a child process all the same."""
    runner = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"})
    return runner.invoke(main, arguments, prog_name="python -m kcache", terminal_width=98)


def replay_line(output: str) -> list[str]:
    (line,) = re.findall(r"^ *kcache (replay .*)$", output, re.MULTILINE)
    return shlex.split(line)


def program_of(output: str) -> str:
    """The program of the replay token, as a word without a target."""
    return encode_blob(PROGRAM_TOKENS.decode(replay_line(output)[1]).program)


@pytest.mark.parametrize(
    "command",
    [[], ["check"], ["explore"], ["verify"], ["stress"], ["judge"], ["fuzz"], ["replay"], ["report"], ["targets"]],
)
def test_help(command: list[str], golden: Callable[[str, str], None]) -> None:
    done = in_this_process(*command, "--help")
    assert done.exit_code == 0
    golden("help_" + ("_".join(command) or "kcache"), done.output)


def test_help_in_a_process_of_its_own(golden: Callable[[str, str], None]) -> None:
    done = kcache("--help")
    assert done.returncode == 0
    golden("help_kcache", done.stdout)


def test_targets_lists_the_gallery(golden: Callable[[str, str], None]) -> None:
    done = in_this_process("targets")
    assert done.exit_code == 0
    golden("targets", re.sub(r"check .*cleanup", "check FOLDER/cleanup", done.stdout))
    paths = in_this_process("targets", "--paths").stdout.split()
    assert len(paths) == len(EXAMPLES)
    assert all(Path(path.rpartition(":")[0]).is_file() for path in paths)


@pytest.mark.parametrize(("kind", "folder"), [("delta-fifo", "queues"), ("informer", "informers")])
def test_targets_lists_other_galleries(kind: str, folder: str, golden: Callable[[str, str], None]) -> None:
    done = in_this_process("targets", "--kind", kind)
    assert done.exit_code == 0
    golden(f"targets_{folder}", re.sub(rf"(check --type {kind}) .*?(\w+\.py)", r"\1 FOLDER/\2", done.stdout))
    paths = in_this_process("targets", "--kind", kind, "--paths").stdout.split()
    assert paths
    assert all(Path(path.rpartition(":")[0]).is_file() for path in paths)


@pytest.mark.parametrize("name", ["empty_sets_left", "index_repeats_objects", "replace_one_by_one", "live_indexers"])
def test_a_sequential_fault(name: str, golden: Callable[[str, str], None]) -> None:
    done = in_this_process("check", "-x", EXAMPLES[name], *(("--strict",) if name == "live_indexers" else ()))
    assert done.exit_code == 1
    assert done.stderr == ""
    golden(f"check_{name}", done.stdout.replace(EXAMPLES[name], f"examples/targets/{name}.py:new_indexer"))
    again = in_this_process(*replay_line(done.stdout))
    assert again.exit_code == 1, "the replay line must show it again"
    assert "REPRODUCED: the same calls still fail" in again.output
    healed = in_this_process("replay", EXAMPLES["textbook"], program_of(done.stdout))
    assert healed.exit_code == 0
    assert "FIXED: the same calls return the expected results" in healed.output


def test_a_concurrent_fault_with_its_timeline_and_replay() -> None:
    done = in_this_process("check", "-x", EXAMPLES["replace_in_two_sections"], "--only", "stress", "--budget", "60s")
    assert done.exit_code == 1
    assert "Calls, as they overlapped in time; those marked * cannot all be right:" in done.stdout
    assert re.search(r"^ .*thread \d", done.stdout, re.MULTILINE)
    # Real threads need not show a fault in each replay.
    replays = (in_this_process(*replay_line(done.stdout), "--budget", "60s") for _ in range(3))
    assert any(again.exit_code == 1 for again in replays)
    innocent = in_this_process("replay", EXAMPLES["textbook"], program_of(done.stdout), "--budget", "1s")
    assert innocent.exit_code in (0, 3), "fixed, if all interleavings could be tried in a second"


MOVE = {
    "schema": "kcache/program/1",
    "indexes": ["node"],
    "prefix": [{"op": "add", "item": {"key": "a", "stamp": "v1", "values": {"node": ["n1"]}}}],
    "threads": [
        [{"op": "update", "item": {"key": "a", "stamp": "v2", "values": {"node": ["n2"]}}}],
        [{"op": "by_index", "index": "node", "value": "n1"}],
    ],
}
"""One thread moves an object while the other looks where it was."""


@pytest.fixture(scope="module")
def move(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("programs") / "move.json"
    file.write_text(json.dumps(MOVE), encoding="utf-8")
    return str(file)


def named(name: str, text: str) -> str:
    text = text.replace(EXAMPLES[name].removesuffix(":new_indexer"), f"examples/targets/{name}.py")
    return re.sub(r"kx1\.[A-Za-z0-9_=-]+", "kx1.WORD", text)


@functools.cache
def explored(name: str, program: str) -> Result:
    return in_this_process("explore", EXAMPLES[name], "--program", program)


@pytest.mark.parametrize("name", ["lookup_in_two_steps", "lock_order_inversion"])
def test_an_explored_fault_and_its_replay(name: str, move: str, golden: Callable[[str, str], None]) -> None:
    done = explored(name, move)
    assert done.exit_code == 1, done.stdout
    assert done.stderr == ""
    golden(f"explore_{name}", re.sub(r"[0-9]+ executions", "N executions", named(name, done.stdout)))
    again = in_this_process(*replay_line(done.stdout))
    assert again.exit_code == 1
    assert again.stdout.startswith("REPRODUCED: the same schedule still fails\n")


KEPT_LOCK = """
import threading
import kcache


class Store:
    def __init__(self, inner, indexers):
        self._inner, self._indexers, self._lock = inner, indexers, threading.Lock()

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def add(self, obj):
        self._lock.acquire()
        for function in self._indexers.values():
            function(obj)
        self._inner.add(obj)
        self._lock.release()

    def list(self):
        with self._lock:
            return self._inner.list()


def new_indexer(key_func, indexers):
    return Store(kcache.new_indexer(key_func, indexers), dict(indexers))
"""


def test_a_lock_that_is_kept_for_ever_is_told_with_the_call_and_the_line(tmp_path: Path) -> None:
    target, program = tmp_path / "kept.py", tmp_path / "fails.json"
    target.write_text(KEPT_LOCK, encoding="utf-8")
    failing = {"op": "add", "item": {"key": "a", "stamp": "v1", "values": {"node": None}}}
    data = {"schema": "kcache/program/1", "semantics": "classic", "indexes": ["node"], "prefix": []}
    program.write_text(json.dumps({**data, "threads": [[failing], [{"op": "list"}]]}), encoding="utf-8")
    done = in_this_process("explore", f"{target}:new_indexer", "--program", str(program))
    assert done.exit_code == 1
    told = " ".join(done.stdout.split())
    line = KEPT_LOCK[: KEPT_LOCK.index("        with self._lock")].count("\n") + 1
    assert f"{target}:{line} in list, waits for indexer._lock, held by thread 1" in told
    assert "add(a@v1) raised an error before, and seems to have kept the lock" in told


def test_an_explored_fault_as_a_test(
    move: str, tmp_path: Path, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    line = replay_line(explored("lookup_in_two_steps", move).stdout)
    test = tmp_path / "test_regression.py"
    assert in_this_process(*line, "--pytest", str(test)).exit_code == 0
    source = test.read_text(encoding="utf-8")
    assert "by_index(node, n1)" in source.partition("def test_")[2].partition("kt.replay(")[0]
    again = in_this_process(*line, "--pytest", str(test))
    assert again.exit_code == 2
    assert "exists; write another name after --pytest" in again.output
    assert test.read_text(encoding="utf-8") == source
    for words in ((), (str(test),)):
        swallowed = in_this_process("replay", "--pytest", line[1], *words)
        assert (swallowed.exit_code, "--pytest needs a FILE" in swallowed.output) == (2, True)
    outcome = run_command(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", str(test))
    assert outcome.returncode == 1
    assert "ConformanceError" in outcome.stdout


def test_the_debugger_stops_in_the_target(move: str) -> None:
    line = replay_line(explored("lookup_in_two_steps", move).stdout)
    stopped = subprocess.run(
        [sys.executable, "-P", "-m", "kcache", *line, "--pdb"],
        input="where\ncontinue\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "is paused before its access" in stopped.stdout
    assert "lookup_in_two_steps.py" in stopped.stdout
    assert "REPRODUCED" in stopped.stdout
    assert stopped.returncode == 1


def test_a_correct_target_is_exhausted(move: str) -> None:
    done = in_this_process("explore", EXAMPLES["textbook"], "--program", move, "-j", "2")
    assert done.exit_code == 0
    assert re.search(
        r"1 programs, \d+ executions, 1 programs exhausted\nok: the program is correct in every interleaving\n",
        done.stdout,
    )
    cut = in_this_process(
        "explore", EXAMPLES["read_write_lock"], "--program", move, "--strategy", "dpor", "--executions", "2"
    )
    assert cut.exit_code == 3
    assert "not all interleavings were covered" in cut.stdout


@pytest.mark.nightly
def test_programs_that_hypothesis_writes() -> None:
    arguments = ("--generator", "hypothesis", "--shape", "2x2", "--seed", "1")
    found = in_this_process("explore", EXAMPLES["lookup_in_two_steps"], *arguments)
    assert found.exit_code == 1, found.stdout
    assert replay_line(found.stdout)[0] == "replay"
    correct = in_this_process("explore", EXAMPLES["textbook"], *arguments, "--budget", "500ms")
    assert correct.exit_code == 0
    assert re.search(r"[1-9]\d* programs, \d+ executions, [1-9]\d* programs exhausted\nok\n", correct.stdout)


@pytest.mark.nightly
def test_a_certificate(golden: Callable[[str, str], None]) -> None:
    done = kcache("verify", EXAMPLES["textbook"], "--bound", "2x1", "-j", "2")
    assert done.returncode == 0
    text = re.sub(r"(seconds|date|made with) +.*", r"\1 ...", named("textbook", done.stdout))
    golden("verify_textbook", re.sub(r"[0-9]+", "N", re.sub(r"fingerprint [0-9a-f]{16}", "fingerprint HASH", text)))
    cut = in_this_process("verify", EXAMPLES["textbook"], "--bound", "2x1", "--budget", "1ms")
    assert cut.exit_code == 3
    assert "not verified: not all interleavings were covered" in cut.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "kx1.abc"], "damaged"),
        (["replay", "kx2.abc"], "write one WORD"),
        (["replay"], "write a WORD"),
        (["explore", "--shape", "9x9"], "not a shape"),
        (["explore", "--reference", "--generator", "hypothesis", "-j", "2"], "leave out --jobs and --dask"),
        (["explore", "--reference", "--generator", "hypothesis", "--dask", "tcp://x:1"], "leave out --jobs and --dask"),
        (["explore", "--reference", "--generator", "hypothesis", "--program", "kc1.x"], "leave out one of the two"),
        (["explore", "--reference", "--instrument", "nosuchpackage"], "there is no package nosuchpackage"),
        (["check", "--reference", "--only", "explorer", "--instrument", "nosuch"], "there is no package nosuch to"),
        (
            ["check", "--reference", "--kind", "fifo", "--only", "explorer", "--instrument", "nosuch"],
            "there is no package nosuch to",
        ),
        (
            ["check", "--reference", "--kind", "informer", "--only", "explorer", "--instrument", "nosuch"],
            "there is no package nosuch",
        ),
        (["replay", "cache.py:new_indexer", "kx1.abc"], "leave out TARGET"),
        (["verify", "--bound", "many"], "bound"),
    ],
)
def test_wrong_use_of_the_explorer(arguments: list[str], message: str) -> None:
    done = in_this_process(*arguments)
    assert done.exit_code == 2
    assert message in done.output


def test_a_cluster_that_is_not_there() -> None:
    done = kcache("verify", "--reference", "--dask", "nowhere")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "the dask cluster at nowhere cannot be reached" in done.stderr


def test_the_reference_is_ok_and_says_what_was_done() -> None:
    only = ("--only", "smoke", "--only", "recorded")
    done = in_this_process(
        "check", "--reference", "--budget", "120s", "--semantics", "current", "--strict-errors", *only
    )
    assert done.exit_code == 0, done.stdout
    assert re.search(r"recorded client-go behaviour +ok +246 scenarios, \d{5} operations", done.stdout)
    assert re.search(r"\nok: no fault found in 247 programs, after \d+\.\d s\n$", done.stdout)


def test_what_ends_by_itself_is_never_cut_by_the_budget() -> None:
    done = in_this_process("check", "--type", "fifo", "--reference", "--only", "recorded", "--budget", "1ms")
    assert done.exit_code == 0, done.stdout
    count = re.search(r"recorded client-go behaviour +ok +(\d+) scenarios", done.stdout)
    assert count is not None
    assert int(count[1]) == 2
    assert "longer than the budget of 0.001 s: recorded client-go behaviour always run completely" in done.stdout


def test_files_for_machines(tmp_path: Path) -> None:
    result, report = tmp_path / "result.json", tmp_path / "report.xml"
    files = ("--json", str(result), "--junit", str(report))
    done = in_this_process("check", "-x", EXAMPLES["update_shortcut"], "--strict-errors", *files)
    assert done.exit_code == 1
    data = json.loads(result.read_text(encoding="utf-8"))
    assert data["schema"] == "kcache/result/1"
    assert data["status"] == "violation"
    assert data["findings"][0]["replay"].startswith("kcache replay ")
    program = tmp_path / "program.json"
    program.write_text(json.dumps(data["findings"][0]["program"]), encoding="utf-8")
    again = tmp_path / "again.json"
    replay = ("replay", EXAMPLES["update_shortcut"], str(program), "--budget", "7s", "--json", str(again))
    assert in_this_process(*replay).exit_code == 1
    assert json.loads(again.read_text(encoding="utf-8"))["options"]["budget_seconds"] == 7
    suite = ElementTree.parse(report).getroot()
    assert suite.get("failures") == "1"
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "Smallest example" in (failure.text or "")
    assert " ".join(replay_line(done.stdout)) in (failure.text or "")
    assert PROGRAM_TOKENS.decode(replay_line(failure.text or "")[1]).strict_errors


HOSTILE = """
import kcache
class Indexer(kcache.Cache):
    def list_keys(self):
        raise ValueError("]]></failure>\\x00\\x1b[31m <script>[bold]{markup}[/bold] \\u202e")
def new_indexer(key_func, indexers):
    return Indexer(key_func, kcache.new_thread_safe_store(indexers))
"""


@pytest.mark.nightly
def test_what_an_implementation_says_is_never_markup(tmp_path: Path) -> None:
    (tmp_path / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    report = tmp_path / "report.xml"
    done = kcache("check", "-x", "hostile.py:new_indexer", "--junit", str(report), folder=tmp_path)
    assert done.returncode == 1
    assert "[bold]{markup}[/bold]" in done.stdout
    assert "\x1b[31m" not in done.stdout
    failure = ElementTree.parse(report).getroot().find("testcase/failure")
    assert failure is not None
    assert "<script>" in (failure.get("message") or "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(([command, ""], "TARGET is empty") for command in ("check", "explore", "verify", "stress")),
        *(([command], "give a TARGET, or --reference") for command in ("check", "explore", "verify", "stress")),
        (["check", "--kind", "fifo"], "give a TARGET, or --reference"),
        (["check", "--reference", "--only", "smoke", "--without", "smoke"], "--without leaves no phase to run"),
        (["check", "--reference", "--kind", "fifo", "--without", "litmus"], "the phases of --type fifo are: "),
        (["check", "kcache:new_indexer", "--reference"], "give a TARGET or --reference, not both"),
        (["fuzz", ""], '"" is not a target'),
        (["replay", "", encode_blob(Program())], '"" is not a target'),
        (["check", "nonsense"], '"nonsense" is not a target; write package.module:factory'),
        (["check", "no.such:thing"], "there is no module no.such"),
        (["check", "nowhere.py:thing"], "there is no file nowhere.py"),
        (["check", "json:lodas"], "did you mean loads"),
        (["check", "json:__name__"], "json:__name__ is a value, of the type str. Name a class"),
        (["check", "json:dumps"], "factory(key_func, indexers)"),
        (["check", "--budget", "soon"], "'soon' is not a duration; write for example 30s"),
        (["check", "--budget", "0"], "out of range"),
        (["check", "--budget", "-5s"], "not a duration"),
        (["check", "--budget", "999999h"], "out of range"),
        (["check", "--semantics", "modern"], "'modern' is not one of 'classic', 'current'"),
        (["check", "--seed", "-1"], "not in the range"),
        (["check", "--reference", "--only", "everything"], "the phases of --type indexer are: smoke"),
        (
            ["check", "--reference", "--json", "missing/folder/file.json"],
            "No such file or directory: missing/folder/file.json",
        ),
        (["replay", "kcache:new_indexer", "kc1.broken"], "damaged"),
        (["replay", "kcache:new_indexer", "what"], 'a program word begins with "kc1."'),
        (
            ["replay", "kcache:new_indexer"],
            "write one WORD that begins with kx1., kq1., ki1., kf1., kt1. or ko1., or TARGET and PROGRAM",
        ),
        (["fly"], "No such command 'fly'"),
    ],
)
def test_wrong_input_gets_one_clear_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = in_this_process(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_an_unreadable_program_file(tmp_path: Path) -> None:
    (tmp_path / "program.json").write_text("{", encoding="utf-8")
    done = kcache("replay", "kcache:new_indexer", "program.json", folder=tmp_path)
    assert done.returncode == 2
    assert "program.json is not a JSON file" in done.stderr


def test_a_target_in_the_working_folder_and_decoys_of_the_harness(tmp_path: Path) -> None:
    for decoy in ("model", "queue", "select", "selectors", "stress", "kcache_model"):
        (tmp_path / f"{decoy}.py").write_text("raise SystemExit('decoy')", encoding="utf-8")
    (tmp_path / "mine.py").write_text(
        "import kcache\ndef make(key_func, indexers):\n    return kcache.new_indexer(key_func, indexers)\n",
        encoding="utf-8",
    )
    done = kcache("check", "mine:make", "--only", "smoke", folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_fault_of_kcache_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, clear_errors():
        raise ZeroDivisionError("in the harness")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "ZeroDivisionError: in the harness" in said
    assert "kcache: error: this is a fault of kcache, not of your implementation" in said
