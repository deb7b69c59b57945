"""Import paths of a project: what pytest finds, a command finds; and a name leads back to what it names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kcache_model.errors import TargetError
from kcache_stress.import_paths import import_paths
from kcache_stress.loading import importable_spec, load_object

CONFIGURATIONS = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["lib", "."]\n',
    "pytest.toml": '[pytest]\npythonpath = ["lib", "."]\n',
    ".pytest.toml": '[pytest]\npythonpath = ["lib", "."]\n',
    "pytest.ini": "[pytest]\npythonpath = lib .\n",
    "tox.ini": "[pytest]\npythonpath =\n    lib\n    .\n",
    "setup.cfg": "[tool:pytest]\npythonpath = lib .\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a package below ``lib``, and two tests that use it; nothing of it stays on the import path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("paths_shop", "paths_helper", "test_paths_shop", "kcache_target_test_paths_shop"):
        monkeypatch.setitem(sys.modules, name, sys)  # that of another test, and that of this one afterwards
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(tmp_path)
    for folder in ("lib/paths_shop", "tests/deep"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "lib/paths_shop/__init__.py").write_text("PRICE = 3\n", encoding="utf-8")
    (tmp_path / "tests/conftest.py").write_text("", encoding="utf-8")
    (tmp_path / "tests/paths_helper.py").write_text("COUNT = 2\n", encoding="utf-8")
    text = "from paths_helper import COUNT\nfrom paths_shop import PRICE\n\n\ndef test_it(): return COUNT * PRICE\n"
    (tmp_path / "tests/deep/test_paths_shop.py").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("started_in", [".", "tests"])
def test_what_pytest_is_told_is_heeded(
    project: Path, name: str, started_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / name).write_text(CONFIGURATIONS[name], encoding="utf-8")
    monkeypatch.chdir(project / started_in)
    assert import_paths(project / "tests/deep").configured == (str(project / "lib"), str(project))
    file = "tests/deep/test_paths_shop.py" if started_in == "." else "deep/test_paths_shop.py"
    assert load_object(f"{file}:test_it")() == 6  # type: ignore[operator]


@pytest.mark.parametrize("text", ["[tool.pytest.ini_options]\n", "[tool.ruff]\n", "pythonpath = [", None])
def test_what_nobody_names_is_not_found(project: Path, text: str | None) -> None:
    if text is not None:
        (project / "pyproject.toml").write_text(text, encoding="utf-8")
    assert import_paths(project / "tests/deep").configured == ()
    with pytest.raises(TargetError, match="No module named 'paths_shop'"):
        load_object("tests/deep/test_paths_shop.py:test_it")


def test_a_package_in_src_needs_no_configuration(project: Path) -> None:
    (project / "lib").rename(project / "src")
    assert load_object("tests/deep/test_paths_shop.py:test_it")() == 6  # type: ignore[operator]
    assert load_object("paths_shop:PRICE") == 3


def test_usual_folders_do_not_take_the_place_of_what_is_installed(project: Path) -> None:
    (project / "src").mkdir()
    (project / "lib/paths_shop/__init__.py").rename(project / "src/queue.py")
    around = import_paths(project).around(["installed"], "first")
    assert around == ["first", "installed", str(project / "src"), str(project)]


@pytest.mark.parametrize(
    ("started_in", "spec"),
    [
        (".", "tests/deep/test_paths_shop.py:test_it"),
        ("lib", "../tests/deep/test_paths_shop.py:test_it"),
        ("tests/deep", "test_paths_shop:test_it"),
    ],
)
def test_a_test_is_named_as_a_command_finds_it(
    project: Path, started_in: str, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest has put the folder of the test on the import path, which no command does that is run later."""
    (project / "pytest.ini").write_text(CONFIGURATIONS["pytest.ini"], encoding="utf-8")
    monkeypatch.chdir(project / started_in)
    sys.path[:0] = [str(project / "tests/deep"), str(project / "tests"), str(project / "lib")]
    from test_paths_shop import test_it

    assert importable_spec(test_it) == spec


def test_what_a_command_finds_keeps_its_name(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twin: on PYTHONPATH, or configured, a module is found by its name."""
    monkeypatch.setenv("PYTHONPATH", str(project / "tests/deep"))
    (project / "pytest.ini").write_text(CONFIGURATIONS["pytest.ini"], encoding="utf-8")
    sys.path[:0] = [str(project / "tests/deep"), str(project / "tests"), str(project / "lib")]
    from test_paths_shop import test_it

    assert importable_spec(test_it) == "test_paths_shop:test_it"
