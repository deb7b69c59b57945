"""``kcache report``: what commands have written with ``--json`` in one table, and files that are something else."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from markdown_it import MarkdownIt

from kcache.cli import main
from kcache_conformance.targets.gallery import gallery

EXAMPLES = {example.name: f"{example.path}:new_indexer" for example in gallery()}

FINDING = {
    "kind": "divergence",
    "rule": "wrong-result",
    "phase": "stateful",
    "summary": "wrong",
    "replay": "kcache replay kx1.a",
}
ADVICE = {**FINDING, "rule": "unsorted-keys", "is_advice": True, "replay": "kcache replay kx1.b"}
SMOKE = {"phase": "smoke", "counts": {"programs": 1}, "inconclusive": "", "refused": "", "no_proof": ""}
EXPLORER = {**SMOKE, "phase": "explorer", "counts": {"programs": 4, "executions": 90, "exhausted": 3}}


def result(
    *findings: object, status: str = "ok", phases: tuple[object, ...] = (SMOKE,), **other: Any
) -> dict[str, Any]:
    """A document as ``kcache check`` writes it, without what the report does not need."""
    data = {
        "schema": "kcache/result/1",
        "versions": {"kcache": "0.1.0"},
        "target": "cache.py:new_indexer",
        "status": status,
        "options": {"kind": "indexer", "seed": 7, "phases": []},
        "reasons": [],
        "phases": list(phases),
        "findings": list(findings),
    }
    return {**data, **other}


OK = result(phases=(SMOKE, EXPLORER))
VIOLATION = result(FINDING, FINDING, ADVICE, status="violation", phases=({**SMOKE, "phase": "stateful"}, EXPLORER))
NO_PROOF = {**EXPLORER, "no_proof": "cache.py:7: runs <lambda> | a_b*c", "inconclusive": "not all were covered"}
UNKNOWN = result(status="unknown", phases=(NO_PROOF,), reasons=["explorer: not all were covered"])
UNCONFIRMED = result({**FINDING, "unconfirmed": "cache.py:7 runs zlib"}, ADVICE, status="unknown")
ACCEPTED = result({**FINDING, "is_waived": True})
REFUSED = result(
    status="unknown",
    phases=(SMOKE, {**SMOKE, "phase": "explorer", "counts": {}, "refused": "it is written in C"}),
    reasons=["explorer: it is written in C"],
)
FUZZED = {
    "schema": "kcache/fuzz/1",
    "function": "indexes.py:by_node",
    "kind": "index",
    "status": "violation",
    "reasons": [],
    "engines": [
        {"engine": "hypothesis", "did": "38 objects", "missed": ""},
        {"engine": "explorer", "did": "5 interleavings", "missed": "the time was up before all were run"},
    ],
    "findings": [
        {"rule": "total", "severity": "error", "engine": "hypothesis", "what": "it raised", "replay": None},
        {
            "rule": "pure",
            "severity": "warning",
            "engine": "hypothesis",
            "what": "it wrote",
            "replay": "kcache replay kf1.a",
        },
    ],
}
JUDGED = {
    "schema": "kcache/verdict/1",
    "file": "a recording.jsonl",
    "status": "violation",
    "reason": "lost update: it is not there",
    "anomaly": "lost update",
    "calls": 2,
}


def kcache(*arguments: str | Path) -> Result:
    return CliRunner(env={"NO_COLOR": "1"}).invoke(
        main, list(map(str, arguments)), prog_name="kcache", terminal_width=98
    )


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., str]:
    """``report(*documents)``: what is printed about them."""

    def write(*documents: object, options: tuple[str, ...] = ()) -> str:
        files = [tmp_path / f"{number}.json" for number in range(len(documents))]
        for file, document in zip(files, documents, strict=True):
            file.write_text(json.dumps(document), encoding="utf-8")
        done = kcache("report", *options, *files)
        assert done.exit_code == 0, done.output
        assert not done.stderr
        return done.stdout

    return write


def cells(markdown: str) -> list[list[str]]:
    """The rows of the table as a reader of Markdown sees them."""
    rows = re.findall(r"<tr>(.*?)</tr>", MarkdownIt("gfm-like", {"linkify": False}).render(markdown), re.DOTALL)
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_all_outcomes_in_one_table(report: Callable[..., str], golden: Callable[[str, str], None]) -> None:
    golden("report_markdown", report(OK, VIOLATION, UNKNOWN, UNCONFIRMED, ACCEPTED, REFUSED, FUZZED, JUDGED))


def test_violations_and_advice_are_counted_apart(report: Callable[..., str]) -> None:
    _, row = cells(report(VIOLATION))
    assert row[2:5] == ["violation", "wrong-result: 2", "unsorted-keys: 1"]
    assert row[6:] == ["0.1.0", "7", "<code>kcache replay kx1.a</code>"], "one command for each rule, none for advice"
    _, row = cells(report(UNCONFIRMED))
    assert row[2:4] == ["unknown", "wrong-result: 1 (not confirmed)"]
    _, row = cells(report(ACCEPTED))
    assert row[2:4] == ["ok", "wrong-result: 1 (accepted)"]


def test_nothing_is_said_better_than_it_was(report: Callable[..., str]) -> None:
    _, row = cells(report(UNKNOWN))
    assert row[2] == "unknown (explorer: not all were covered)"
    said = "explorer: unknown, 4 programs, 90 executions, 3 programs exhausted; no proof for some: cache.py:7: runs "
    assert row[5] == f"{said}&lt;lambda&gt; | a_b*c"
    _, row = cells(report(REFUSED))
    assert row[2] == "ok, without the explorer (explorer: it is written in C)"
    assert row[5] == "smoke test: ok<br>explorer: skipped, it is written in C"
    replayed = result(status="unknown", phases=({**SMOKE, "phase": "replay"},))
    assert cells(report(replayed))[1][5] == "replay: unknown, 1 programs"
    cut = result(FINDING, status="violation", options={"kind": "fifo", "seed": 0, "phases": ["smoke", "explorer"]})
    assert cells(report(cut))[1][5] == "smoke test: failed<br>explorer: not finished"


def test_functions_and_recordings(report: Callable[..., str]) -> None:
    _, fuzzed, judged = cells(report(FUZZED, JUDGED))
    assert fuzzed[:5] == ["<code>indexes.py:by_node</code>", "index-function", "violation", "total: 1", "pure: 1"]
    assert fuzzed[5:] == [
        "hypothesis: failed, 38 objects<br>explorer: unknown, 5 interleavings; the time was up before all were run",
        "unknown",
        "none",
        "",
    ]
    assert judged[3] == "lost-update: 1"
    assert judged[-1] == "<code>kcache judge 'a recording.jsonl'</code>"


@pytest.mark.parametrize(
    ("documents", "said", "colour"),
    [
        ((OK, ACCEPTED), "0 violations", "#2c7a3f"),
        ((OK, UNKNOWN), "unknown", "#8a6100"),
        ((UNCONFIRMED,), "unknown", "#8a6100"),
        ((REFUSED,), "unknown", "#8a6100"),
        ((JUDGED,), "1 violation", "#b3261e"),
        ((OK, UNKNOWN, VIOLATION, FUZZED), "3 violations", "#b3261e"),
        ((result(status="violation"),), "1 violation", "#b3261e"),
    ],
)
def test_the_badge_says_the_worst(
    documents: tuple[object, ...], said: str, colour: str, report: Callable[..., str]
) -> None:
    picture = ElementTree.fromstring(report(*documents, options=("--badge",)))
    assert picture.get("aria-label") == f"kcache: {said}"
    assert [text.text for text in picture.iter() if text.tag.endswith("text")] == ["kcache", said]
    colours = [area.get("fill") for area in picture.iter() if area.tag.endswith("rect")]
    assert colours[-1] == colour
    assert report(*documents).startswith(f"## kcache: {said}\n")


def test_the_badge_is_complete_in_itself(report: Callable[..., str], golden: Callable[[str, str], None]) -> None:
    picture = report(VIOLATION, options=("--badge",))
    assert not re.search(r"href|script|style|@import|url\((?!#)", picture)
    golden("report_badge", picture)


def test_a_page(report: Callable[..., str], tmp_path: Path) -> None:
    hostile = {**VIOLATION, "target": "<script>alert(1)</script>"}
    page = report(hostile, UNKNOWN, options=("--html",))
    assert '<h1 id="headline">2 violations.</h1>' in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "no proof for some: cache.py:7: runs &lt;lambda&gt;" in page
    file = tmp_path / "page.html"
    assert report(hostile, UNKNOWN, options=("--html", "--output", str(file))) == ""
    assert file.read_text(encoding="utf-8") == page


def test_what_a_document_says_is_never_markup(report: Callable[..., str]) -> None:
    hostile = "a|b`c``<b>\n| x |\x1b[31m"
    seven = {**SMOKE, "phase": hostile}
    again = {**FINDING, "rule": hostile, "replay": hostile}
    header, row = cells(report(result(again, status="violation", target=hostile, phases=(seven, seven))))
    assert len(header) == len(row) == 9
    assert row[0] == row[8] == "<code>a|b`c``&lt;b&gt;\\n| x |\\x1b[31m</code>"
    assert row[3] == "a|b`c``&lt;b&gt;\\n| x |\\x1b[31m: 1"


@pytest.mark.nightly
def test_what_commands_really_write(tmp_path: Path) -> None:
    program = {"schema": "kcache/program/1", "indexes": [], "prefix": [], "threads": []}
    (tmp_path / "program.json").write_text(json.dumps(program), encoding="utf-8")
    recording = tmp_path / "recording.jsonl"
    recording.write_text('{"schema": "kcache/events/1", "indexes": []}\n', encoding="utf-8")
    faulty, right = EXAMPLES["update_shortcut"], EXAMPLES["textbook"]
    commands = [
        ("check", "-x", faulty, "--only", "recorded", "--seed", "5"),
        ("check", right, "--only", "smoke", "--type", "indexer"),
        ("explore", right, "--program", tmp_path / "program.json"),
        ("verify", right, "--bound", "2x1", "--budget", "1ms"),
        (
            "fuzz",
            "kcache:meta_namespace_key_func",
            "--type",
            "key",
            "--budget",
            "500ms",
            "--seed",
            "6",
            "--no-crosshair",
        ),
        ("judge", recording),
        ("replay", right, tmp_path / "program.json"),
    ]
    files = [tmp_path / f"{number}.json" for number in range(len(commands))]
    codes = [kcache(*each, "--json", file).exit_code for each, file in zip(commands, files, strict=True)]
    done = kcache("report", *files)
    assert done.exit_code == 0, done.output
    _, *rows = cells(done.stdout)
    words = {0: "ok", 1: "violation", 3: "unknown"}
    assert [row[2].partition(" ")[0] for row in rows] == [words[code] for code in codes]
    assert codes[:2] == [1, 0]
    assert rows[0][3] == "several-values-mishandled: 1"
    assert [row[7] for row in rows[:5:4]] == ["5", "6"]
    assert {row[6] for row in rows} == {"0.1.0"}
    again = re.sub("</?code>", "", rows[0][-1]).removeprefix("kcache ")
    assert kcache(*shlex.split(again)).exit_code == 1, "the command of the table must show it again"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a JSON document (Expecting value: line 1 column 1 (char 0)): give a file that check, explore"),
        (json.dumps(OK)[:200], "is not a JSON document"),
        ("[" * 200_000, "is not a JSON document"),
        ("\udcff", "is not a JSON document ('utf-8' codec can't decode"),
        ("[]", "is a document without a schema of kcache, not an outcome of a run: give a file that"),
        ('{"schema": 1}', "is a document of the schema 1, not an outcome of a run"),
        ('{"schema": "kcache/baseline/1"}', 'of the schema "kcache/baseline/1", not an outcome of a run'),
        (
            '{"schema": "kcache/result/2"}',
            'is "kcache/result/2", which kcache 0.1.0 cannot read: use the version that',
        ),
        ('{"schema": "kcache/events/1"}', "a recording: `kcache judge FILE --json OUTCOME` writes its outcome"),
        (
            '{"schema": "kcache/result/1"}',
            "is damaged (kcache/result/1: it lacks 'options'): write it again with --json",
        ),
        (json.dumps({**OK, "status": "fine"}), 'unknown status "fine"; known are: ok, violation, unknown'),
        (json.dumps({**OK, "findings": [FINDING]}), '"status" is "ok", which a finding contradicts'),
        (json.dumps({**VIOLATION, "status": "unknown"}), '"status" is "unknown", which a finding contradicts'),
        (json.dumps({**OK, "phases": [{**SMOKE, "counts": {"programs": True}}]}), "expected an integer, not true"),
        (json.dumps({**OK, "phases": {}}), "is damaged"),
        (json.dumps({**FUZZED, "engines": [1]}), "is damaged (kcache/fuzz/1: "),
        (json.dumps({**JUDGED, "anomaly": "bad luck"}), 'unknown anomaly "bad luck"'),
    ],
)
def test_a_file_that_is_no_outcome(text: str, message: str, tmp_path: Path) -> None:
    right, wrong, written = (tmp_path / name for name in ("right.json", "wrong.json", "report.md"))
    right.write_text(json.dumps(OK), encoding="utf-8")
    wrong.write_text(text, encoding="utf-8", errors="surrogateescape")
    done = kcache("report", right, wrong, "--output", written)
    assert done.exit_code == 2
    assert done.output.startswith(f"kcache: error: {wrong} ")
    assert message in done.output
    assert done.output.count("\n") == 1
    assert not written.exists()


def test_a_file_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    missing = kcache("report", tmp_path / "nowhere.json")
    assert missing.exit_code == 2
    assert "nowhere.json cannot be read (No such file or directory): give a file that" in missing.output
    folder = kcache("report", tmp_path)
    assert folder.exit_code == 2
    assert "cannot be read (Is a directory)" in folder.output
    right = tmp_path / "right.json"
    right.write_text(json.dumps(OK), encoding="utf-8-sig")
    unwritable = kcache("report", right, "--output", tmp_path / "no" / "folder")
    assert unwritable.exit_code == 2
    assert "No such file or directory" in unwritable.output
    assert kcache("report").exit_code == 2
