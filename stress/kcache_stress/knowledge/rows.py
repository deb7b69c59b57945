"""Rows of knowledge: they are loaded from the TOML files of this folder, one class for each file."""

import importlib
import inspect
import operator
import os
import sys
import tomllib
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar, dataclass_transform

_FOLDER: Final = Path(__file__).parent
_PYTHON: Final = f"3.{sys.version_info.minor}"
_Version: TypeAlias = Literal["", "3.11", "3.12", "3.13", "3.14"]


class KnowledgeError(Exception):
    """A row of knowledge is invalid; the message contains its file and its number."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _Data:
    """Base of frozen dataclasses, for type checkers; the decorator itself takes 2 ms, in each child process."""


class Row(_Data):
    """Facts about one or more names; the columns of all files.

    Attributes:
        place: the file and the number of the row: ``functions.toml, row 3``.
        names: the names that the facts are about.
        module: the module with the names.
        since: the first version of Python with the names: ``3.12``; empty if all have them.
        until: the last version of Python with the names.
        only_on: the value of ``os.name`` on systems with the names; empty if all have them.
    """

    FILE: ClassVar[str]
    place: str = ""
    names: tuple[str, ...] = ()
    module: str = "builtins"
    since: _Version = ""
    until: _Version = ""
    only_on: Literal["", "posix", "nt"] = ""

    def __init__(self, **columns: Any) -> None:
        vars(self).update(columns)

    @property
    def applies(self) -> bool:
        """Whether this Python, on this system, should have the names."""
        return self.only_on in ("", os.name) and self.since <= _PYTHON <= (self.until or _PYTHON)

    def objects(self) -> Iterator[Any]:
        """Yield the object of each name; nothing if the row does not apply.

        Raises:
            KnowledgeError: a name does not exist.
        """
        for name in self.names if self.applies else ():
            try:
                yield operator.attrgetter(name)(sys.modules.get(self.module) or importlib.import_module(self.module))
            except (ImportError, AttributeError) as error:
                raise KnowledgeError(
                    f"{self.place}: Python {_PYTHON} has no {self.module}.{name}; correct the name, or "
                    "write the versions that have it in `since` or `until`"
                ) from error


class FunctionRow(Row):
    """Facts about calls of functions and classes: ``functions.toml`` explains the columns."""

    FILE = "functions.toml"
    only_reads: bool = False
    looks_at: Literal["elements", "nothing", "references", "everything"] = "elements"
    holds: Literal["", "arguments", "buffer"] = ""
    by_name: Literal["", "reads", "writes", "hands out", "looks up", "inspects"] = ""
    stores_in: Literal["", "first", "second"] = ""
    touches: Literal["", "arguments", "anything"] = ""
    uses_interpreter: bool = False
    no_proof_because: str = ""
    lasts: bool = False
    opens_files: bool = False
    is_transparent: bool | None = None
    asks_outside: bool = False
    copies_fields: bool = False
    report: Literal["", "nothing", "argument", "elements"] = ""
    result: Literal["", "scalar", "as argument", "new", "new iterator"] = ""
    consumes: Literal["", "container", "generator"] = ""
    variables: Literal["", "lists", "runs"] = ""


class TypeRow(Row):
    """Facts about objects of types: ``types.toml`` explains the columns."""

    FILE = "types.toml"
    value: Literal["", "plain", "immutable"] = ""
    unseen: Literal["", "none", "thread", "handled"] = ""
    role: Literal["", "view", "iterator", "processor"] = ""
    parts: Literal["", "elements", "entries", "numbers", "attributes", "refers"] = ""
    checks_size: bool = False
    needs_hook: bool = False
    calls_python: bool = False
    is_coroutine: bool = False
    touches: Literal["", "arguments"] = ""
    init_is_private: bool = False
    no_proof_methods: str = ""


class MethodsRow(Row):
    """Effects of the methods of a container: ``methods.toml`` explains the columns."""

    FILE = "methods.toml"
    like: str = ""
    reads: str = ""
    reads_key: str = ""
    reads_index: str = ""
    reads_both: str = ""
    writes: str = ""
    writes_key: str = ""
    writes_index: str = ""
    writes_from: str = ""
    silent: str = ""
    reads_comparing: str = ""
    writes_comparing: str = ""
    compares_both: str = ""
    stores_missing: str = ""


class AttributeRow(Row):
    """Facts about names of attributes: ``attributes.toml`` explains the columns."""

    FILE = "attributes.toml"
    of: str = ""
    exposes: Literal["", "read", "stored"] = ""
    unseen: bool = False
    lists_variables: bool = False
    not_run_by_c: bool = False
    stores_all: bool = False
    reaches_globals: bool = False
    constructs: bool = False
    prepares: bool = False
    no_proof: bool = False
    by_name: bool = False
    reads_clock: bool = False
    consumes: bool = False
    formats: bool = False
    changes: bool = False


class ModuleRow(Row):
    """Facts about modules: ``modules.toml`` explains the columns."""

    FILE = "modules.toml"
    third_party: bool = False
    touches: Literal["", "arguments"] = ""
    python_touches: Literal["", "arguments"] = ""
    types: Literal["", "alone", "unseen"] = ""
    state: Literal["", "outside"] = ""
    is_inert: bool = False
    transparent: Literal["", "always", "stores", "iterates", "opens"] = ""
    only_reads: bool = False
    hands_to_c: bool = False
    copied: bool = False
    waits: bool = False
    mixed: bool = False
    exchanged: bool = False


R = TypeVar("R", bound=Row)


def load(kind: type[R], folder: Path = _FOLDER) -> tuple[R, ...]:
    """Return the rows of one file; no module that they name is imported.

    Args:
        kind: the class of the rows, which knows the name of the file.
        folder: the folder with the file.

    Raises:
        KnowledgeError: the file is not TOML, or a row has an unknown column or an invalid value.
    """
    try:
        table = tomllib.loads((folder / kind.FILE).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise KnowledgeError(f"{kind.FILE}: {error}") from error
    hints = {**inspect.get_annotations(Row), "names": str, **inspect.get_annotations(kind)}
    allowed = {name: _values(hint) for name, hint in hints.items() if name not in ("FILE", "place")}
    rows = enumerate(table.get("row", ()), 1)
    return tuple(_row(kind, f"{kind.FILE}, row {number}", columns, allowed) for number, columns in rows)


def objects(rows: Iterable[Row]) -> frozenset[Any]:
    """Return the objects that rows name.

    Raises:
        KnowledgeError: a name does not exist in this Python, although its row applies.
    """
    return frozenset(item for row in rows for item in row.objects())


def names(rows: Iterable[Row]) -> frozenset[str]:
    """Return the names in rows, whether or not this Python has them."""
    return frozenset(name for row in rows for name in row.names)


def _row(kind: type[R], place: str, columns: dict[str, Any], allowed: dict[str, tuple[object, ...]]) -> R:
    for column, value in columns.items():
        if column not in allowed:
            raise KnowledgeError(f"{place}: unknown column {column}; known are: {', '.join(sorted(allowed))}")
        values = allowed[column]
        if not (value in values if values else isinstance(value, str)):
            choice = ", ".join(str(each).lower() for each in values if each != "") or "a text"
            raise KnowledgeError(f"{place}: {column} = {value!r} is invalid; use {choice}")
    if not columns.get("names"):
        raise KnowledgeError(f"{place}: the column names is missing; it holds names, separated by spaces")
    return kind(**{**columns, "place": place, "names": tuple(columns["names"].split())})


def _values(hint: Any) -> tuple[object, ...]:
    """Return all valid values of a column; none if each text is valid."""
    return (True, False) if hint in (bool, bool | None) else () if hint is str else typing.get_args(hint)
