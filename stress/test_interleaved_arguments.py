"""Arguments of tests under the explorer: what parametrize and fixtures give, found in any copy of a module."""

from __future__ import annotations

import os
import sys
import types
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kcache_model.errors import FormatError
from kcache_model.interleaved_program import InterleavedProgram, decode_program, encode_program
from kcache_stress.interleaved.arguments import Surroundings, positions, remove_folder
from kcache_stress.interleaved.conftests import conftests_of
from kcache_stress.loading import name_of_file

SOURCE = """
import pytest

ended = []

class Kind:
    pass

@pytest.fixture
def made(kind):
    yield kind()
    ended.append("made")

@pytest.fixture(params=["a", pytest.param("b", id="other")])
def letter(request):
    return request.param

@pytest.fixture(name="renamed", autouse=True)
def _renamed():
    ended.append("renamed")
    return 3

@pytest.fixture
def capsys(capsys):
    return capsys

@pytest.mark.parametrize("kind", [int, Kind])
@pytest.mark.parametrize(("first", "second"), [(1, 2), pytest.param(3, 4)])
def test_all(made, letter, first, second, tmp_path, renamed): ...

def test_foreign(capfd, capsys, monkeypatch): ...

class TestThings:
    @pytest.fixture
    def own(self, renamed):
        return self, renamed

    def test_own(self, own): ...
"""


@pytest.fixture
def module() -> types.ModuleType:
    made = types.ModuleType("made")
    exec(SOURCE, made.__dict__)
    return made


def test_arguments_are_those_of_the_module_that_is_asked(module: Any) -> None:
    chosen = {"kind": 1, "letter": 1, "first": 1, "second": 1}
    surroundings = Surroundings(module.test_all, (module,), chosen)
    assert surroundings.unknown() == []
    folder = surroundings.emptied()
    assert folder is not None
    (folder / "left").write_text("", encoding="utf-8")
    assert surroundings.emptied() == folder
    assert list(folder.iterdir()) == []
    with ExitStack() as stack:
        given = surroundings.arguments(None, stack, folder)
        assert given.pop("tmp_path") is folder
        assert isinstance(given.pop("made"), module.Kind)
        assert given == {"letter": "b", "first": 3, "second": 4, "renamed": 3}
        assert module.ended == ["renamed"]
    assert module.ended == ["renamed", "made"]
    remove_folder()
    assert not folder.exists()


def test_a_fixture_is_left_in_the_middle_where_its_test_is(module: Any) -> None:
    surroundings = Surroundings(module.test_all, (module,), {"kind": 0, "letter": 0, "first": 0, "second": 0})
    stack = ExitStack()
    surroundings.arguments(None, stack)
    assert not stack.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert module.ended == ["renamed"]


def test_fixtures_of_a_class_get_its_object(module: Any) -> None:
    surroundings = Surroundings(module.TestThings.test_own, (module.TestThings, module), {})
    assert surroundings.unknown() == []
    made = module.TestThings()
    with ExitStack() as stack:
        assert surroundings.arguments(made, stack) == {"own": (made, 3)}


def test_what_cannot_be_made_is_named(module: Any) -> None:
    assert Surroundings(module.test_foreign, (module,), {}).unknown() == ["capfd", "capsys"]
    assert Surroundings(module.test_all, (module,), {}).unknown() == ["letter", "first", "second", "kind"]
    beyond = {"kind": 2, "letter": 2, "first": 2, "second": 0}
    assert Surroundings(module.test_all, (module,), beyond).unknown() == ["letter", "first", "kind"]


CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def shared(request):
    request.addfinalizer(lambda: request.module.ended.append("shared"))
    return [request.cls]

@pytest.fixture(autouse=True)
def unasked(shared):
    shared.append("unasked")

@pytest.fixture
def asks(request):
    return request.config
"""

ABOVE = """
def test_shared(shared): ...
def test_asks(asks): ...

