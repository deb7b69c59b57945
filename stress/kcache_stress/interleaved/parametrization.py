"""Parametrization: the positions of the values that tests are parametrized with, and the names of fixtures.

Both are read from the attributes that the decorators of pytest set in a module. So they can be read from a private copy
of the module, too. There, classes among the values are copies as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any


def required(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters without a default; ``*args`` and ``**kwargs`` are not included."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.default is one.empty and one.kind not in variable]


def positions(
    arguments: Mapping[str, object], marked: Sequence[object], counted: Mapping[str, int] = MappingProxyType({})
) -> dict[str, int]:
    """Return the positions of arguments among the values of ``parametrize``; other arguments are left out.

    Args:
        arguments: the arguments, as pytest passes them.
        marked: the test, its class and its module: the objects that may have ``parametrize`` marks.
        counted: the positions that pytest reports. They are used for parameters of fixtures only: for arguments of
            ``parametrize`` that are not indirect, pytest counts the combinations instead.
    """
    values = _values_of(marked)
    result = {name: position for name, position in counted.items() if name not in values}
    for name, value in arguments.items():
        position = next((number for number, known in enumerate(values.get(name, ())) if known is value), None)
        if position is not None:
            result[name] = position
    return result


def _values_of(marked: Sequence[object]) -> dict[str, list[Any]]:
    """Return parameter of a test -> the list of its values, in the order of ``parametrize``."""
    values: dict[str, list[Any]] = {}
    for mark in (mark for place in marked for mark in _marks(place) if mark.name == "parametrize"):
        arguments = dict(zip(("argnames", "argvalues", "indirect"), mark.args, strict=False)) | dict(mark.kwargs)
        names, rows = arguments.get("argnames", ""), arguments.get("argvalues")
        if arguments.get("indirect") or not isinstance(rows, Sequence):
            continue
        names = [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)
        for number, name in enumerate(names):
            plain = map(_plain_row, rows)
            values[name] = [row if len(names) == 1 else row[number] for row in plain]
    return values


def _plain_row(row: Any) -> Any:
    """Return the value, or the values, of a row of ``parametrize``; ``pytest.param(...)`` is unpacked."""
    if type(row).__name__ != "ParameterSet":
        return row
    return row.values[0] if len(row.values) == 1 else row.values


def _marks(place: object) -> list[Any]:
    marks = getattr(place, "pytestmark", ())
    return list(marks) if isinstance(marks, (list, tuple)) else [marks]


def _marker(place: Any, attribute: str) -> Any:
    """Return the object with the arguments of ``pytest.fixture`` for a fixture; ``None`` for other attributes."""
    fixture = inspect.getattr_static(place, attribute, None)
    names = ("_fixture_function_marker", "_pytestfixturefunction")
    return next((vars(fixture)[name] for name in names if name in getattr(fixture, "__dict__", ())), None)


def fixtures_of(place: object) -> dict[str, str]:
    """Return name of a fixture of a class or module -> the attribute that holds the fixture."""
    markers = {attribute: _marker(place, attribute) for attribute in dir(place)}
    return {getattr(marker, "name", None) or attribute: attribute for attribute, marker in markers.items() if marker}
