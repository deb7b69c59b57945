"""Knowledge of C and of the standard library: each row is valid, and a new fact is one new row in one file."""

from __future__ import annotations

import _socket
import ast
import concurrent.futures._base
import importlib
import importlib.util
import inspect
import operator
import queue
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kcache_stress.knowledge
from kcache_stress.instrument.facts import collect_facts
from kcache_stress.knowledge import tables
from kcache_stress.knowledge.rows import (
    AttributeRow,
    FunctionRow,
    KnowledgeError,
    MethodsRow,
    ModuleRow,
    Row,
    TypeRow,
    load,
    objects,
)

FOLDER = Path(kcache_stress.knowledge.__file__).parent
KINDS: tuple[type[Row], ...] = (AttributeRow, FunctionRow, MethodsRow, ModuleRow, TypeRow)


def test_each_file_is_loaded() -> None:
    assert {file.name for file in FOLDER.glob("*.toml")} == {kind.FILE for kind in KINDS}


@pytest.mark.parametrize("kind", [FunctionRow, MethodsRow, TypeRow])
def test_each_row_names_objects_that_exist(kind: type[Row]) -> None:
    for row in load(kind):
        assert len(list(row.objects())) == (len(row.names) if row.applies else 0), row.place


def test_each_row_of_modules_names_modules_that_exist() -> None:
    rows = [row for row in load(ModuleRow) if row.applies and not row.third_party]
    names = [name for row in rows for name in row.names]
    assert [name for name in names if name.partition(".")[0] not in sys.stdlib_module_names] == []
    assert [name for name in names if "." in name and importlib.util.find_spec(name) is None] == []


def test_each_attribute_belongs_to_one_of_the_examples() -> None:
    for row in load(AttributeRow):
        owners = [_example(text) for text in row.of.split()]
        assert not owners or [name for name in row.names if not any(hasattr(one, name) for one in owners)] == []


def _example(text: str) -> Any:
    module, _, name = text.partition(".")
    found = importlib.import_module(module)
    return operator.attrgetter(name)(found) if name else found


