"""The README and the docs keep their word: commands are run, samples are executed, links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from page_steps import Run, blocks, follow

from kcache_conformance.targets.gallery import gallery

ROOT = Path(__file__).resolve().parents[1]
CHECKED = (ROOT / "docs" / "what-is-checked.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(ROOT.glob("docs/*.md")) + sorted(ROOT.glob("*/README.md")) + sorted(ROOT.glob("examples/*/README.md"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for commands that are to be typed in a checkout."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def test_the_readme_is_short_and_followed(tmp_path: Path, run_command: Run) -> None:
    follow(README, tmp_path, run_command)
    assert len(README.splitlines()) <= 140


def test_the_fault_of_client_go_is_found(folder: Path, run_command: Run) -> None:
    page, _, stress = CHECKED.partition("## A race, with real threads")
    follow(page, folder, run_command)
    (word,) = re.findall(r"^ *kcache replay (.*)$", page, re.MULTILINE)
    again = run_command(folder, "kcache", "replay", *word.split(), "--trust")  # the examples are a link to elsewhere
    assert again.returncode == 1, "the word must still show the bug"
    (sample,) = blocks(stress, "text")
    done = run_command(folder, *sample.partition("\n")[0].removeprefix("$ ").split())
    assert done.returncode == 1
    assert "Calls, as they overlapped in time" in done.stdout


def test_the_generated_pages_are_up_to_date() -> None:
    check = [sys.executable, ROOT / "docs" / "generate.py", "--check"]  # other tests add options to the commands here
    done = subprocess.run(check, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"write them again with python docs/generate.py: {done.stdout}{done.stderr}"


@pytest.mark.nightly
@pytest.mark.parametrize("page", ["queues", "informers"])
def test_the_examples_of_queues_and_informers_are_found_wrong(page: str, folder: Path, run_command: Run) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ (kcache check -x .* examples/\S+)$", text, re.MULTILINE)
    done = run_command(folder, *command.split())
    assert done.returncode == 1, done.stdout
    assert "Smallest example" in done.stdout


def test_the_sample_of_the_reference() -> None:
    (sample,) = blocks((ROOT / "docs" / "reference.md").read_text(encoding="utf-8"), "python")
    namespace: dict[str, object] = {}
    exec(sample, namespace)
    found = eval('indexer.by_index("label", "app=web")', namespace)
    assert [obj["metadata"]["name"] for obj in found] == ["web-1"]
    last = sample.strip().splitlines()[-1]
    assert eval(last, namespace) == found


def test_the_consumer_sample_runs() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "docs" / "consumer_sample.py")], check=False, timeout=60)
    assert done.returncode == 0


def test_the_documented_program_can_be_replayed(tmp_path: Path, run_command: Run) -> None:
    (program,) = blocks((ROOT / "docs" / "formats.md").read_text(encoding="utf-8"), "json")
    (tmp_path / "program.json").write_text(json.dumps(json.loads(program)), encoding="utf-8")
    done = run_command(tmp_path, "kcache", "replay", "kcache:new_indexer", "program.json", "--budget", "10s")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_the_report_of_several_runs(folder: Path, run_command: Run) -> None:
    (sample,) = blocks((ROOT / "docs" / "formats.md").read_text(encoding="utf-8"), "console")
    done = [run_command(folder, *line.removeprefix("$ ").split()) for line in sample.splitlines()]
    assert [one.returncode for one in done] == [1, 0, 0, 0, 0], done
    assert done[2].stdout.startswith("## kcache: 1 violation\n")
    assert "1 violation." in (folder / "report.html").read_text(encoding="utf-8")
    assert "1 violation<" in (folder / "badge.svg").read_text(encoding="utf-8")


def test_the_commands_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"^\$ make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_figures_of_the_gallery_are_those_of_the_gallery() -> None:
    kinds = [example.kind for example in gallery()]
    sentence = (
        f"holds {kinds.count('sequential')} Indexers with a fault that one thread\ncan show, "
        f"{kinds.count('concurrent')} with a fault that only several threads can show, "
        f"and {kinds.count('design')} correct ones"
    )
    assert sentence in CHECKED
