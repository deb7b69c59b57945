"""docs/run-pytest.md keeps its word: the example is found as told, and the options exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from kcache.cli.run import run

PAGE = (Path(__file__).parent / "run-pytest.md").read_text(encoding="utf-8")


def test_the_example_is_found_as_told(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (told,) = re.findall(r"```text\n=.*?\n(.*?)```", PAGE, re.DOTALL)
    (command,) = re.findall(r"^\$ kcache (run pytest)  ", PAGE, re.MULTILINE)
    (tmp_path / "test_counter.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kcache", *command.split(), "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 1
    assert told in done.stdout
    assert "kcache replay kt1." in done.stdout


def test_the_options_are_those_of_the_command() -> None:
    options = {option for parameter in run.params for option in parameter.opts if option.startswith("--")}
    assert options == set(re.findall(r"^\| `(--[a-z-]+)", PAGE, re.MULTILINE))
