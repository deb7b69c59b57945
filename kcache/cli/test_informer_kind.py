"""``kcache check --kind informer``: output, exit codes, files, replays."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import kcache.testing
from kcache.cli import main
from kcache_conformance.targets.gallery import informer_gallery

EXAMPLES = {example.name: example for example in informer_gallery()}


def kcache_command(*arguments: str) -> Result:
    runner = CliRunner(env={"NO_COLOR": "1"})
    return runner.invoke(main, arguments, prog_name="kcache", terminal_width=98)


def checked(name: str, *arguments: str) -> tuple[Result, str]:
    """The result of a check, and its output without what differs from machine to machine."""
    path = EXAMPLES[name].path
    done = kcache_command("check", "-x", "--kind", "informer", f"{path}:make", *arguments)
    text = done.output.replace(str(path), f"examples/informers/{name}.py")
    text = re.sub(r"[0-9]+ executions", "N executions", text)
    text = re.sub(r"\.py:[0-9]+ in", ".py:LINE in", text)
    text = re.sub(r"after [0-9.]+ s", "after N s", text)
    return done, re.sub(r"ki1\.[A-Za-z0-9_=-]+", "ki1.WORD", text)


@functools.cache
def deletions_not_told(file: Path) -> tuple[Result, str, Any]:
    """A check that several tests look at, with what it wrote to ``file``."""
    return *checked("deletions_not_told", "--only", "litmus", "--json", str(file)), json.loads(file.read_text())


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results") / "result.json"


def word_of(output: str) -> str:
    (word,) = re.findall(r"kcache replay (ki1\.\S+)", output)
    return str(word)


@pytest.mark.nightly
def test_a_sequential_fault(result: Path, golden: Callable[[str, str], None]) -> None:
    done, text, _ = deletions_not_told(result)
    assert done.exit_code == 1
    told, story = text.split("  The interleaving:")
    golden("check_kind_informer", told + story[story.index("  Details:") :])
    again = kcache_command("replay", word_of(done.output))
    assert again.exit_code == 1
    assert again.output.startswith("REPRODUCED: the same schedule still fails\n")


def test_a_concurrent_fault_and_its_files(tmp_path: Path) -> None:
    files = {suffix: tmp_path / f"result.{suffix}" for suffix in ("json", "xml", "html")}
    options = ["--json", str(files["json"]), "--junit", str(files["xml"]), "--html", str(files["html"])]
    done, text = checked("stop_between_watches", "--only", "explorer", *options)
    assert done.exit_code == 1
    assert "DEADLOCK (found by: explorer)" in text
    assert "stop_between_watches.py:" in text
    (finding,) = json.loads(files["json"].read_text())["findings"]
    assert finding["replay"] == f"kcache replay {word_of(done.output)}"
    assert "stop_between_watches" in files["html"].read_text()
    assert files["xml"].stat().st_size


@pytest.mark.nightly
def test_what_is_fixed_ends_well(tmp_path: Path) -> None:
    file = tmp_path / "mended.py"
    head = (
        "from kcache.informers import SharedIndexInformer\n\n\nclass Mended(SharedIndexInformer):\n"
        "    def on_delete(self, obj):\n"
    )
    file.write_text(head + "        pass\n")
    done = kcache_command("check", "-x", "--kind", "informer", f"{file}:Mended", "--only", "litmus")
    assert done.exit_code == 1, done.output
    file.write_text(head + "        super().on_delete(obj)\n")
    again = kcache_command("replay", word_of(done.output))
    assert "does not fail any more" in again.output
    assert again.exit_code == 0


@pytest.mark.nightly
def test_the_reference_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = kcache_command(
        "check", "--reference", "--kind", "informer", "--only", "smoke", "--only", "litmus", "--json", str(file)
    )
    assert done.exit_code == 0, done.output
    assert json.loads(file.read_text())["target"] == "kcache.informers:SharedIndexInformer"


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("make = 3\n", "it must be a function lister_watcher -> informer"),
        ("def make(lister_watcher):\n    return object()\n", "returned a object without add_event_handler"),
        ("def make(lister_watcher):\n    raise OSError('no')\n", "raised OSError: no"),
        ("def make(lister_watcher): ...\nmake.kcache_unsupported = ('wings',)\n", "kcache_unsupported names wings"),
    ],
)
def test_what_is_no_target(code: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "target.py"
    file.write_text(code)
    done = kcache_command("check", "-x", "--kind", "informer", f"{file}:make")
    assert done.exit_code not in (0, 1)
    assert says in " ".join(done.output.split())


def test_an_informer_that_spins_is_a_hang(tmp_path: Path) -> None:
    file = tmp_path / "spinning.py"
    file.write_text(
        "from kcache.informers import SharedIndexInformer\n\n\nclass Spinning(SharedIndexInformer):\n"
        "    def has_synced(self):\n        while True:\n            pass\n"
    )
    for _ in range(3):  # on a busy machine, the call may be taken for hung before it has begun to spin
        done = kcache_command(
            "check", "-x", "--kind", "informer", f"{file}:Spinning", "--patience", "1s", "--only", "litmus"
        )
        assert done.exit_code == 1
        unwrapped = " ".join(done.output.split())
        assert "a call of the informer did not return within 1 s" in unwrapped
        if "in has_synced" in unwrapped:
            return
    pytest.fail(unwrapped)


def test_the_script_of_a_finding_shows_it(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, _, data = deletions_not_told(result)
    assert done.exit_code == 1
    (finding,) = data["findings"]
    monkeypatch.syspath_prepend(str(EXAMPLES["deletions_not_told"].path.parent))
    monkeypatch.setattr(kcache.testing, "settle", lambda seconds=0.3: time.sleep(0.3))
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(compile(finding["script"], "script", "exec"), {"__name__": "script"})
    assert "handler 0: add default/a" in shown.getvalue()
    assert "handler 0: delete" not in shown.getvalue()
    assert "the server has: nothing" in shown.getvalue()
    for name in ("deletions_not_told", "plain_informer"):
        sys.modules.pop(name, None)


BUILT_ON = """
import sys
sys.path.insert(0, {folder!r})
from kubernetes_informer import official_informer

def make(lister_watcher):
    return official_informer(lister_watcher)

make.kcache_unsupported = official_informer.kcache_unsupported
"""


@pytest.mark.nightly
def test_what_an_informer_is_built_on_is_controlled_without_being_named(tmp_path: Path) -> None:
    """Its locks and threads are; the case studies tell of what is found."""
    pytest.importorskip("kubernetes.informer", reason="the client has an informer since 36.0.0")
    adapters = next(iter(EXAMPLES.values())).path.parents[1] / "adapters"
    if not adapters.is_dir():
        pytest.skip("the adapters are not installed")
    file = tmp_path / "built_on.py"
    file.write_text(BUILT_ON.format(folder=str(adapters)))
    done = kcache_command("check", "-x", "--kind", "informer", f"{file}:make", "--only", "explorer", "--budget", "5s")
    assert "informer.py" in done.output
    assert "in stop" in done.output
    assert done.exit_code == 1
