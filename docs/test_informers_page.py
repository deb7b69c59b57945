"""docs/informers.md keeps its word: samples print what they say, the example is found as told, names exist."""

from __future__ import annotations

import contextlib
import io
import re
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from kcache.cli import main
from kcache_conformance.informers.litmus_tests import SEQUENTIAL
from kcache_conformance.informers.target import _NEEDED, FEATURES, load_informer_target
from kcache_conformance.targets.target_types import TARGET_TYPES
from kcache_model.informers.program import InformerProgram, StepName
from stateful_tests.material.api_server import HttpApiServer

FOLDER = Path(__file__).parent
PAGE = (FOLDER / "informers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def block(word: str) -> str:
    (found,) = (code for code in BLOCKS if word in code)
    return found


def printed_by(code: str) -> str:
    before = set(threading.enumerate())
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert set(threading.enumerate()) <= before
    return printed.getvalue()


def test_the_first_sample_prints_what_the_page_says() -> None:
    (expected,) = re.findall(r"\nprints\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert printed_by(block("told.get")) == expected


def test_the_sample_with_the_official_client(monkeypatch: pytest.MonkeyPatch) -> None:
    kubernetes = pytest.importorskip("kubernetes")
    with HttpApiServer() as server:
        server.pods.create("web-1", "shop", labels={"app": "web"}, nodeName="node-1")
        server.pods.create("web-2", "shop", labels={"app": "web"}, nodeName="node-2")
        server.pods.create("db", "shop", labels={"app": "db"}, nodeName="node-1")
        configuration = kubernetes.client.Configuration(host=server.url)
        monkeypatch.setattr(kubernetes.client.Configuration, "_default", configuration)
        monkeypatch.setattr(kubernetes.config, "load_kube_config", lambda: None)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block("load_kube_config"), {})
        assert printed.getvalue() == "shop web-1\n"


def test_the_sample_of_the_factory() -> None:
    assert printed_by(block("SharedInformerFactory(")) == ""


def test_an_index_function_that_fails_ends_the_informer_loudly(caplog: pytest.LogCaptureFixture) -> None:
    assert printed_by(block("has no labels")).startswith('unable to calculate an index entry for key "shop/web-1"')
    assert "has ended" in caplog.text


@pytest.mark.nightly
def test_the_example_is_found_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "upserting.py").write_text(block("class Upserting"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^\$ kcache (check .*upserting.*)$", PAGE, re.MULTILINE)
    done = CliRunner().invoke(main, [*command.split(), "-x"])
    assert done.exit_code == 1
    (expected,) = re.findall(r"```text\n(INVARIANT.*?)```", PAGE, re.DOTALL)
    assert expected.rstrip() in done.output
    (word,) = re.findall(r"kcache replay (ki1\.\S+)", done.output)
    assert CliRunner().invoke(main, ["replay", word]).exit_code == 1


def test_the_contract_is_the_one_asked_for() -> None:
    contract = PAGE.partition("### The contract")[2].partition("### The rules")[0]
    for name in _NEEDED:
        assert f"| `{name}(" in contract
    assert set(re.findall(r"^\| `([a-z_.]+)` \|", contract, re.MULTILINE)) == FEATURES
    reference = load_informer_target(TARGET_TYPES["informer"].reference)
    assert not reference.unsupported
    assert reference.takes("clock")
    assert reference.takes("resync_seconds")


def test_the_phases_are_described() -> None:
    described = PAGE.partition("### How it is checked")[2].partition("### An example")[0]
    assert tuple(re.findall(r"^\| `([a-z]+)` \|", described, re.MULTILINE)) == tuple(TARGET_TYPES["informer"].phases)
    assert f"| {len(SEQUENTIAL)} telling programs," in described


def test_the_word_is_described_with_every_step() -> None:
    formats = (FOLDER / "formats.md").read_text(encoding="utf-8")
    described = formats.partition("## Words of informers")[2].partition("\n## ")[0]
    steps = described.partition("| step |")[2]
    first_cells = [line.split("|")[1] for line in steps.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([a-z_]+)`", " ".join(first_cells))) == set(StepName)
    assert set(InformerProgram().encode()) <= set(re.findall(r"`([a-z_]+)`", described))
