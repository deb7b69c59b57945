"""``kcache init``: what it writes is run, and nothing is overwritten or declared away."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from kcache.cli import main
from kcache_conformance.indexers import scaffold

SHELF = """
import threading


class ShelfCache:
    def __init__(self, indexers):
        self._lock = threading.RLock()
        self._objects = {}
        self._functions = dict(indexers)

    def put(self, key, value):
        with self._lock:
            for function in self._functions.values():
                function(value)
            self._objects[key] = value

    def pop(self, key):
        with self._lock:
            self._objects.pop(key, None)

    def getItem(self, key):
        return self._objects[key]

    def __getitem__(self, key):
        with self._lock:
            return self._objects[key]

    def values(self):
        with self._lock:
            return tuple(self._objects.values())

    def keys(self):
        with self._lock:
            return KEYS

    def find_by_index(self, name, value):
        with self._lock:
            if name not in self._functions:
                return []
            return [obj for obj in self._objects.values() if value in self._functions[name](obj)]
"""
RIGHT = SHELF.replace("KEYS", "list(self._objects)")
LOSSY = SHELF.replace("KEYS", "list(self._objects)[:2]")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a package; what a command needs to declare shows in the least that each phase does."""
    monkeypatch.setattr(scaffold, "_PROBING", replace(scaffold._PROBING, budget_seconds=0.1))
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("shop", "shop.cache"):  # that of another test, and that of this one afterwards
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "cache.py").write_text(RIGHT, encoding="utf-8")
    return tmp_path


Run = Callable[..., subprocess.CompletedProcess[str]]


def kcache_command(*arguments: str) -> Result:
    return CliRunner(env={"NO_COLOR": "1"}).invoke(main, arguments, prog_name="kcache")


def test_what_is_written_can_be_run(project: Path) -> None:
    done = kcache_command("init", "shop.cache:ShelfCache")
    assert done.exit_code == 0, done.output
    adapter = Path("shelf_cache_adapter.py").read_text(encoding="utf-8")
    assert 'add=("put", "key_value"),' in adapter
    assert '"unknown_index",  # ' in adapter
    assert "unknown_index" in done.stdout
    assert "violation" not in done.stdout
    checked = kcache_command("check", "shelf_cache", "--only", "smoke", "--only", "stateful", "--budget", "1s")
    assert checked.exit_code == 0, checked.output
    test = Path("test_shelf_cache_conformance.py")
    quick = "run_conformance(new_indexer, seconds=20, phases=('smoke',))"
    test.write_text(test.read_text(encoding="utf-8").replace("run_conformance(new_indexer, seconds=20)", quick))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test.name]
    tested = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert tested.returncode == 0, tested.stdout


def test_methods_are_named_whose_names_do_not_tell(project: Path) -> None:
    renamed = RIGHT.replace("def put(self, key, value)", "def shelve(self, where, value)").replace(
        "[key] = ", "[where] = "
    )
    (project / "shop" / "cache.py").write_text(renamed, encoding="utf-8")
    unknown = kcache_command("init", "shop.cache:ShelfCache")
    assert unknown.exit_code == 2
    assert "Give --method add=NAME" in unknown.stderr
    done = kcache_command("init", "shop.cache:ShelfCache", "--method", "add=shelve:key_value")
    assert done.exit_code == 0, done.output
    assert 'add=("shelve", "key_value"),' in Path("shelf_cache_adapter.py").read_text(encoding="utf-8")
    assert kcache_command("check", "shelf_cache", "--only", "smoke").exit_code == 0


def test_a_loss_is_not_declared_away(project: Path) -> None:
    (project / "shop" / "cache.py").write_text(LOSSY, encoding="utf-8")
    done = kcache_command("init", "shop.cache:ShelfCache", "--name", "lossy")
    assert done.exit_code == 0, done.output
    assert "found on the way" in done.stdout
    checked = kcache_command("check", "lossy", "--only", "smoke")
    assert checked.exit_code == 1
    assert "listings-disagree" in checked.stdout


def test_the_target_is_added_to_an_existing_configuration(project: Path) -> None:
    file = project / "pyproject.toml"
    file.write_text('[project]\nname = "shop"\n\n[tool.kcache]\nbudget = "5s"', encoding="utf-8")
    assert kcache_command("init", "shop.cache:ShelfCache").exit_code == 0
    text = file.read_text(encoding="utf-8")
    assert text.startswith('[project]\nname = "shop"\n\n[tool.kcache]\nbudget = "5s"\n\n[tool.kcache.targets.shelf')
    assert not Path("kcache.toml").exists()
    Path("shelf_cache_adapter.py").unlink()
    Path("test_shelf_cache_conformance.py").unlink()
    again = kcache_command("init", "shop.cache:ShelfCache")
    assert again.exit_code == 2
    assert "give another --name" in again.stderr
    assert file.read_text(encoding="utf-8") == text
    assert not Path("shelf_cache_adapter.py").exists()


PYPROJECT = '[project]\nname = "shop"\n'


