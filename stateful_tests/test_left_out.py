"""What is left out of a run is named, and as little is left out as can be: calls of classes, packages of tests."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from kcache.cli.explorer_report import text_of_tested_code
from kcache_conformance.classes.public_calls import public_calls
from kcache_conformance.classes.vocabulary_choice import vocabulary_of
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.run_report import not_tested_text
from kcache_conformance.targets.class_names import class_type_name
from kcache_conformance.targets.target_types import target_type_named
from kcache_conformance.verification.batch import Batch, decode_batch, describe, encode_batch, programs_of
from kcache_model.errors import CannotExploreError
from kcache_model.interleaved_program import InterleavedProgram
from kcache_stress.engine.granularity import Granularity
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.loading import load_object
from kcache_stress.modules.beside_c import MOST_PARTS, tied_to_c
from kcache_stress.modules.first_load import FIRST_LOAD
from kcache_stress.modules.private_packages import files_of, parts_in_c
from kcache_stress.target.explore import ExploreOptions, explore
from test_classes import ALONE, exploration_target


@pytest.mark.parametrize("name", ["Locks", "Queue"])
def test_explore_makes_the_calls_that_one_thread_makes_alone_too(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"{tmp_path / 'alone.py'}:{name}"
    (tmp_path / "alone.py").write_text(ALONE, encoding="utf-8")
    first = Batch(spec, ExploreOptions(), SuiteOptions(kind=class_type_name(spec)), seeds=(0, 2), is_first=True)
    made = exploration_target(spec)
    (alone, *others) = programs_of(first, made)
    assert [len(alone.threads), *(len(program.threads) for program in others)] == [1, 2]
    assert list(programs_of(replace(first, is_first=False), made))[:1] == others
    assert decode_batch(encode_batch(first)) == first


ENDLESS = """
import threading


class Endless:
    def __init__(self):
        self._opened = threading.Event()

    def serve(self):
        threading.Event().wait()

    def enter(self):
        self._opened.wait()

    def close(self):
        self._opened.clear()

    def open(self):
        self._opened.set()
"""


def test_a_call_that_returns_in_no_thread_is_named_and_one_that_another_lets_return_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS, encoding="utf-8")
    spec = f"{tmp_path / 'endless.py'}:Endless"
    made = target_type_named(class_type_name(spec))
    left_out = made.not_tested(made.load(spec))
    assert left_out == ("serve (it never returned in one thread)",)
    assert not_tested_text(made.name, left_out) == "left out: serve (it never returned in one thread)"


REFUSING = """
class Bank:
    def __init__(self):
        self._balances = {"alice": 10}

    def open(self, account):
        self._balances[account] = 10

    def move(self, account, to):
        self._balances[account] -= 1
        self._balances[to] += 1

    def move_all(self, account: str, to: str):
        self._balances[to] += self._balances.pop(account)

    def never(self, account):
        return self._balances["bob"]

    def total(self):
        return sum(self._balances.values())


class Never(Bank):
    open = None
"""


def test_a_method_that_takes_no_value_that_is_tried_is_named_and_one_that_needs_two_calls_before_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "refusing.py").write_text(REFUSING, encoding="utf-8")

    def left_out(name: str) -> Collection[str]:
        spec = f"{tmp_path / 'refusing.py'}:{name}"
        made = target_type_named(class_type_name(spec))
        return made.not_tested(made.load(spec))

    why = "(it raised KeyError for all values that were tried)"
    assert left_out("Bank") == (f"never {why}",)
    assert left_out("Never") == (f"move {why}", f"move_all {why}", f"never {why}")


UNKNOWN_TYPES = """
from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal


class Accounts:
    def put(self, amount: Decimal) -> None:
        amount + 0.1

    def add(self, amount: int) -> Decimal: ...

    def take(self, amount): ...
"""


def test_a_parameter_whose_type_cannot_be_looked_up_gets_what_one_without_a_type_gets(tmp_path: Path) -> None:
    (tmp_path / "accounts.py").write_text(UNKNOWN_TYPES, encoding="utf-8")
    spec = f"{tmp_path / 'accounts.py'}:Accounts"
    made = target_type_named(class_type_name(spec))
    assert not made.not_tested(made.load(spec))
    kind = load_object(spec)
    words = vocabulary_of(public_calls(kind, kind()))
    templates = {template.name: template.arguments for template in words.templates}
    assert templates == {"add": ((1, 2, 1, 2, 3),), "put": ((1, 2, 1, 2, 3),), "take": ((1, 2, 1, 2, 3),)}


BODY = """
from kcache import testing as kt
from partly.stock import Stock
import plainly


@kt.interleaved{instrument}
def sells():
    stock = Stock()
    kt.run(stock.sell, stock.sell)
"""
STOCK = """
class Stock:
    count = 2

    def sell(self):
        self.count = self.count - 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Packages on the path: one of them is written in C, for the most part."""
    for name, text in (("partly/__init__", ""), ("partly/stock", STOCK), ("plainly/__init__", ""), ("plainly/a", "")):
        file = tmp_path / "site" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for number in range(MOST_PARTS + 1):
        (tmp_path / "site" / "partly" / f"_speed{number or ''}{EXTENSION_SUFFIXES[0]}").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("partly", "plainly")]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def body(folder: Path, instrument: str = "") -> str:
    file = folder / f"body_{len(instrument)}.py"
    file.write_text(BODY.format(instrument=instrument), encoding="utf-8")
    return f"{file}:sells"


def test_a_package_with_parts_in_c_is_named_with_what_can_be_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(folder / "site"))
    spec = body(folder)
    told = describe(spec, (), Granularity.FREE, "test")
    assert told.partly_in_c == (f"partly (_speed{EXTENSION_SUFFIXES[0]})",)
    assert "--instrument PACKAGE.MODULE instruments its Python modules" in text_of_tested_code(told)
    asked = ("partly.stock",)
    assert "partly.stock" in describe(spec, asked, Granularity.FREE, "test").instrumented
    made = BodyExplorationTarget(spec)
    unseen = explore(made, InterleavedProgram(), ExploreOptions(executions=20))
    assert "its package has parts in C; to instrument this module, add --instrument partly.stock" in unseen.no_proof
    seen = explore(BodyExplorationTarget(spec, asked), InterleavedProgram(), ExploreOptions())
    assert (seen.is_exhausted, seen.no_proof) == (True, "")


MIXED = """
import threading

