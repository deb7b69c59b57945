"""Configuration of a project: its targets and accepted findings, in pyproject.toml or kcache.toml.

``[tool.kcache]`` in pyproject.toml, or the same keys at the top of kcache.toml; the schema is
``kcache_model/schemas/configuration.schema.json``.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeVar

from kcache import Semantics
from kcache_model.errors import FormatError
from kcache_model.rules import Contract
from kcache_model.suggestion import did_you_mean
from kcache_model.target_name import target_name

FILES: Final = ("kcache.toml", "pyproject.toml")
"""Names of configuration files, searched in the current directory, then in the directories above it."""

E = TypeVar("E", bound=Enum)

_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Waiver:
    """A rule that a project does not follow.

    Attributes:
        rule: the id of the rule.
        reason: why the project does not follow it.
    """

    rule: str
    reason: str = ""


@dataclass(frozen=True)
class ConfiguredTarget:
    """A target of a project.

    Attributes:
        name: the project's name for the target.
        factory: TARGET of a command line; paths in it are relative to the current directory.
        kind: the name of its type; ``None`` if the file does not set it.
        model: the model that a class is compared with; ``None`` if the file does not set it.
        options: the options of its runs that the file sets.
        without: the phases that are left out.
        waivers: the rules that the project does not follow.
    """

    name: str
    factory: str
    kind: str | None = None
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """The content of a configuration file.

    Attributes:
        file: the file; ``None`` if there is none.
        targets: name -> target, in the order of the file.
        kind: the default type of targets, also of those named on a command line; ``None`` if the file does not set it.
        options: the options of all targets.
    """

    file: Path | None = None
    targets: Mapping[str, ConfiguredTarget] = field(default_factory=dict)
    kind: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def find_configuration(folder: Path) -> Configuration:
    """Return the configuration of a folder, or of the nearest folder above that has one; empty if there is none.

    Raises:
        FormatError: the file is wrong; the message names the file and the key.
    """
    for place in (folder, *folder.parents):
        for name in FILES:
            file = place / name
            if file.is_file():
                table = _read(file)
                table = table.get("tool", {}).get("kcache") if name == "pyproject.toml" else table
                if table is not None:
                    return _configuration(file, table, folder)
    return Configuration()


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{file} is not a TOML file: {error}") from None


class _Table:
    """A table of a file, whose keys are taken one by one."""

    def __init__(self, file: Path, path: str, values: object) -> None:
        self._file, self._path = file, path
        if not isinstance(values, dict):
            raise self.wrong("", f"must be a table, not {values!r}")
        self._remaining = dict(values)

    def wrong(self, key: str, what: str) -> FormatError:
        name = ".".join(filter(None, (self._path, key)))
        line = self._line(key)
        place = f" (line {line})" if line else ""
        return FormatError(f"{self._file}: {name or 'the file'} {what}{place}")

    def _line(self, key: str) -> int | None:
        """Return the number of the line that sets a key; ``None`` if it is not found, as in tables on one line."""
        table = ""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            for number, line in enumerate(self._file.read_text(encoding="utf-8").splitlines(), 1):
                if header := re.fullmatch(r"\s*\[+([^\]]*)\]+\s*(?:#.*)?", line):
                    table = re.sub(r"[\s\"']", "", header[1])
                elif table == self._path and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
                    return number
        return None

    def take(self, key: str, kind: type, read: Callable[[Any], Any] = lambda value: value) -> Any:
        """Remove a key and return its value, or ``None`` if it is not set."""
        value = self._remaining.pop(key, None)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(key, f"must be {_KINDS[kind]}, not {value!r}{_instead(key, kind, value)}")
        try:
            return read(value)
        except ValueError as error:
            raise self.wrong(key, str(error)) from None

    def end(self, known: tuple[str, ...]) -> None:
        """Refuse the keys that were not taken."""
        for key in self._remaining:
            raise self.wrong(key, f"is not a setting; known are {', '.join(known)}{did_you_mean(key, known)}")


_KINDS: Final = {str: "a text", int: "an integer", list: "a list of texts", dict: "a table"}


def _instead(key: str, kind: type, value: object) -> str:
    """Return a hint for a value of a wrong type; empty if there is none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if _OPTIONS.get(key, ("", str, str))[2] is _seconds:
        return f'; write {key} = "{value if is_number else 30}s"'
    if kind is list and isinstance(value, str):
        return f'; write {key} = ["{value}"]'
    if kind is int and isinstance(value, str) and value.isdecimal():
        return f"; write {key} = {int(value)}"
    return ""