@pytest.mark.one_in(5)
@pytest.mark.parametrize("spec", ["src/shop/cache.py:ShelfCache", "shop.cache:ShelfCache", "shop:ShelfCache"])
@pytest.mark.parametrize("option", ['pythonpath = ["src"]', ""])
@pytest.mark.parametrize("package", [(), ("tests/__init__.py",)])
def test_a_package_in_src_is_adapted_in_tests(
    project: Path, spec: str, option: str, package: tuple[str, ...], run_command: Run
) -> None:
    """It is neither installed, nor does the adapter lie beside it; each command of the last line works from here."""
    (project / "src").mkdir()
    (project / "shop").rename(project / "src/shop")
    (project / "src/shop/__init__.py").write_text("from .cache import ShelfCache\n", encoding="utf-8")
    (project / "pyproject.toml").write_text(f"{PYPROJECT}[tool.pytest.ini_options]\n{option}\n", encoding="utf-8")
    (project / "tests").mkdir()
    for name in package:
        (project / name).touch()
    done = kcache_command("init", spec, "--folder", "tests", "--name", "shelf")
    assert done.exit_code == 0, done.output
    module = "shop" if spec == "shop:ShelfCache" else "shop.cache"
    assert f"from {module} import ShelfCache\n" in Path("tests/shelf_adapter.py").read_text(encoding="utf-8")
    assert 'factory = "tests/shelf_adapter.py:new_indexer"' in Path("pyproject.toml").read_text(encoding="utf-8")
    assert not list(project.rglob("kcache.toml"))
    before = "" if option else "PYTHONPATH=src "
    assert done.stdout.endswith(f"Next: kcache check shelf; {before}pytest tests/test_shelf_conformance.py\n")
    if spec != "shop:ShelfCache":  # the others differ by the name that is imported alone
        return
    checked = run_command(project, "kcache", "check", "shelf", "--only", "smoke")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    variables = {} if option else {"PYTHONPATH": "src"}
    tested = run_command(project, "pytest", "-q", "--collect-only", "tests/test_shelf_conformance.py", **variables)
    assert tested.returncode == 0, tested.stdout


def test_a_configuration_that_is_used_is_added_to(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a nearer pyproject.toml, which would hide what the other configures."""
    (project / "kcache.toml").write_text('budget = "5s"\n', encoding="utf-8")
    below = project / "below"
    below.mkdir()
    (below / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (project / "shop").rename(below / "shop")
    monkeypatch.chdir(below)
    assert kcache_command("init", "shop.cache:ShelfCache").exit_code == 0
    assert (below / "pyproject.toml").read_text(encoding="utf-8") == PYPROJECT
    assert 'factory = "below/shelf_cache_adapter.py:' in (project / "kcache.toml").read_text(encoding="utf-8")
    assert kcache_command("check", "shelf_cache", "--only", "smoke").exit_code == 0


def test_nothing_is_overwritten(project: Path) -> None:
    Path("shelf_cache_adapter.py").write_text("mine", encoding="utf-8")
    done = kcache_command("init", "shop/cache.py:ShelfCache", "--folder", "shop", "--name", "shelf")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in Path("shop").glob("*shelf*")) == [
        "shelf_adapter.py",
        "test_shelf_conformance.py",
    ]
    again = kcache_command("init", "shop/cache.py:ShelfCache", "--folder", "shop", "--name", "shelf")
    assert again.exit_code == 2
    assert "exists" in again.output
    assert Path("shelf_cache_adapter.py").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("shop/cache.py:ShelfCash", ("--folder", "shop"), "ShelfCache"),
        ("../elsewhere/cache.py:ShelfCache", (), "give --folder ../elsewhere"),
        ("no/such.py:ShelfCache", (), "there is no file no/such.py"),
        ("shop/cache.py:ShelfCache", ("--folder", "shop", "--name", "no/name"), "give another --name"),
        ("shop.cache:ShelfCache", ("--method", "add"), "is not OPERATION=METHOD"),
        ("shop.cache:ShelfCache", ("--method", "add=put:value"), "add=put:value"),
        ("shop.cache:ShelfCache", ("--method", "add=shelve"), "no method shelve"),
        ("shop/cache.py:threading.Lock", ("--folder", "shop"), "cannot be adapted"),
    ],
)
def test_what_cannot_be_done_is_said(project: Path, spec: str, options: tuple[str, ...], message: str) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "cache.py").write_text(RIGHT, encoding="utf-8")
    done = kcache_command("init", spec, *options)
    assert done.exit_code == 2
    assert message in done.output
    assert not list(Path().rglob("*_adapter.py"))


def test_a_class_of_other_names_is_told_of_it(project: Path) -> None:
    methods = "    def getByKey(self, key): ...\n    def put(self, obj): ...\n"
    text = f"class Camel:\n{methods}\nmake = lambda k, i: Camel()\n"
    Path("camel.py").write_text(text, encoding="utf-8")
    by_function = kcache_command("check", "camel.py:make", "--only", "smoke")
    assert "It has put, getByKey: `kcache init camel.py:make` writes an adapter" in by_function.output
    by_class = kcache_command("check", "--type", "indexer", "camel.py:Camel", "--only", "smoke")
    assert "`kcache init camel.py:Camel` writes one" in by_class.output
