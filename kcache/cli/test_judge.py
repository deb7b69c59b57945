"""``kcache judge`` as its users meet it."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main, replayable_input
from kcache.cli.replayable_input import ReplayableInput
from kcache_model.indexers.recording import dump_events
from model.material.simulated_histories import Simulator

HEADER = '{"schema": "kcache/events/1", "indexes": ["node"]}'
ADD = '{"at": 1, "thread": 1, "invoke": {"op": "add", "item": {"key": "a", "stamp": "v1", "values": {"node": ["n1"]}}}}'
ADDED = '{"at": 2, "thread": 1, "return": {"result": null}}'
LOOK = '{"at": 3, "thread": 2, "invoke": {"op": "by_index", "index": "node", "value": "n1"}}'
FOUND = '{"at": 4, "thread": 2, "return": {"result": ["v1"]}}'
MISSED = '{"at": 4, "thread": 2, "return": {"result": []}}'
RIGHT, WRONG = (HEADER, ADD, ADDED, LOOK, FOUND), (HEADER, ADD, ADDED, LOOK, MISSED)


def judge(*arguments: str, input: str | None = None) -> Result:
    runner = CliRunner(env={"NO_COLOR": "1"})
    return runner.invoke(main, ["judge", *arguments], input=input, prog_name="kcache", terminal_width=98)


def text(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return tmp_path / "recording.jsonl"


def test_right_and_wrong(recording: Path) -> None:
    recording.write_text(text(RIGHT), encoding="utf-8")
    done = judge(str(recording))
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[1:] == ["  2 calls by 2 threads", "", "ok"]
    recording.write_text(text(WRONG), encoding="utf-8")
    done = judge(str(recording))
    assert done.exit_code == 1
    assert "lost update: by_index(node, n1) of thread 2 did not return the object of key a" in done.output
    assert "    lines 2 to 3: add(a@v1) -> None\n    lines 4 to 5: by_index(node, n1) -> []\n" in done.output
    assert done.output.endswith("\nviolation\n")
    assert "kcache replay" not in done.output


def test_standard_input(recording: Path) -> None:
    assert judge("-", input=text(RIGHT)).exit_code == 0
    done = judge("-", input=text(WRONG))
    assert done.exit_code == 1
    assert "lines 4 to 5: by_index(node, n1) -> []" in done.output


def test_verdict_for_machines(recording: Path, tmp_path: Path) -> None:
    recording.write_text(text(WRONG), encoding="utf-8")
    file = tmp_path / "verdict.json"
    assert judge(str(recording), "--json", str(file)).exit_code == 1
    verdict = json.loads(file.read_text(encoding="utf-8"))
    assert verdict["schema"] == "kcache/verdict/1"
    assert (verdict["status"], verdict["anomaly"]) == ("violation", "lost update")
    assert (verdict["calls"], verdict["open"], verdict["threads"]) == (2, 0, 2)
    assert [(call["begins"], call["ends"], call["thread"]) for call in verdict["core"]] == [(2, 3, 1), (4, 5, 2)]


@pytest.mark.parametrize("lines", [RIGHT, WRONG])
def test_page(lines: tuple[str, ...], recording: Path, tmp_path: Path) -> None:
    recording.write_text(text(lines), encoding="utf-8")
    file = tmp_path / "page.html"
    judge(str(recording), "--html", str(file))
    page = file.read_text(encoding="utf-8")
    assert "by_index(node, n1)" in page
    assert "<svg" in page or "picture" in page


@pytest.mark.parametrize(
    ("lines", "failures", "result"), [(RIGHT, 0, ": ok\n"), (WRONG, 1, "| judge | failed | 2 calls |")]
)
def test_formats_of_every_command(
    lines: tuple[str, ...], failures: int, result: str, recording: Path, tmp_path: Path
) -> None:
    recording.write_text(text(lines), encoding="utf-8")
    junit, sarif = tmp_path / "out.xml", tmp_path / "out.sarif"
    done = judge(
        str(recording), "--junit", str(junit), "--format", "sarif", "--output", str(sarif), "--format", "markdown"
    )
    assert done.exit_code == failures
    assert result in done.stdout
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", str(failures))
    assert len(json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]) == failures


def test_page_of_a_recording_that_is_too_long_to_be_drawn(recording: Path, tmp_path: Path) -> None:
    recording.write_text("\n".join(dump_events(Simulator(5).correct(2, 6_000))), encoding="utf-8")
    file = tmp_path / "page.html"
    assert judge(str(recording), "--html", str(file)).exit_code == 0
    assert "too many to draw" in file.read_text(encoding="utf-8")


def test_what_a_recording_says_does_not_steer_the_terminal(recording: Path) -> None:
    strange = "\\u001b[2J\\u202e\\udfff\\n" + 200 * "x"
    recording.write_text(text(WRONG).replace('"v1"', f'"{strange}"'), encoding="utf-8")
    done = judge(str(recording))
    assert done.exit_code == 1, done.output
    assert "\x1b" not in done.output
    assert "\u202e" not in done.output
    assert max(map(len, done.output.splitlines()[1:])) <= 100


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipe_into_which_nobody_writes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keeper = os.open(pipe, os.O_RDWR)
    try:
        done = judge(str(pipe), "--budget", "100ms")
    finally:
        os.close(keeper)
    assert done.exit_code == 3
    assert "the recording did not end in time" in done.output


def test_line_without_an_end_is_refused(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayable_input, "_LONGEST_LINE", 1000)
    recording.write_text(text(RIGHT) + 1000 * " ", encoding="utf-8")
    done = judge(str(recording))
    assert done.exit_code == 2
    assert "line 6 has more than 1,000 characters" in done.output


def test_page_of_a_recording_without_calls(recording: Path, tmp_path: Path) -> None:
    recording.write_text(f"{HEADER}\n", encoding="utf-8")
    file = tmp_path / "page.html"
    assert judge(str(recording), "--html", str(file)).exit_code == 3
    assert "There are no calls." in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ((HEADER,), 3),
        ((HEADER, ADD), 3),
        (('{"schema": "kcache/history/1", "indexes": ["node"]}',), 3),
        ((HEADER, ADD, ADDED), 0),
        ((HEADER, ADD, LOOK, FOUND.replace("4", "5")), 0),
    ],
)
def test_recording_in_which_no_call_ends_says_nothing(lines: tuple[str, ...], code: int) -> None:
    """A recorder that writes nothing must not pass for ever."""
    done = judge("-", input=text(lines))
    assert done.exit_code == code, done.output
    assert ("no finished call" in done.output) == (code == 3)


def test_budget(recording: Path) -> None:
    recording.write_text("\n".join(dump_events(Simulator(5).correct(8, 2_000))), encoding="utf-8")
    done = judge(str(recording), "--budget", "1ms")
    assert done.exit_code == 3
    assert "the checker gave up" in done.output
    assert done.output.endswith("\nunknown\n")
    done = judge(str(recording), "--memory", "1MB")
    assert done.exit_code == 3
    assert "the checker gave up" in done.output
    assert judge(str(recording), "--memory", "lots").exit_code == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the recording is empty"),
        (b"\xff\xfe\x00", "is not a text in UTF-8"),
        (b"hello\n", "line 1: neither JSON lines"),
        (text(RIGHT)[:-10].encode(), "line 5, the last one, is cut off"),
        (text((HEADER, ADDED)).encode(), "line 2: thread 1 returns from a call that did not begin"),
        (text((HEADER, LOOK, ADD)).encode(), "line 3: the clock goes backwards, from 3 to 1"),
    ],
)
def test_bad_input_ends_in_one_line(content: bytes, message: str, recording: Path) -> None:
    recording.write_bytes(content)
    done = judge(str(recording))
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output
    assert len(done.output.splitlines()) == 1


def test_file_that_is_not_there(tmp_path: Path) -> None:
    done = judge(str(tmp_path / "nothing.jsonl"))
    assert done.exit_code == 2
    assert "No such file or directory" in done.output
    assert judge(str(tmp_path)).exit_code == 2


def test_byte_order_mark_is_no_obstacle(recording: Path) -> None:
    recording.write_text(text(RIGHT), encoding="utf-8-sig")
    assert judge(str(recording)).exit_code == 0


def test_stream_is_kept_to_be_read_again() -> None:
    kept = io.StringIO()
    lines = ReplayableInput(io.StringIO("a\nb\nc\n"), kept)
    first = lines()
    assert [next(first), next(first)] == ["a\n", "b\n"]
    first.close()
    assert list(lines()) == ["a\n", "b\n", "c\n"]
    assert list(lines()) == ["a\n", "b\n", "c\n"]
