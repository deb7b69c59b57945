"""Bodies about released packages: each stands in a table of the page that it belongs to, and finds its fault again."""

import ast
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "bodies"
PAGE = (Path(__file__).parents[2] / "docs" / "case-studies.md").read_text(encoding="utf-8")
BODIES = sorted(FOLDER.glob("*.py"))
TRIED = (Path(__file__).parents[2] / "docs" / "packages-tried.md").read_text(encoding="utf-8")
UNMENDED = sorted((FOLDER / "unmended").glob("*.py"))


def about(body: Path) -> tuple[str, str, str]:
    """The package that is wrong, its version, and the test that shows it."""
    tree = ast.parse(body.read_text(encoding="utf-8"))
    package, version = (ast.get_docstring(tree) or "").split(",")[0].split()
    (test,) = (statement.name for statement in tree.body if isinstance(statement, ast.FunctionDef))
    return package, version, test


def test_the_table_has_all_bodies_and_no_others() -> None:
    rows = re.findall(r"^\| \[(\S+) (\S+)\]\(#(\S+)\) \| \[`(\w+)`\]\(\S+/bodies/(\w+)\.py\) \|", PAGE, re.MULTILINE)
    assert rows == sorted(rows)
    expected = [(*about(body)[:2], about(body)[0], body.stem, body.stem) for body in BODIES]
    assert sorted(rows) == sorted(expected)
    assert set(re.findall(r"^### (\S+)$", PAGE, re.MULTILINE)) == {package for package, *_ in rows}


def test_the_table_of_finds_has_all_unmended_bodies_and_no_others() -> None:
    rows = re.findall(r"^\| (\S+) ([\d.]+), `\w+` \| \[`(\w+)`\]\(\S+/unmended/(\w+)\.py\) \|", TRIED, re.MULTILINE)
    assert sorted(rows) == sorted((*about(body)[:2], body.stem, body.stem) for body in UNMENDED)


@pytest.mark.nightly
@pytest.mark.parametrize("body", [*BODIES, *UNMENDED], ids=lambda body: body.stem)
def test_the_fault_is_found_where_the_package_is_installed(body: Path) -> None:
    package, version, test = about(body)
    try:
        installed = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        installed = "none"
    if installed != version:
        pytest.skip(f"{package} {version} is not installed, but {installed}")
    command = [sys.executable, "-m", "kcache", "explore", "-x", f"{body}:{test}", "--budget", "300s"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
    found = done.returncode == 1 or (body in UNMENDED and "found by: explorer" in done.stdout)  # or not confirmed
    assert found, done.stdout + done.stderr