ended = []
"""


def made_of(source: str) -> Any:
    made = types.ModuleType("made")
    exec(source, made.__dict__)
    return made


def test_fixtures_of_conftest_are_made_for_each_call() -> None:
    module, conftest = made_of(ABOVE), made_of(CONFTEST)
    alone = Surroundings(module.test_shared, (module,), {})
    assert alone.asks_beyond()
    assert alone.unknown() == ["shared"]
    for chosen, given in (({}, [None]), ({"unasked": 0}, [None, "unasked"])):
        surroundings = Surroundings(module.test_shared, (module,), chosen, (conftest,))
        assert surroundings.unknown() == []
        with ExitStack() as stack:
            assert surroundings.arguments(None, stack) == {"shared": given}
    assert module.ended == ["shared"] * 2


def test_what_a_fixture_asks_of_pytest_itself_is_refused() -> None:
    module, conftest = made_of(ABOVE), made_of(CONFTEST)
    surroundings = Surroundings(module.test_asks, (module,), {}, (conftest,))
    with ExitStack() as stack, pytest.raises(AttributeError, match=r"asks for request\.config, which only pytest"):
        surroundings.arguments(None, stack)


def test_what_monkeypatch_changes_is_what_the_test_sees_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = made_of("class Kind:\n    size = 1")
    monkeypatch.setitem(sys.modules, "made.inner", seen)
    outer = types.SimpleNamespace(inner=seen)
    module = made_of("def test_foreign(monkeypatch): ...")
    vars(module)["__builtins__"] = {"__import__": {"made": outer, "made.inner": outer}.__getitem__}
    for error in (None, KeyboardInterrupt):  # it ends, or is given up
        stack = ExitStack()
        patching = Surroundings(module.test_foreign, (module,), {}).arguments(None, stack)["monkeypatch"]
        patching.setattr("made.inner.Kind.size", 2)
        patching.setattr(seen.Kind, "more", 3, raising=False)
        with patching.context() as inner:
            inner.delattr("made.inner.Kind.size")
            assert not hasattr(seen.Kind, "size")
        patching.setenv("KCACHE_PATCHED", "yes")
        assert (seen.Kind.size, seen.Kind.more, os.environ["KCACHE_PATCHED"]) == (2, 3, "yes")
        stack.__exit__(error, error and error(), None)
        assert (seen.Kind.size, hasattr(seen.Kind, "more"), "KCACHE_PATCHED" in os.environ) == (1, False, False)


def test_what_is_printed_is_kept_for_the_test() -> None:
    module = made_of("def test_prints(capsys): ...")
    before = sys.stdout, sys.stderr
    with ExitStack() as stack:
        printed = Surroundings(module.test_prints, (module,), {}).arguments(None, stack)["capsys"]
        print("one")
        assert printed.readouterr() == ("one\n", "")
        with printed.disabled():
            assert (sys.stdout, sys.stderr) == before
        print("two", file=sys.stderr)
        assert printed.readouterr().err == "two\n"
    assert (sys.stdout, sys.stderr) == before


def test_conftests_are_those_of_the_project(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "tests" / "inner"
    folder.mkdir(parents=True)
    for place in (tmp_path, tmp_path / "project", folder.parent, folder):
        (place / "conftest.py").write_text("", encoding="utf-8")
    file, outer = folder / "test_it.py", folder.parent / "conftest.py"
    assert conftests_of(str(file), file) == (folder / "conftest.py",)  # nobody says where the project begins
    (tmp_path / "project" / "tox.ini").write_text("", encoding="utf-8")
    assert conftests_of(str(file), file) == (folder / "conftest.py", outer, tmp_path / "project" / "conftest.py")
    assert conftests_of("inner.test_it", file)[:2] == ("inner.conftest", outer)
    assert len({name_of_file(one) for one in conftests_of(str(file), file) if isinstance(one, Path)}) == 3


def test_values_are_told_by_their_positions(module: Any) -> None:
    given = {"kind": module.Kind, "first": 3, "made": object()}
    assert positions(given, (module.test_all, None)) == {"kind": 1, "first": 1}
    counted = {"kind": 3, "first": 3, "letter": 1}  # of combinations, but for the parameter of a fixture
    assert positions(given, (module.test_all, None), counted) == {"kind": 1, "first": 1, "letter": 1}


@pytest.mark.parametrize("program", [InterleavedProgram(), InterleavedProgram(hash_seed=3, parameters={"kind": 1})])
def test_programs_are_written_and_read(program: InterleavedProgram) -> None:
    assert decode_program(encode_program(program)) == program


@pytest.mark.parametrize("data", [[], {"hash_seed": "x"}, {"parameters": ["a"]}, {"parameters": {"a": "b"}}, {"a": 1}])
def test_what_is_no_program_is_refused(data: object) -> None:
    with pytest.raises(FormatError, match="the program of a test holds a hash seed"):
        decode_program(data)
