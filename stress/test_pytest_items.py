"""Tests under the explorer are set up by pytest itself, on private copies of their modules, for each execution."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pluggy
import pytest

import kcache_stress
from kcache_model.errors import FormatError, TargetError
from kcache_model.finding import Finding
from kcache_model.interleaved_program import InterleavedProgram, decode_program, encode_program
from kcache_stress.engine.audit import AuditShare
from kcache_stress.interleaved.body_exploration import BodyExplorationTarget
from kcache_stress.interleaved.given_fixtures import Capturing, Patching
from kcache_stress.interleaved.named_test import load_test
from kcache_stress.interleaved.parametrization import positions
from kcache_stress.runtime.threads.opcode_tracer import is_of_a_hook
from kcache_stress.target.explore import ExploreOptions, explore

CONFTEST = """
import threading

import pytest
from shop import Shop

pytest_plugins = ["kinds_plugin"]
asked = []


def pytest_addoption(parser):
    parser.addini("greeting", "for a test of pytestconfig", default="hello")


@pytest.fixture(autouse=True)
def unasked(monkeypatch, recwarn):
    monkeypatch.setenv("UNASKED", "1")


@pytest.fixture(scope="session")
def wide():
    shop = Shop()
    yield shop
    assert shop.sold, "each execution gets a new one"


@pytest.fixture(params=["one", pytest.param("two", id="second")], scope="module")
def number(request, pytestconfig):
    return request.param, pytestconfig.getini("greeting")


@pytest.fixture
def extended():
    return ["conftest"]


@pytest.fixture
def kind(request):
    return request.param


@pytest.fixture
def dynamic(request):
    request.addfinalizer(lambda: asked.append(request.node.name))
    return request.getfixturevalue("extended"), request.cls, request.module.__name__, request.instance


@pytest.fixture
def worker():
    shop = Shop()
    go = threading.Event()
    thread = threading.Thread(target=lambda: (go.wait(), shop.sell()))
    thread.start()
    yield shop, go, thread
    go.set()
    thread.join()


@pytest.fixture
def doctest_name(doctest_namespace):
    doctest_namespace["shop"] = Shop
    return doctest_namespace
"""

PLUGIN = """
import contextlib
from unittest import mock

import pytest


@pytest.fixture
def capsysbinary():
    return "of a plugin"


@pytest.fixture
def patches(pytestconfig):
    with contextlib.ExitStack() as stack:
        yield lambda name, value: stack.enter_context(mock.patch(name, return_value=value))
"""

SHOP = """
class Shop:
    def __init__(self):
        self.sold = 0

    def count(self):
        return self.sold

    def sell(self):
        self.sold = self.count() + 1


class SafeShop(Shop):
    def sell(self):
        with __import__("threading").Lock():
            pass
"""

KINDS = """
import logging
import os
import sys
import threading
import unittest
import warnings
from unittest import mock

import pytest
import shop as shop_module
from shop import SafeShop, Shop