def test_each_method_belongs_to_a_container() -> None:
    rows = load(MethodsRow)
    kinds = [kind for row in rows for kind in row.objects()]
    columns = set(inspect.get_annotations(MethodsRow)) - {"like"}
    methods = {name for row in rows for column in columns for name in getattr(row, column).split()}
    assert [name for name in methods if not any(hasattr(kind, name) for kind in kinds)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_object_is_in_two_rows(kind: type[Row]) -> None:
    named = Counter((row.module, name) for row in load(kind) for name in row.names)
    assert [name for name, times in named.items() if times > 1] == []
    if kind not in (AttributeRow, ModuleRow):
        found = Counter(id(one) for row in load(kind) for one in row.objects())
        assert max(found.values()) == 1


def test_names_of_functions_in_c_have_the_module_by_which_they_are_looked_up() -> None:
    for row in load(FunctionRow):
        for found in row.objects() if row.touches and not row.is_transparent else ():
            assert found.__module__ in (row.module, "io", "_io"), row.place  # `open` is a function of io


BROKEN = [
    (
        "names = 'no_such_function'",
        "has no builtins.no_such_function; correct the name, or write the versions that have it in `since` or `until`",
    ),
    ("names = 'sqrt', module = 'no_such_module'", "has no no_such_module.sqrt"),
    ("names = 'len', holds = 'nothing'", "holds = 'nothing' is invalid; use arguments, buffer"),
    ("names = 'len', only_reads = 'yes'", "only_reads = 'yes' is invalid; use true, false"),
    ("names = 'len', since = '2.7'", "since = '2.7' is invalid; use 3.11, 3.12, 3.13, 3.14"),
    ("names = 'len', reads = true", "unknown column reads; known are: asks_outside, by_name, "),
    ("only_reads = true", "the column names is missing"),
]


@pytest.mark.parametrize(("row", "message"), BROKEN)
def test_an_error_names_the_file_and_the_row(tmp_path: Path, row: str, message: str) -> None:
    (tmp_path / "functions.toml").write_text(f"row = [{{names = 'len'}},\n{{{row}}}]")
    with pytest.raises(KnowledgeError) as caught:
        objects(load(FunctionRow, tmp_path))
    assert str(caught.value).startswith("functions.toml, row 2: ")
    assert message in str(caught.value)


def test_an_error_names_the_line_of_a_file_that_is_no_toml(tmp_path: Path) -> None:
    (tmp_path / "functions.toml").write_text("row = [\n{names = }]")
    with pytest.raises(KnowledgeError, match=r"functions\.toml: .*line 2"):
        load(FunctionRow, tmp_path)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package, which can be imported as ``copied_knowledge``."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Path(shutil.copytree(FOLDER, tmp_path / "copied_knowledge"))
    for name in [name for name in sys.modules if name.startswith("copied_knowledge")]:
        del sys.modules[name]


def _add(file: Path, row: str) -> None:
    text = file.read_text().removesuffix("]\n")
    file.write_text(f"{text}{{{row}}},\n]\n")


def _imported(module: str) -> ModuleType:
    return importlib.import_module(f"copied_knowledge.{module}")


def test_one_row_says_all_of_a_function_in_c(copied: Path) -> None:
    from kcache_stress.knowledge import functions as before

    _add(
        copied / "functions.toml",
        "module = '_socket', names = 'htons', touches = 'arguments', only_reads = true, looks_at = 'references', "
        "holds = 'buffer', by_name = 'reads', no_proof_because = '{name}() is new', lasts = true",
    )
    after, new = _imported("functions"), _socket.htons
    assert (before.is_known_function(new), after.is_known_function(new)) == (False, True)
    assert (before.reaches_by_name(new), after.reaches_by_name(new)) == (False, True)
    for known in ("READERS", "COPYING", "LENDING", "ATTRIBUTE_READERS"):
        assert getattr(after, known) - getattr(before, known) == {new}, known
    assert new not in before.NO_PROOF
    assert after.NO_PROOF[new] == ("htons() is new", True)


def test_one_row_says_all_of_a_builtin(copied: Path) -> None:
    from kcache_stress.knowledge import functions as before

    _add(
        copied / "functions.toml",
        "names = 'pow', report = 'elements', result = 'scalar', consumes = 'generator', variables = 'lists'",
    )
    after = _imported("functions")
    changed = ("READING", "LOOKING", "SCALAR", "CONSUMING", "GENERATOR", "LISTING", "VARIABLE")
    for known in changed:
        assert getattr(after, f"{known}_BUILTINS") - getattr(before, f"{known}_BUILTINS") == {"pow"}, known


def test_one_row_says_all_of_a_function_in_python(copied: Path) -> None:
    from colorsys import hls_to_rgb

    from kcache_stress.knowledge import python_code as before

    _add(
        copied / "functions.toml",
        "module = 'colorsys', names = 'hls_to_rgb', is_transparent = true, touches = 'arguments'",
    )
    after, code = _imported("python_code"), hls_to_rgb.__code__
    for question in ("is_transparent", "touches_arguments_only"):
        assert (getattr(before, question)(code), getattr(after, question)(code)) == (False, True), question


def test_one_row_says_all_of_a_module(copied: Path) -> None:
    from colorsys import hls_to_rgb

    from kcache_stress.knowledge import python_code as before

    columns = "transparent = 'always', python_touches = 'arguments', only_reads = true, hands_to_c = true"
    _add(copied / "modules.toml", f"names = 'colorsys', {columns}")
    after, code = _imported("python_code"), hls_to_rgb.__code__
    for question in ("is_transparent", "touches_arguments_only", "only_reads", "hands_to_c"):
        assert (getattr(before, question)(code), getattr(after, question)(code)) == (False, True), question


def test_one_row_says_all_of_a_type(copied: Path) -> None:
    from kcache_stress.knowledge import code_in_c as before

    kind = _socket.socket
    _add(copied / "types.toml", "module = '_socket', names = 'socket', touches = 'arguments', unseen = 'handled'")
    after = _imported("code_in_c")
    assert (before.is_known_type(kind), after.is_known_type(kind)) == (False, True)
    assert (before.is_foreign(kind), after.is_foreign(kind)) == (True, False)


def test_one_row_says_all_of_a_method(copied: Path) -> None:
    from kcache_stress.knowledge import tables as before

    file = copied / "methods.toml"
    file.write_text(f"{file.read_text()}\n[[row]]\nnames = 'frozenset'\nreads = 'copy'\nreads_both = 'union'\n")
    after = _imported("tables")
    assert before.methods_of(frozenset) is None
    assert after.methods_of(frozenset) == {"copy": 0, "union": after.CONSUMES}


def test_what_the_library_changes_is_what_its_sources_store() -> None:
    modules = (queue, threading, concurrent.futures._base)
    stored = {
        name
        for module in modules
        for name in collect_facts(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))).mutable_names
    }
    new = {"is_shutdown"} if sys.version_info < (3, 13) else set[str]()
    assert tables.CHANGED_BY_LIBRARY - new <= stored
