"""Recorded imports: a process that explores a test imports the files that the process of the test has imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcache_model.errors import TargetError
from kcache_stress import recorded_imports
from kcache_stress.loading import load_object
from kcache_stress.recorded_imports import (
    record_import_path,
    record_module_files,
    require_recorded_files,
    use_imports,
)

NAMES = ("recorded_shop", "recorded_shop.deep", "recorded_alias", "recorded_moved", "kcache_target_test_recorded")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module beside the tests, and one of the same name that is installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(recorded_imports, "_recorded", None)
    for folder in ("src", "tests", "venv/site-packages"):
        for package in ("recorded_shop", "recorded_moved"):
            (tmp_path / folder / package).mkdir(parents=True)
            (tmp_path / folder / package / "__init__.py").write_text(f"WHERE = {folder!r}\n", encoding="utf-8")
            (tmp_path / folder / package / "deep.py").write_text(f"WHERE = {folder!r}\n", encoding="utf-8")
    text = "import recorded_shop\n\n\ndef test_it(): return recorded_shop.WHERE\n"
    (tmp_path / "tests/test_recorded.py").write_text(text, encoding="utf-8")
    yield tmp_path
    for name in NAMES:
        sys.modules.pop(name, None)


def forget() -> None:
    for name in NAMES:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


@pytest.mark.parametrize(
    ("entries", "recorded"),
    [
        (["{here}/src", "{python}", "{site}"], ("src", "")),
        (["{python}", "{site}", "{here}/src"], ("", "src")),
        (["{here}", "src", "{python}", "{here}/lib", "{site}"], (".", "src", "", "lib", "{site}")),
        (["/elsewhere", "{site}", "{python}", "{site}"], ("/elsewhere", "")),
    ],
)
def test_a_path_is_recorded_and_restored_in_its_order(
    project: Path, entries: list[str], recorded: tuple[str, ...]
) -> None:
    python = str(Path(importlib.__file__).parents[1])
    places = {"here": str(project), "python": python, "site": str(project / "venv/site-packages")}
    path = [entry.format(**places) for entry in entries]
    own = [entry for entry in path if entry in (python, places["site"])]
    found = record_import_path(path)
    assert found == tuple(entry.format(**places) for entry in recorded)
    sys.path[:] = ["/left/out", *dict.fromkeys(own)]
    use_imports(found, {})
    assert sys.path == list(dict.fromkeys(str(project / entry) for entry in path))


@pytest.mark.parametrize("first", ["src", "venv/site-packages", "tests"])
def test_a_test_finds_what_comes_first_on_the_recorded_path(project: Path, first: str) -> None:
    """Without a record, the folder of the test comes first."""
    sys.path[:] = [str(project / first), *sys.path, str(project / "tests"), str(project)]
    use_imports(record_import_path(sys.path), {})
    assert load_object("tests/test_recorded.py:test_it")() == first  # type: ignore[operator]


def test_what_the_path_does_not_lead_to_is_found_where_it_was_loaded(project: Path) -> None:
    """A conftest.py may take its folder off the path again; a package brings its modules."""
    sys.path.insert(0, str(project / "src"))
    deep = importlib.import_module("recorded_shop.deep")
    importlib.import_module("recorded_moved")
    sys.modules["recorded_alias"] = deep
    files = record_module_files({"recorded_moved"})
    assert files["recorded_shop"] == str(project / "src/recorded_shop/__init__.py")
    assert not {"recorded_shop.deep", "recorded_alias", "recorded_moved", "json", "__main__"} & files.keys()
    forget()
    use_imports(record_import_path([str(project / "tests"), *sys.path[1:]]), files)
    assert importlib.import_module("recorded_shop.deep").WHERE == "src"
    assert importlib.import_module("recorded_moved").WHERE == "tests"
    require_recorded_files()


def test_other_code_is_refused(project: Path) -> None:
    """What is loaded before, for the harness needs it, may be another one."""
    sys.path.insert(0, str(project / "src"))
    importlib.import_module("recorded_shop")
    files = record_module_files(())
    forget()
    sys.path.insert(0, str(project / "tests"))
    importlib.import_module("recorded_shop")
    use_imports(record_import_path(sys.path), files)
    with pytest.raises(TargetError, match=r"recorded_shop from src/.*, but the explorer .* tests/recorded_shop/"):
        require_recorded_files()