def _seconds(text: str) -> float:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|)", text.strip())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"is {text!r}, not a duration; write for example 30s, 2m or 1.5h")
    return float(match[1]) * _UNITS[match[2]]


def _positive(number: int) -> int:
    if number < 1:
        raise ValueError(f"must be at least 1, not {number}")
    return number


def _texts(values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"must be a list of texts, not {values!r}")
    return tuple(values)


def _member_of(kind: type[E]) -> Callable[[str], E]:
    def read(text: str) -> E:
        try:
            return kind(text)
        except ValueError as error:
            known = [str(member.value) for member in kind]
            raise ValueError(f"{error}; known are {', '.join(known)}{did_you_mean(text, known)}") from None

    return read


_OPTIONS: Final[Mapping[str, tuple[str, type, Callable[[Any], Any]]]] = {
    "type": ("kind", str, str),
    "contract": ("contract", str, _member_of(Contract)),
    "semantics": ("semantics", str, _member_of(Semantics)),
    "budget": ("budget_seconds", str, _seconds),
    "programs": ("programs", int, _positive),
    "patience": ("patience_seconds", str, _seconds),
    "seed": ("seed", int, int),
    "instrument": ("instrument", list, _texts),
    "declare": ("declared", list, _texts),
    "leave_out": ("leave_out", list, _texts),
}
"""Key -> the option that it sets, the type of its value, and the function that reads the value."""


def _configuration(file: Path, values: object, folder: Path) -> Configuration:
    home = "tool.kcache" if file.name == "pyproject.toml" else ""
    top = _Table(file, home, values)
    shared = _options(top)
    tables = top.take("targets", dict) or {}
    top.end((*_OPTIONS, "targets"))
    targets = {}
    for name, table in tables.items():
        path = f"{home}.targets.{name}".lstrip(".")
        one = _Table(file, path, table)
        factory = one.take("factory", str)
        if not factory:
            raise one.wrong("factory", "is missing: write package.module:factory or path/to/file.py:factory")
        options = {**shared, **_options(one)}
        kind, model = options.pop("kind", None), one.take("spec", str)
        without = one.take("without", list, _texts) or ()
        waivers = tuple(_waiver(file, f"{path}.waivers", waiver) for waiver in one.take("waivers", list) or ())
        one.end((*_OPTIONS, "factory", "spec", "without", "waivers"))
        place = _from(folder, file.parent, factory)
        model = model and _from(folder, file.parent, model)
        targets[name] = ConfiguredTarget(name, place, kind, model, options, without, waivers)
    return Configuration(file, targets, shared.pop("kind", None), shared)


def _options(table: _Table) -> dict[str, Any]:
    taken = {option: table.take(key, kind, read) for key, (option, kind, read) in _OPTIONS.items()}
    return {option: value for option, value in taken.items() if value is not None}


def _waiver(file: Path, path: str, values: object) -> Waiver:
    table = _Table(file, path, values)
    rule, reason = table.take("rule", str), table.take("reason", str)
    if not rule:
        raise table.wrong("rule", "is missing: `kcache rules` lists them")
    table.end(("rule", "reason"))
    return Waiver(rule, reason or "")


def _from(folder: Path, home: Path, factory: str) -> str:
    """Return the factory with its path relative to the current directory."""
    file = target_name(factory).location
    if not file.endswith(".py") or Path(file).is_absolute() or folder == home:
        return factory
    return Path(os.path.relpath(home / file, folder)).as_posix() + factory.removeprefix(file)