from mixed import MixedError, Stock


def {name}():
    stock = Stock(threading.{lock})
    threads = [threading.Thread(target=stock.sell) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stock.count == 0
    assert isinstance(stock.error(), MixedError)
"""
MIXED_PACKAGE = {
    "__init__": "from .errors import MixedError\nfrom .stock import Stock\n",
    "errors": "from .codes import CODE\n\n\nclass MixedError(Exception):\n    code = CODE\n",
    "codes": "CODE = 1\n",
    "stock": """
from . import errors


class Stock:
    def __init__(self, lock):
        self.count, self.lock = 2, lock

    def sell(self):
        with self.lock:
            self.count = self.count - 1

    def error(self):
        return errors.MixedError()
""",
}


@pytest.mark.parametrize(
    ("binary", "tied"),
    [
        (b"\x01\0mixed.errors\0ImportError\0no stock\0", {"errors", "codes"}),
        (b"\x01\0errors\0", {"errors", "codes"}),
        (b"many errors, no stock\0", set()),
        (b"__pyx_capi__\0codes: some text", {"codes"}),
        (b"/rustc/abc/mixedstock", {"", "errors", "codes", "stock"}),
        (b"\0.stock\0", {"stock", "errors", "codes"}),
        (b"\0mixed._speed.Fast\0", set()),
        (b"\0mixed\0", {"", "errors", "codes", "stock"}),
    ],
)
def test_modules_in_python_beside_one_in_c_are_seen_unless_it_imports_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, binary: bytes, tied: set[str]
) -> None:
    (tmp_path / "mixed").mkdir()
    for name, text in MIXED_PACKAGE.items():
        (tmp_path / "mixed" / f"{name}.py").write_text(text, encoding="utf-8")
    (tmp_path / "mixed" / f"_speed{EXTENSION_SUFFIXES[0]}").write_bytes(binary)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == "mixed"]:
        monkeypatch.delitem(sys.modules, name)
    for clear in (tied_to_c, parts_in_c, files_of):
        clear.cache_clear()
    assert tied_to_c("mixed") == {f"mixed.{name}".rstrip(".") for name in tied}
    for name, lock in (("right", "Lock()"), ("wrong", "Semaphore(2)")):
        text = MIXED.format(name=name, lock=lock)
        (tmp_path / f"body_{name}.py").write_text(text, encoding="utf-8")
        exploration_target = BodyExplorationTarget(f"{tmp_path / f'body_{name}.py'}:{name}")
        assert ("mixed" in exploration_target.sandbox.owned.roots.packages) == ("" not in tied)
        sees = "mixed.stock" in exploration_target.sandbox.seen.instrumented
        assert sees == ("stock" not in tied)
        if sees:
            found = explore(exploration_target, InterleavedProgram(), ExploreOptions(executions=200)).finding
            assert (found is None) == (name == "right")


@pytest.mark.parametrize("has_c", [True, False])
def test_a_package_beside_c_that_can_be_loaded_once_only_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_c: bool
) -> None:
    """One in Python alone would be needed: its locks, and what it does, are to be seen."""
    (tmp_path / "site/once").mkdir(parents=True)
    text = "import sys\n\nassert not hasattr(sys, 'loaded_once')\nsys.loaded_once = True\n"
    (tmp_path / "site/once/__init__.py").write_text(text, encoding="utf-8")
    if has_c:
        (tmp_path / f"site/once/_speed{EXTENSION_SUFFIXES[0]}").touch()
    for clear in (tied_to_c, parts_in_c, files_of):
        clear.cache_clear()
    body = "import threading\nimport once\n\n\ndef test():\n    thread = threading.Thread(target=lambda: None)\n"
    (tmp_path / "body_once.py").write_text(f"{body}    thread.start()\n    thread.join()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delattr(sys, "loaded_once", raising=False)
    monkeypatch.delitem(sys.modules, "once", raising=False)
    monkeypatch.setattr(FIRST_LOAD, "known", frozenset(sys.modules))  # the process has loaded another target before
    if has_c:
        exploration_target = BodyExplorationTarget(f"{tmp_path / 'body_once.py'}:test")
        assert not exploration_target.sandbox.owned.roots.packages
        assert explore(exploration_target, InterleavedProgram(), ExploreOptions(executions=20)).finding is None
    else:
        with pytest.raises(CannotExploreError, match="cannot be loaded a second time"):
            BodyExplorationTarget(f"{tmp_path / 'body_once.py'}:test")
    del sys.loaded_once  # type: ignore[attr-defined]


def test_what_a_test_names_is_added_as_the_option_adds_it(folder: Path) -> None:
    def roots(instrument: str, *asked: str) -> set[str]:
        return {*BodyExplorationTarget(body(folder, instrument), asked).sandbox.owned.roots.packages}

    assert roots("") == {"plainly"}
    assert roots('(instrument="partly.stock")') == roots("", "partly.stock") == {"plainly", "partly.stock"}
    assert roots('(instrument=["plainly.a"])') == roots("", "plainly.a") == {"plainly.a"}, "of a package, its part"
