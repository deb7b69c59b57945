"""Positions of the values that tests are parametrized with, and the names of fixtures.

They are read off what the decorators of pytest leave in a module, and so they are found in its private copies, too,
where classes among the values are copies as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any


def required(function: Callable[..., Any]) -> list[str]:
    """The parameters of a function that have no default."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.default is one.empty and one.kind not in variable]


def positions(
    given: Mapping[str, object], marked: Sequence[object], counted: Mapping[str, int] = MappingProxyType({})
) -> dict[str, int]:
    """The positions of arguments in what a test is parametrized with; what is no such value is left out.

    Args:
        given: the arguments, as pytest passes them.
        marked: the test, its class, its module.
        counted: the positions that pytest tells: right for parameters of fixtures. Of what ``parametrize`` gives
            directly, it counts the combinations instead.
    """
    values = _values_of(marked)
    found = {name: position for name, position in counted.items() if name not in values}
    for name, value in given.items():
        position = next((number for number, known in enumerate(values.get(name, ())) if known is value), None)
        if position is not None:
            found[name] = position
    return found


def _values_of(marked: Sequence[object]) -> dict[str, list[Any]]:
    """The parameters of a test -> the values that each takes, one after another."""
    found: dict[str, list[Any]] = {}
    for mark in (mark for place in marked for mark in _marks(place) if mark.name == "parametrize"):
        given = dict(zip(("argnames", "argvalues", "indirect"), mark.args, strict=False)) | dict(mark.kwargs)
        names, rows = given.get("argnames", ""), given.get("argvalues")
        if given.get("indirect") or not isinstance(rows, Sequence):
            continue
        names = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
        for number, name in enumerate(names):
            plain = map(_plain_row, rows)
            found[name] = [row if len(names) == 1 else row[number] for row in plain]
    return found


def _plain_row(row: Any) -> Any:
    """What stands in ``pytest.param(...)``."""
    if type(row).__name__ != "ParameterSet":
        return row
    return row.values[0] if len(row.values) == 1 else row.values


def _marks(place: object) -> list[Any]:
    marks = getattr(place, "pytestmark", ())
    return list(marks) if isinstance(marks, (list, tuple)) else [marks]


def _marker(place: Any, attribute: str) -> Any:
    """What ``pytest.fixture`` was given, if this is one."""
    found = inspect.getattr_static(place, attribute, None)
    names = ("_fixture_function_marker", "_pytestfixturefunction")
    return next((vars(found)[name] for name in names if name in getattr(found, "__dict__", ())), None)


def fixtures_of(place: object) -> dict[str, str]:
    """The names of the fixtures that stand in a class or module -> its attributes."""
    markers = {attribute: _marker(place, attribute) for attribute in dir(place)}
    return {getattr(marker, "name", None) or attribute: attribute for attribute, marker in markers.items() if marker}
