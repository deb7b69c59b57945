"""Exit codes where nobody reads the output, or there is nowhere to write it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from kcache.cli import main
from kcache.cli.exits import open_missing_streams
from kcache_stress.interruption import scratch_folder

EMPTY = '{"schema": "kcache/events/1", "indexes": []}\n'


def exit_code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments), prog_name="kcache")
    return caught.value.code


@pytest.mark.parametrize("arguments", [("targets",), ("targets", "--paths"), ("judge", "FILE"), ("--help",)])
def test_closed_pipe_is_no_violation(
    arguments: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path_factory.mktemp("recording") / "empty.jsonl"
    file.write_text(EMPTY, encoding="utf-8")
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w", encoding="utf-8") as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)
        assert exit_code(*(str(file) if argument == "FILE" else argument for argument in arguments)) == 141


def test_closed_output_changes_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert exit_code("targets") == 0
    assert exit_code("check", "nonsense") == 2
    for stream in (sys.stdout, sys.stderr):
        stream.close()


@pytest.mark.parametrize(("encoding", "lines"), [("ascii", "| ... 2 more"), ("utf-8", "\u2502 \u2026 2 more")])
def test_pictures_are_drawn_with_what_the_output_can_hold(
    encoding: str, lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    open_missing_streams()
    print("\u2502 \u2026 2 more, \u00e9", end="", flush=True)
    shown = written.getvalue().decode(encoding)
    assert shown == lines + (", \\xe9" if encoding == "ascii" else ", \u00e9")


def test_open_output_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("targets", "--paths") == 0
    assert "textbook.py:new_indexer" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["check", "stress", "explore"])
def test_sigterm_leaves_nothing_behind(command: str, tmp_path: Path) -> None:
    scratch, file = tmp_path / "scratch", tmp_path / "out.json"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "kcache", command, "--reference", "--budget", "600s", "--json", str(file)],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120.0
        while not (file.exists() and list(scratch.glob("kcache-*"))):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        process.terminate()
        _, errors = process.communicate(timeout=120.0)
    finally:
        process.kill()
    assert (process.returncode, errors) == (143, "")
    assert not file.exists()
    assert not list(scratch.iterdir())


def test_no_folder_is_left_if_a_signal_comes_as_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = os.mkdir

    def make_and_end(folder: str, mode: int) -> None:
        make(folder, mode)
        raise SystemExit

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "mkdir", make_and_end)
    with pytest.raises(SystemExit), scratch_folder():
        raise AssertionError
    assert not list(tmp_path.iterdir())


def test_a_file_that_was_there_is_kept_and_a_mistake_leaves_none(tmp_path: Path) -> None:
    kept, made = tmp_path / "kept.json", tmp_path / "made.json"
    kept.touch()
    assert exit_code("check", "nosuch:factory", "--json", str(kept)) == 2
    assert exit_code("check", "nosuch:factory", "--json", str(made)) == 2
    assert kept.exists()
    assert not made.exists()
