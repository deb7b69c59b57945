"""Arguments of test bodies: values that they are parametrized with, and fixtures that stand beside them.

They are read off what the decorators of pytest leave in a module, and so they are found in its private copies, too,
where fixtures and classes among the values are copies as well. Each call of a body gets all of them anew.
"""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final

from .given_fixtures import GIVEN, TMP_PATH, Occasion, Request, afterwards

_REQUEST: Final = "request"


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


@dataclass(frozen=True)
class Surroundings:
    """Where the arguments of a test come from.

    Attributes:
        function: the test; of a method, the function in its class.
        places: where fixtures are looked for: the class of the test, its module.
        chosen: parameter, or fixture with parameters -> the position of its value. What a ``conftest.py`` has every
            test use is made if it is named here, too: another one than that of pytest may have no use for it.
        conftests: where fixtures are looked for after that, the nearest first.
    """

    function: Callable[..., Any]
    places: Sequence[Any]
    chosen: Mapping[str, int]
    conftests: Sequence[ModuleType] = ()

    def unknown(self, also: Sequence[str] = ()) -> list[str]:
        """The names of what cannot be made here: fixtures of conftest.py and of plugins, values that a hook makes.

        Args:
            also: what is asked for beside that, with which it may be made.
        """
        return [name for name, is_known in self._reached(also).items() if not is_known]

    def asks_beyond(self) -> bool:
        """Whether it asks for what neither stands in its places nor is made here, whatever values parameters have."""
        return not _values_of((self.function, *self.places)).keys() >= set(self.unknown())

    def emptied(self) -> Path | None:
        """The folder for ``tmp_path``, the same for each call, without what the last one left; ``None`` if unused."""
        if not self._reached(()).get(TMP_PATH):
            return None
        remove_folder()
        _folder().mkdir(mode=0o700)
        return _folder()

    def _reached(self, also: Sequence[str]) -> dict[str, bool]:
        """All that is asked for on the way -> whether it can be made."""
        todo, seen, values = [*self.names(), *also], dict[str, bool](), self.parametrized()
        while todo:
            name = todo.pop(0)
            if name in seen:
                continue
            fixture = None if name in values else self.fixture(name)
            if fixture is None:
                seen[name] = name in values or name in GIVEN or name == _REQUEST
                continue
            function, params = fixture
            # It may extend one of the same name, or have parameters that a hook has made more of.
            seen[name] = name not in required(function) and (
                not params or self.chosen.get(name, -1) in range(len(params))
            )
            todo += required(function)[self.is_method(name) :] if seen[name] else ()
        return seen

    def names(self) -> list[str]:
        """All that the test takes, and what it uses without taking it."""
        marks = [
            mark for place in (self.function, *self.places) for mark in _marks(place) if mark.name == "usefixtures"
        ]
        automatic = (
            name
            for place in reversed(self._holders)
            for name, attribute in fixtures_of(place).items()
            if getattr(_marker(place, attribute), "autouse", False)
            and (name in self.chosen or place not in self.conftests)
        )
        own = required(self.function)[len(self.places) > 1 :]
        return list(dict.fromkeys([*automatic, *(name for mark in marks for name in mark.args), *own]))

    def parametrized(self) -> dict[str, object]:
        """The parameters that have a value, with that."""
        values = _values_of((self.function, *self.places))
        return {name: values[name][at] for name, at in self.chosen.items() if at < len(values.get(name, ()))}

    def fixture(self, name: str) -> tuple[Callable[..., Any], Sequence[Any]] | None:
        """The function of a fixture, and its parameters; ``None`` if there is none of that name."""
        for place in self._holders:
            attribute = fixtures_of(place).get(name)
            if attribute is not None:
                params = getattr(_marker(place, attribute), "params", None) or ()
                return inspect.getattr_static(place, attribute).__wrapped__, params
        return None

    @property
    def _holders(self) -> Sequence[Any]:
        """Where fixtures are looked for, in this order."""
        return (*self.places, *self.conftests)

    def is_method(self, name: str) -> bool:
        """Whether a fixture is a method of the test's class."""
        return len(self.places) > 1 and name in fixtures_of(self.places[0])

    def arguments(self, made: object, stack: ExitStack, folder: Path | None = None) -> dict[str, Any]:
        """The arguments for one call.

        Args:
            made: the object whose method is called, if it is one.
            stack: ends fixtures when it is left.
            folder: for ``tmp_path``.
        """
        occasion = Occasion(stack, self.places[-1], folder)
        values = _Making(self, made, occasion, self.parametrized())
        known = {name: values.of(name) for name in self.names()}
        return {name: known[name] for name in required(self.function)[len(self.places) > 1 :]}


@dataclass
class _Making:
    surroundings: Surroundings
    made: object
    occasion: Occasion
    known: dict[str, Any] = field(default_factory=dict)

    def of(self, name: str) -> Any:
        """The value of a parameter or fixture; made once."""
        if name == _REQUEST:
            return self._request()
        if name not in self.known:
            self.known[name] = self._new(name)
        return self.known[name]

    def _new(self, name: str) -> Any:
        fixture = self.surroundings.fixture(name)
        if fixture is None:
            return GIVEN[name](self.occasion)
        function, params = fixture
        if self.surroundings.is_method(name):
            function = function.__get__(self.made)
        chosen = {"param": _plain_row(params[self.surroundings.chosen[name]])} if params else {}
        given = {one: self._request(**chosen) if one == _REQUEST else self.of(one) for one in required(function)}
        made = function(**given)
        if not inspect.isgeneratorfunction(inspect.unwrap(function)):
            return made
        value = next(made)
        afterwards(self.occasion.stack, lambda: next(made, None), made.close)
        return value

    def _request(self, **chosen: object) -> Request:
        return Request(
            **chosen,
            function=self.surroundings.function,
            module=self.occasion.module,
            cls=self.surroundings.places[0] if len(self.surroundings.places) > 1 else None,
            instance=self.made,
            addfinalizer=lambda done: afterwards(self.occasion.stack, done),
        )


def _folder() -> Path:
    return Path(tempfile.gettempdir(), f"kcache-test-{os.getpid()}")


def remove_folder() -> None:
    """Remove what the last call has in ``tmp_path``, if there is any."""
    shutil.rmtree(_folder(), ignore_errors=True)


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
