"""docs/recordings.md keeps its word: the sample is judged as printed, and the recorders write what is read."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from kcache.cli import main
from kcache_model.indexers.recording import judge_recording
from kcache_model.standard_specifications import STANDARD_SPECIFICATIONS
from kcache_model.verdict import Status

PAGE = (Path(__file__).parent / "recordings.md").read_text(encoding="utf-8")

GO_PROGRAM = """
package main

import (
	"os"

	"example.org/recorder/recorder"
)

func main() {
	r := recorder.New(os.Stdout, "node")
	item := map[string]any{"key": "a", "stamp": "v1", "values": map[string]any{"node": []string{"n1"}}}
	r.Invoke(1, map[string]any{"op": "add", "item": item})
	r.Return(1, nil)
	r.Invoke(2, map[string]any{"op": "by_index", "index": "node", "value": "n1"})
	r.Return(2, []string{"v1"})
	r.Invoke(2, map[string]any{"op": "by_index", "index": "rack", "value": "n1"})
	r.Fail(2, "index_not_found")
}
"""

JAVA_PROGRAM = """
public final class Main {
    public static void main(String[] arguments) {
        Recorder r = new Recorder(System.out, "node");
        String values = "{\\"node\\": " + Recorder.texts(java.util.List.of("n1")) + "}";
        String names = "\\"key\\": " + Recorder.quoted("a\\"\\t\\u00e4") + ", \\"stamp\\": \\"v1\\"";
        String item = "{" + names + ", \\"values\\": " + values + "}";
        r.invoke(1, "{\\"op\\": \\"add\\", \\"item\\": " + item + "}");
        r.returned(1, "null");
        r.invoke(2, "{\\"op\\": \\"by_index\\", \\"index\\": \\"node\\", \\"value\\": \\"n1\\"}");
        r.returned(2, Recorder.texts(java.util.List.of("v1")));
        r.invoke(2, "{\\"op\\": \\"by_index\\", \\"index\\": \\"rack\\", \\"value\\": \\"n1\\"}");
        r.failed(2, "index_not_found");
    }
}
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        arguments,
        cwd=folder,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "GOFLAGS": "-mod=mod",
            "GOTOOLCHAIN": "local",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_sample_is_judged_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (recording,) = blocks("jsonl")
    output = blocks("console")[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recording.jsonl").write_text(recording, encoding="utf-8")
    command, _, expected = output.partition("\n")
    done = CliRunner(env={"NO_COLOR": "1"}).invoke(main, command.removeprefix("$ kcache ").split(), prog_name="kcache")
    assert done.exit_code == 1
    assert done.output == expected


def test_the_queue_is_judged_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (recording,) = blocks("json")
    output = blocks("console")[1]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queue.jsonl").write_text(recording, encoding="utf-8")
    command, _, expected = output.partition("\n")
    done = CliRunner(env={"NO_COLOR": "1"}).invoke(main, command.removeprefix("$ kcache ").split(), prog_name="kcache")
    assert done.exit_code == 1
    assert done.output.startswith(expected)


def test_all_operations_of_the_standard_specifications_are_named() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    named = {name: row for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])}
    assert named.keys() == STANDARD_SPECIFICATIONS.keys()
    for name, specification in STANDARD_SPECIFICATIONS.items():
        row = named[name] + named["register"] * (name == "cas-register")
        for template in specification.vocabulary:
            assert f"`{template.name}(" in row, (name, template.name)


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go here")
def test_the_recorder_in_go(tmp_path: Path) -> None:
    recorder, use = blocks("go")
    assert "r.Invoke(3" in use
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder" / "recorder.go").write_text(recorder, encoding="utf-8")
    (tmp_path / "go.mod").write_text("module example.org/recorder\n\ngo 1.18\n", encoding="utf-8")
    (tmp_path / "main.go").write_text(GO_PROGRAM, encoding="utf-8")
    is_judged(run(["go", "run", "."], tmp_path))


@pytest.mark.skipif(shutil.which("javac") is None, reason="there is no Java here")
def test_the_recorder_in_java(tmp_path: Path) -> None:
    (recorder,) = blocks("java")
    (tmp_path / "Recorder.java").write_text(recorder, encoding="utf-8")
    (tmp_path / "Main.java").write_text(JAVA_PROGRAM, encoding="utf-8")
    run(["javac", "Main.java", "Recorder.java"], tmp_path)
    is_judged(run(["java", "-cp", ".", "Main"], tmp_path))


def is_judged(recording: str) -> None:
    lines = recording.splitlines(keepends=True)
    assert len(lines) == 7
    found = judge_recording(lambda: lines)
    assert (found.verdict.status, found.calls, found.threads) == (Status.OK, 3, 2)
    lines[4] = json.dumps({**json.loads(lines[4]), "return": {"result": []}}) + "\n"
    assert judge_recording(lambda: lines).verdict.status is Status.VIOLATION