def run(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def extended(extended):
    return [*extended, "module"]


class Base:
    @pytest.fixture
    def shop(self, wide):
        self.made = wide
        return self.made

    @staticmethod
    def helper():
        return "static"

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def everywhere(cls):
        cls.everywhere_made = [1]

    @pytest.fixture
    @staticmethod
    def plain():
        return "plain"


class TestInherited(Base):
    def setup_method(self, method):
        self.method = method.__name__

    def test_of_class(self, shop, plain, tmp_path):
        assert shop is self.made and self.everywhere_made == [1] and plain == "plain"
        assert self.method == "test_of_class" and not list(tmp_path.iterdir())
        (tmp_path / "file").write_text("")
        run(shop.sell)
        assert shop.sold == 1


@pytest.mark.usefixtures("wide")
def test_params(number, wide):
    run(wide.sell)
    assert number in (("one", "hello"), ("two", "hello"))


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("kind", [SafeShop, Shop], indirect=True)
def test_indirect(kind, more):
    made = kind()
    run(made.sell, *[made.sell] * more)
    assert made.sold == (more + 1 if kind is Shop else 0)


def test_dynamic(dynamic, request):
    run(int)
    assert dynamic == (["conftest", "module"], None, request.module.__name__, None)
    assert request.config.rootpath and request.node.name == "test_dynamic"
    assert "COUNTED" not in os.environ


def test_captured(capsys):
    run(lambda: print("one"))
    assert capsys.readouterr() == ("one\\n", "")


def test_captured_fd(capfd):
    run(lambda: os.write(1, b"one"))
    assert capfd.readouterr().out == "one"


def test_logged(caplog):
    with caplog.at_level(logging.INFO):
        run(lambda: logging.getLogger("kinds").info("one"))
    assert caplog.messages == ["one"]


def test_warned(recwarn):
    run(lambda: warnings.warn("one", UserWarning))
    assert [str(one.message) for one in recwarn] == ["one"]


def test_folders(tmp_path, tmp_path_factory, tmpdir, tmpdir_factory):
    folders = [tmp_path, tmp_path_factory.mktemp("more"), tmpdir, tmpdir_factory.mktemp("more")]
    run(int)
    assert len({str(folder) for folder in folders}) == 3 and folders[1].name == "more0", folders


def test_records(record_property, record_xml_attribute, doctest_name, pytestconfig, cache):
    record_property("name", 1)
    run(int)
    assert doctest_name["shop"] is Shop and pytestconfig.getini("greeting") == "hello"


@mock.patch("shop.Shop.count", return_value=4)
@mock.patch.object(shop_module, "SafeShop", new=int)
def test_patched(count, wide):
    run(wide.sell)
    assert wide.sold == 5 and count.called and shop_module.SafeShop is int


def test_of_plugin(patches, capsysbinary):
    assert capsysbinary == "of a plugin"
    patches("shop.Shop.count", 4)
    made = Shop()
    run(made.sell)
    assert made.sold == 5


def test_unasked(monkeypatch):
    run(int)
    monkeypatch.setattr("shop.Shop.count", lambda self: 7)
    made = Shop()
    made.sell()
    assert (made.sold, os.environ["UNASKED"]) == (8, "1")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shops = [Shop()]
        cls.addClassCleanup(cls.shops.clear)

    def setUp(self):
        self.addCleanup(self.shops[0].sell)

    def test_case(self):
        for number in range(2):
            with self.subTest(number=number):
                run(self.shops[0].sell)
        self.assertEqual(self.shops[0].sold, 2)


def test_worker(worker):
    shop, go, thread = worker
    go.set()
    thread.join()
    shop.sell()
    assert shop.sold == 2


def test_race_with_fixture(worker):
    shop, go, thread = worker
    go.set()
    shop.sell()
    thread.join()
    assert shop.sold == 2


def test_unknown(nobody_builds_this):
    run(int)
"""

SOUND = {
    "TestInherited.test_of_class": {},
    "test_params": {"number": 1},
    "test_indirect": {"kind": 1, "more": 0},
    "test_dynamic": {},
    "test_captured": {},
    "test_captured_fd": {},
    "test_logged": {},
    "test_warned": {},
    "test_folders": {},
    "test_records": {},
    "test_patched": {},
    "test_of_plugin": {},
    "test_unasked": {},
    "Case.test_case": {},
    "test_worker": {},
}
"""Test -> the positions of its parameters."""

REFUSED = {
    "test_params": "test_params is parametrized: 2 of its 2 sets of values match",
    "test_unknown": "test_unknown takes nobody_builds_this: pytest has no such fixture",
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in {
        "pytest.ini": "[pytest]\n",
        "conftest.py": CONFTEST,
        "shop.py": SHOP,
        "kinds_plugin.py": PLUGIN,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "test_kinds.py").write_text(KINDS, encoding="utf-8")
    return folder / "test_kinds.py"


def explored(
    spec: str, parameters: dict[str, int], most: int, share: AuditShare | None = None
) -> tuple[int, Finding | None]:
    target = BodyExplorationTarget(spec)
    target.share = share or target.share
    found = explore(target, InterleavedProgram(parameters=parameters), ExploreOptions(executions=most))
    assert not found.refused
    return found.executions, found.finding


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SOUND)
def test_each_kind_of_fixture_is_what_it_is_under_pytest(
    name: str, kinds: Path, effort: Callable[[int, int], int]
) -> None:
    # The audit of test_logged interrupts threads at hundreds of places in logging: at night only.
    has_audit = name != "test_logged" or effort(0, 1)
    share = None if has_audit else AuditShare(thorough=0)
    executions, finding = explored(f"{kinds}:{name}", SOUND[name], 4, share)
    assert finding is None, finding.detail
    assert executions


@pytest.mark.parametrize(
    ("name", "parameters"), [("test_indirect", {"kind": 1, "more": 1}), ("test_race_with_fixture", {})]
)
def test_a_race_between_threads_of_fixtures_is_found(name: str, parameters: dict[str, int], kinds: Path) -> None:
    _, finding = explored(f"{kinds}:{name}", parameters, 60)
    assert finding is not None
    assert "sold == " in finding.summary


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytest_cannot_set_up_is_named(name: str, kinds: Path) -> None:
    with pytest.raises(TargetError, match=REFUSED[name]):
        load_test(f"{kinds}:{name}").with_parameters({})


def test_what_monkeypatch_changes_is_what_the_test_sees_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Any = types.ModuleType("made")
    exec("class Kind:\n    size = 1", seen.__dict__)
    monkeypatch.setitem(sys.modules, "made.inner", seen)
    outer = types.SimpleNamespace(inner=seen)
    module = types.ModuleType("test_made")
    vars(module)["__builtins__"] = {"__import__": {"made": outer, "made.inner": outer}.__getitem__}
    with pytest.MonkeyPatch.context() as real:
        patching = Patching(real, module)
        patching.setattr("made.inner.Kind.size", 2)
        patching.setattr(seen.Kind, "more", 3, raising=False)
        with patching.context() as inner:
            inner.delattr("made.inner.Kind.size")
            assert not hasattr(seen.Kind, "size")
        patching.setenv("KCACHE_PATCHED", "yes")
        assert (seen.Kind.size, seen.Kind.more, os.environ["KCACHE_PATCHED"]) == (2, 3, "yes")
    assert (seen.Kind.size, hasattr(seen.Kind, "more"), "KCACHE_PATCHED" in os.environ) == (1, False, False)


def test_streams_are_captured_again_when_a_body_raises_beside_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # both are as they were when this test ends
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    capturing = Capturing(capsys)
    stream = sys.stdout
    with pytest.raises(ValueError, match="in between"), capturing.disabled():
        raise ValueError("in between")
    assert sys.stdout is stream


def test_values_are_known_by_their_positions() -> None:
    def marked() -> None: ...

    marks = [
        pytest.mark.parametrize("kind", [int, str]),
        pytest.mark.parametrize(("first", "second"), [(1, 2), (3, 4)]),
    ]
    for mark in marks:
        mark(marked)
    given = {"kind": str, "first": 3, "made": object()}
    assert positions(given, (marked, None)) == {"kind": 1, "first": 1}
    counted = {"kind": 3, "first": 3, "letter": 1}  # of combinations, but for the parameter of a fixture
    assert positions(given, (marked, None), counted) == {"kind": 1, "first": 1, "letter": 1}


@pytest.mark.parametrize("program", [InterleavedProgram(), InterleavedProgram(hash_seed=3, parameters={"kind": 1})])
def test_programs_are_written_and_read(program: InterleavedProgram) -> None:
    assert decode_program(encode_program(program)) == program


@pytest.mark.parametrize("data", [[], {"hash_seed": "x"}, {"parameters": ["a"]}, {"parameters": {"a": "b"}}, {"a": 1}])
def test_what_is_no_program_is_refused(data: object) -> None:
    with pytest.raises(FormatError, match="the program of a test holds only a hash seed"):
        decode_program(data)


@pytest.mark.parametrize(("caller", "is_of_pytest"), [("/lib/_pytest/runner.py", True), ("/lib/other.py", False)])
@pytest.mark.parametrize("is_fixture", [False, True])
def test_a_hook_is_of_pytest_if_pytest_calls_it_and_it_calls_no_fixture(caller, is_of_pytest, is_fixture):
    def hook():
        return call_fixture_func() if is_fixture else sys._getframe()

    def call_fixture_func():
        return sys._getframe()

    plugins = pluggy.PluginManager("some")
    plugins.add_hookspecs(types.SimpleNamespace(hook=pluggy.HookspecMarker("some")(hook)))
    plugins.register(types.SimpleNamespace(hook=pluggy.HookimplMarker("some")(hook)))
    call: Any = eval(compile("lambda hook: hook()", caller, "eval"), {})
    run: Any = eval(compile("lambda call, hook: call(hook)", kcache_stress.__file__, "eval"), {})
    assert is_of_a_hook(run(call, plugins.hook.hook)[0]) == (is_of_pytest and not is_fixture)
    assert not is_of_a_hook(run(call, hook))
