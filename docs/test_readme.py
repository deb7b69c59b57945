"""The README and the docs keep their word: commands are run, samples are executed, links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kcache_conformance.gallery import gallery

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(ROOT.glob("docs/*.md")) + sorted(ROOT.glob("*/README.md")) + sorted(ROOT.glob("examples/*/README.md"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", *arguments],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture(scope="module")
def settings_of_the_suite() -> ModuleType:
    import importlib.util

    spec = importlib.util.spec_from_file_location("suite_conftest", ROOT / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_first_sample_is_what_is_really_printed(settings_of_the_suite: ModuleType) -> None:
    (sample,) = (block for block in blocks(README, "console") if "update_shortcut" in block)
    command, _, expected = sample.partition("\n")
    arguments = command.removeprefix("$ .venv/bin/").split()
    assert arguments[:2] == ["kcache", "check"]
    done = run(arguments, ROOT)
    assert done.returncode == 1
    normalised = settings_of_the_suite.normalised
    assert normalised(done.stdout) == normalised(expected)
    replay = re.search(r"^ *(kcache replay .*)$", expected, re.MULTILINE)
    assert replay is not None
    assert run(replay[1].split(), ROOT).returncode == 1, "the word in the README must still show the bug"


def test_the_race_of_the_readme_is_found() -> None:
    (sample,) = (block for block in blocks(README, "text") if "update_removes_first" in block)
    command = sample.partition("\n")[0].removeprefix("$ ").split()
    done = run(command, ROOT)
    assert done.returncode == 1
    assert "Calls, as they overlapped in time" in done.stdout


def test_test_yours(tmp_path: Path, effort: Callable[[int, int], int]) -> None:
    implementation, test, declaration, adapted, counter = blocks(
        README.partition("## Test yours")[2].partition("## In CI")[0], "python"
    )
    assert implementation.startswith("# cache.py")
    (tmp_path / "cache.py").write_text(implementation + "\n\n" + declaration, encoding="utf-8")
    quick = test.replace("seconds=10", f"seconds=120, phases={('smoke', 'recorded')[: effort(1, 2)]}")
    assert quick != test
    (tmp_path / "test_cache.py").write_text(quick, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    assert run(["kcache", "check", "cache.py:new_indexer", "--only", "smoke"], tmp_path).returncode == 0
    done = run(["pytest", "-q", "-p", "no:cacheprovider"], tmp_path)
    assert done.returncode == 0, done.stdout
    done = run(
        ["pytest", "-q", "-p", "no:cacheprovider", "--kcache-target", "cache:new_indexer", "-k", "smoke"], tmp_path
    )
    assert done.returncode == 0, done.stdout
    (tmp_path / "test_counter.py").write_text(counter, encoding="utf-8")
    done = run(["pytest", "-q", "-p", "no:cacheprovider", "test_counter.py"], tmp_path)
    assert done.returncode == 1
    assert "the test fails: assert counter.value == 2" in done.stdout
    (tmp_path / "shelf.py").write_text(adapted, encoding="utf-8")
    done = run(["kcache", "check", "shelf.py:new_indexer", "--only", "smoke"], tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.nightly
def test_the_queue_and_the_informer_of_the_readme_are_found_wrong() -> None:
    (sample,) = (block for block in blocks(README, "console") if "--type" in block)
    commands = [line.removeprefix("$ kcache ").split() for line in sample.splitlines()]
    assert [command[3] for command in commands] == ["delta-fifo", "informer"]
    for command in commands:
        done = run(["kcache", *command, "-x"], ROOT)
        assert done.returncode == 1, done.stdout
        assert "Smallest example" in done.stdout


def test_the_sample_of_the_reference() -> None:
    (sample,) = blocks(README.partition("## The reference")[2], "python")
    namespace: dict[str, object] = {}
    exec(sample, namespace)
    found = eval('indexer.by_index("label", "app=web")', namespace)
    assert [obj["metadata"]["name"] for obj in found] == ["web-1"]
    last = sample.strip().splitlines()[-1]
    assert eval(last, namespace) == found


def test_the_consumer_sample_runs() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "consumer_sample.py")], check=False, timeout=60)
    assert done.returncode == 0


def test_the_documented_program_can_be_replayed(tmp_path: Path) -> None:
    (program,) = blocks((ROOT / "docs" / "formats.md").read_text(encoding="utf-8"), "json")
    (tmp_path / "program.json").write_text(json.dumps(json.loads(program)), encoding="utf-8")
    done = run(["kcache", "replay", "kcache:new_indexer", "program.json", "--budget", "1s"], tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr


@pytest.mark.nightly
def test_the_report_of_several_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (sample,) = blocks((ROOT / "docs" / "formats.md").read_text(encoding="utf-8"), "console")
    done = [run(line.removeprefix("$ ").split(), tmp_path) for line in sample.splitlines()]
    assert [one.returncode for one in done] == [1, 0, 0, 0, 0], done
    assert done[2].stdout.startswith("## kcache: 1 violation\n")
    assert "1 violation." in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "1 violation<" in (tmp_path / "badge.svg").read_text(encoding="utf-8")


def test_the_two_commands_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (setup, *_) = blocks(README, "console")
    for command in re.findall(r"^\$ make (\w+)", setup, re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_figures_of_the_gallery_are_those_of_the_gallery() -> None:
    kinds = [example.kind for example in gallery()]
    sentence = (
        f"holds {kinds.count('sequential')} Indexers with a fault that one thread\ncan show, "
        f"{kinds.count('concurrent')} with a fault that only several threads can show, "
        f"and {kinds.count('design')} correct ones"
    )
    assert sentence in README


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        target = (page.parent / link).resolve()
        installed = ROOT / "kcache" / "interfaces.py"
        if not installed.exists() and target.suffix in (".py", ".json"):
            continue  # in an installation the packages are elsewhere
        assert target.exists(), link
