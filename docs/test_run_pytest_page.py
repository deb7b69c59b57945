"""docs/run-pytest.md keeps its word: the example is found as told, and the options exist."""

from __future__ import annotations

import re
from pathlib import Path

from page_steps import Run

from kcache.cli.run import run

PAGE = (Path(__file__).parent / "run-pytest.md").read_text(encoding="utf-8")


def test_the_example_is_found_as_told(tmp_path: Path, run_command: Run) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (told,) = re.findall(r"```text\n=.*?\n(.*?)```", PAGE, re.DOTALL)
    (command,) = re.findall(r"^\$ kcache (run pytest)  ", PAGE, re.MULTILINE)
    (tmp_path / "test_counter.py").write_text(code, encoding="utf-8")
    done = run_command(tmp_path, "kcache", *command.split(), "-p", "no:cacheprovider")
    assert done.returncode == 1
    assert told in done.stdout
    assert "kcache replay kt1." in done.stdout


def test_the_options_are_those_of_the_command() -> None:
    options = {option for parameter in run.params for option in parameter.opts if option.startswith("--")}
    assert options == set(re.findall(r"^\| `(--[a-z-]+)", PAGE, re.MULTILINE))
