"""``kcache check --kind``: output, exit codes, files, replays, and input that is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.targets.gallery import queue_gallery
from kcache_conformance.targets.target_types import TARGET_TYPES
from kcache_model.queues.program import QueueKind

EXAMPLES = {example.name: example for example in queue_gallery()}


def kcache(*arguments: str) -> Result:
    runner = CliRunner(env={"NO_COLOR": "1"})
    return runner.invoke(main, arguments, prog_name="kcache", terminal_width=98)


def checked(name: str, *arguments: str) -> tuple[Result, str]:
    """The result of a check, and its output without what differs from machine to machine."""
    example = EXAMPLES[name]
    done = kcache("check", "-x", "--kind", example.makes, f"{example.path}:new_queue", *arguments)
    text = done.output.replace(str(example.path), f"examples/queues/{name}.py")
    text = re.sub(r"[0-9]+ executions", "N executions", text)
    text = re.sub(r"\.py:[0-9]+\b", ".py:LINE", text)
    return done, re.sub(r"kq1\.[A-Za-z0-9_=-]+", "kq1.WORD", text)


def word_of(output: str) -> str:
    (word,) = re.findall(r"kcache replay (kq1\.\S+)", output)
    return str(word)


@pytest.mark.parametrize("name", ["resync_of_queued", "fifo_oldest_kept", "real_keeps_callers_list"])
def test_a_sequential_fault(name: str, golden: Callable[[str, str], None]) -> None:
    done, text = checked(name)
    assert done.exit_code == 1
    golden(f"check_kind_{name}", text)
    again = kcache("replay", word_of(done.output))
    assert again.exit_code == 1
    assert again.output.startswith("REPRODUCED: the same calls still fail\n")


def test_a_concurrent_fault(golden: Callable[[str, str], None]) -> None:
    done, text = checked("close_without_lock", "--only", "explorer")
    assert done.exit_code == 1
    golden("check_kind_close_without_lock", text)
    again = kcache("replay", word_of(done.output))
    assert again.exit_code == 1
    assert again.output.startswith("REPRODUCED: the same schedule still fails\n")


def test_calls_that_no_order_explains() -> None:
    done, text = checked("process_outside_lock", "--only", "explorer")
    assert done.exit_code == 1
    assert "NONLINEARIZABLE not-linearizable (found by: explorer)" in text
    assert re.search(r"No\s+sequential\s+order\s+of\s+these\s+calls\s+gives\s+that", text)
    assert "def thread_2():" in text
    assert re.search(r"\u2502 process_outside_lock.py:LINE", text)
    assert "\u2500\u2500 thread 1 is interrupted here" in text


@pytest.mark.parametrize("kind", list(QueueKind))
def test_the_reference_of_a_kind(kind: QueueKind, tmp_path: Path) -> None:
    json_file, junit_file = tmp_path / "result.json", tmp_path / "result.xml"
    phases = [argument for phase in ("smoke", "recorded") for argument in ("--only", phase)]
    files = ["--json", str(json_file), "--junit", str(junit_file)]
    done = kcache("check", "--reference", "--kind", kind.value, *phases, *files, "--html", str(tmp_path / "page.html"))
    assert done.exit_code == 0, done.output
    data = json.loads(json_file.read_text())
    assert data["target"] == TARGET_TYPES[kind].reference
    assert data["options"]["kind"] == kind
    suite = ElementTree.parse(junit_file).getroot()
    assert suite.get("failures") == "0"


def test_files_of_a_finding(tmp_path: Path) -> None:
    files = {suffix: tmp_path / f"result.{suffix}" for suffix in ("json", "xml", "html")}
    options = ["--json", str(files["json"]), "--junit", str(files["xml"]), "--html", str(files["html"])]
    done, _ = checked("tombstone_kept", *options)
    assert done.exit_code == 1
    (finding,) = json.loads(files["json"].read_text())["findings"]
    assert finding["kind"] == "divergence"
    assert finding["expected"] == {"result": ["Added u1", "Deleted u2"]}
    assert finding["observed"]["result"][1].startswith("Deleted tombstone(")
    assert finding["replay"] == f"kcache replay {word_of(done.output)}"
    compile(finding["script"], "script", "exec")
    assert ElementTree.parse(files["xml"]).getroot().get("failures") == "1"
    assert "tombstone" in files["html"].read_text()


def test_what_is_fixed_ends_well(tmp_path: Path) -> None:
    file = tmp_path / "mended.py"
    head = "from kcache.queues import FIFO\n\n\nclass Mended(FIFO):\n    def resync(self):\n"
    broken = head + "        self.add({'key': 'a'})\n"
    file.write_text(broken)
    done = kcache("check", "-x", "--kind", "fifo", f"{file}:Mended")
    assert done.exit_code == 1
    file.write_text(broken.replace("self.add({'key': 'a'})", "pass"))
    again = kcache("replay", word_of(done.output), "--trust")
    assert again.exit_code == 0
    assert again.output == "FIXED: the same calls return the expected results\n"


KQ1 = (
    "kq1.eNqFjksOgzAMRO_idVTULnOVqoooHlBKSdKQ8BHK3WtYsWNjyzPzNN4okSYs9RC-GKtfRpbV2tabwU9gk7yB41tYtcNs"
    "Dp8UBdIb9daxwHt4lyJau5B-buTFpppZVP_-oElHGuuuVouoY5I-ufKdSlEXwHoCpjOQA9cJ1yWPExNkKrKd8xHyfIoZ5VUU"
    "9eKxnRA7uAZU_uLpWyw"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--kind", "stack"], "unknown target type stack"),
        (["check", "--kind", "fifo", "--semantics", "current"], "--semantics is not for --type fifo"),
        (["check", "--kind", "fifo", "kcache:new_indexer"], "is not a target|takes|raised|has no"),
        (["check", "--kind", "fifo", "nowhere:new_queue"], "there is no module nowhere"),
        (["replay", "kq1.AAAA"], "damaged"),
        (["replay", KQ1, "--pdb"], "--pdb needs a WORD that carries a schedule"),
    ],
)
def test_input_that_is_wrong(arguments: list[str], message: str) -> None:
    done = kcache(*arguments)
    assert done.exit_code == 2
    assert re.search(message, done.output)
    assert "Traceback" not in done.output
