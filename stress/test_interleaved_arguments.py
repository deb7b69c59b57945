"""Arguments of tests under the explorer: what parametrize and fixtures give, found in any copy of a module."""

from __future__ import annotations

import types
from contextlib import ExitStack
from typing import Any

import pytest

from kcache_model.errors import FormatError
from kcache_model.interleaved_program import InterleavedProgram, decode_program, encode_program
from kcache_stress.interleaved.arguments import Surroundings, positions, remove_folder

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

def test_foreign(monkeypatch, capsys): ...

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
    assert Surroundings(module.test_foreign, (module,), {}).unknown() == ["monkeypatch", "capsys"]
    assert Surroundings(module.test_all, (module,), {}).unknown() == ["first", "second", "kind", "request"]
    beyond = {"kind": 2, "letter": 2, "first": 2, "second": 0}
    assert Surroundings(module.test_all, (module,), beyond).unknown() == ["first", "kind", "request"]


def test_values_are_told_by_their_positions(module: Any) -> None:
    given = {"kind": module.Kind, "first": 3, "made": object()}
    assert positions(given, (module.test_all, None)) == {"kind": 1, "first": 1}


@pytest.mark.parametrize("program", [InterleavedProgram(), InterleavedProgram(hash_seed=3, parameters={"kind": 1})])
def test_programs_are_written_and_read(program: InterleavedProgram) -> None:
    assert decode_program(encode_program(program)) == program


@pytest.mark.parametrize("data", [[], {"hash_seed": "x"}, {"parameters": ["a"]}, {"parameters": {"a": "b"}}, {"a": 1}])
def test_what_is_no_program_is_refused(data: object) -> None:
    with pytest.raises(FormatError, match="the program of a test holds a hash seed"):
        decode_program(data)
