"""An installed kcache, not an editable one: children import what plain ``python`` imports."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import kcache
import kcache_conformance
import kcache_model
import kcache_stress

TEST = """
from kcache import testing as kt
import shadowed_pkg

def test_where():
    a, b = kt.run(lambda: shadowed_pkg.WHERE, lambda: shadowed_pkg.WHERE)
    assert a == b == "PYTHONPATH", a

class Where:
    def where(self) -> int:
        assert shadowed_pkg.WHERE == "PYTHONPATH", shadowed_pkg.WHERE
        return 1

    def add(self, n: int) -> int:
        return n
"""

PATHS = """
import os, sys

with open(os.environ["PATHS"], "a") as file:
    print([path for path in dict.fromkeys(sys.path) if path != {folder!r}], os.environ["PYTHONPATH"], file=file)

class Counter:
    def add(self, n: int) -> int:
        return n

def test_nothing():
    pass
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with kcache in ``site-packages``, beside a package that is to be shadowed."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True, timeout=120)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)}))
    for package in (kcache, kcache_model, kcache_stress, kcache_conformance):
        source = Path(package.__file__).parent
        shutil.copytree(source, site / source.name, ignore=shutil.ignore_patterns("test_*", "golden", "__pycache__"))
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    (site / "shadowed_pkg.py").write_text('WHERE = "site-packages"\n')
    (site / "queue.py").write_text("raise ImportError('site-packages come after the standard library')\n")
    return home / "bin/python"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "first").mkdir()
    (tmp_path / "first/shadowed_pkg.py").write_text('WHERE = "PYTHONPATH"\n')
    (tmp_path / "test_shadow.py").write_text(TEST)
    (tmp_path / "queue.py").write_text("raise ImportError('the working directory is not for the harness')\n")
    (tmp_path / "sub").mkdir()
    for name in ("queue", "socket", "select", "difflib"):
        (tmp_path / f"sub/{name}.py").write_text("raise ImportError('nor is the folder of the target')\n")
    (tmp_path / "sub/paths.py").write_text(PATHS.format(folder=str(tmp_path)))
    return tmp_path


def run(python: Path, project: Path, *command: str, path: str) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = {**own, "PYTHONPATH": path, "PATHS": str(project / "out"), "NO_COLOR": "1"}
    run = subprocess.run(
        [python, "-P", "-m", "kcache", *command],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return run.stdout or run.stderr


COMMANDS = (
    ("explore", "test_shadow.py:test_where", "--budget", "5s"),
    ("check", "test_shadow.py:Where", "--budget", "1s"),
    ("verify", "test_shadow.py:Where", "--budget", "30s"),
    ("stress", "test_shadow.py:Where", "--budget", "1s"),
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_pythonpath_comes_before_what_is_installed(python: Path, project: Path, command: tuple[str, ...]) -> None:
    """With ``site-packages`` in front, each command would meet the assertion error of the other version."""
    told = run(python, project, *command, path="first")
    assert told.splitlines()[-1].startswith(("ok", "verified")), told
    assert "tested: test_shadow.py; it imports shadowed_pkg, first/shadowed_pkg.py" in told


def test_without_pythonpath_the_installed_version_is_tested_and_named(python: Path, project: Path) -> None:
    run(python, project, "explore", "test_shadow.py:test_where", "--budget", "5s", "--json", "out.json", path="")
    result = json.loads((project / "out.json").read_text())
    assert (result["status"], "site-packages" in result["findings"][0]["summary"]) == ("violation", True)
    tested = result["tested"]
    assert tested.startswith("test_shadow.py; it imports shadowed_pkg, ")
    assert tested.endswith("site-packages/shadowed_pkg.py")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("command", ["explore", "stress"])
@pytest.mark.parametrize("path", ["first", "first:."])
def test_the_import_path_is_that_of_plain_python(python: Path, project: Path, command: str, path: str) -> None:
    (project / "queue.py").unlink()  # PYTHONPATH may name the working directory
    name = "test_nothing" if command == "explore" else "Counter"
    told = run(python, project, command, f"sub/paths.py:{name}", "--budget", "1s", path=path)
    assert told.splitlines()[-1].startswith(("ok", "unknown")), told
    in_children = {*(project / "out").read_text().splitlines()}
    (project / "out").unlink()
    environment = {**os.environ, "PYTHONPATH": path, "PATHS": str(project / "out")}
    subprocess.run([python, "sub/paths.py"], cwd=project, env=environment, check=True, timeout=60)
    assert in_children == {*(project / "out").read_text().splitlines()}
