"""Interleaved tests by name: functions, methods of test classes, and the packages that they use."""

from __future__ import annotations

import functools
import inspect
import sys
import unittest
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from kcache_model.errors import TargetError

from ..explorer.reach import Kind, folder_of, imported_by, own_kind, unit_of
from ..explorer.scenario_runner import Load
from ..loading import load_module, load_object, loaded_module, name_of_file, named_packages
from .arguments import Surroundings, remove_folder
from .conftests import conftests_of
from .given_fixtures import GIVEN, afterwards
from .running import RealThreads, controlled, is_controlled
from .texts import lines_of, source_of


@dataclass(frozen=True)
class InterleavedTest:
    """A test that a process can load.

    Attributes:
        name: ``package.module:function`` or ``path/to/file.py:Class.method``.
        module: of the test, by name or file.
        attribute: its name in the module.
        instrument: the packages that are instrumented with it: its own, and those that it names.
        imported: those that its module imports, as far as they are written in Python.
        folder: where further modules of it lie; ``None`` if it is in a package.
        conftests: the ``conftest.py`` above it, by name or file, the nearest first.
        parameters: the positions of its parameters' values in what it is parametrized with.
        unsupported: nothing; all targets have it.
    """

    name: str
    module: str | Path
    attribute: str
    instrument: tuple[str, ...]
    folder: Path | None
    imported: tuple[str, ...] = ()
    conftests: tuple[str | Path, ...] = ()
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)
    unsupported: frozenset[str] = frozenset()

    def packages(self, further: Sequence[str]) -> tuple[str, ...]:
        """What is instrumented: of a package of which parts are named, these alone.

        Args:
            further: packages, or parts of packages, that are named beside its own.
        """
        named = dict.fromkeys((*self.instrument, *further))
        whole = (unit for unit in self.imported if not any(name.startswith(f"{unit}.") for name in named))
        return tuple(dict.fromkeys((*named, *whole)))

    def with_parameters(self, parameters: Mapping[str, int]) -> InterleavedTest:
        """The same, called with these values.

        Args:
            parameters: the positions of the values in what the test is parametrized with.

        Raises:
            TargetError: it takes something else, too, that cannot be made for it.
        """
        chosen = replace(self, parameters=parameters)
        is_unittest = _is_unittest(_holder_of(_module_of(self.name), self.attribute))
        unknown = () if is_unittest else chosen._surroundings(_loaded).unknown()
        names = ", ".join(unknown)
        if names:
            raise TargetError(
                f"{self.name} takes {names}: a test under the explorer takes the fixtures of its own module and of "
                f"conftest.py, {', '.join(GIVEN)}, and what parametrize gives it; make what else it needs in its body, "
                "where each execution gets a new one"
            )
        return chosen

    def body(self, load: Load) -> Callable[[], Any]:
        """The test on a new object if it is a method.

        Args:
            load: gives modules, or private copies of them, by name or file.
        """
        module = load(self.module)
        holder, name = _holder_of(module, self.attribute), self.attribute.rpartition(".")[2]
        if _is_unittest(holder):
            return _of_unittest(module, holder, name)
        return _of_pytest(self._surroundings(load), name)

    def _surroundings(self, load: Load) -> Surroundings:
        """Where its arguments come from; ``conftest.py`` is loaded only where something of it is needed."""
        module = load(self.module)
        found = _own_surroundings(module, self.attribute, self.parameters)
        if not found.unknown([name for name in self.parameters if name not in found.parametrized()]):
            return found
        outermost_first = [load(conftest) for conftest in reversed(self.conftests)]
        return replace(found, conftests=outermost_first[::-1])

    @property
    def source(self) -> str:
        """Its lines."""
        return source_of(functools.reduce(getattr, self.attribute.split("."), _module_of(self.name)))

    @property
    def lines(self) -> tuple[str, int, int] | None:
        """The path of its file, and its first and last line; ``None`` if its source cannot be read."""
        return lines_of(functools.reduce(getattr, self.attribute.split("."), _module_of(self.name)))

    def called(self) -> Any:
        """Call it once with real threads, those of whoever controls it if somebody does."""
        try:
            with nullcontext() if is_controlled() else controlled(RealThreads()):
                return self.body(_loaded)()
        finally:
            remove_folder()


def load_test(spec: Any) -> InterleavedTest:
    """The test of a name.

    Raises:
        TargetError: there is no such test.
    """
    if not isinstance(spec, str):
        raise TargetError(
            f"{getattr(spec, '__qualname__', spec)} cannot be loaded by name: a test under the explorer is a function "
            "at the top of a module, or a method of a class there"
        )
    location, _, attribute = spec.rpartition(":")
    function = load_object(spec, wanted="function")
    if isinstance(function, type) or not callable(function):
        raise TargetError(f"{spec} is no test: name a function, or Class.method")
    module = _module_of(spec)
    _require_no_maker(spec, function, _holder_of(module, attribute))
    named = named_packages(function, spec)
    file = Path(location).resolve() if location.endswith(".py") else None
    own = () if file is not None else (location.partition(".")[0],)
    conftests = conftests_of(location, Path(inspect.getsourcefile(module) or location))
    is_alone = _is_unittest(_holder_of(module, attribute)) or not _own_surroundings(module, attribute, {}).asks_beyond()
    imported = _imported_packages([module, *([] if is_alone else map(_loaded, reversed(conftests)))], own)
    return InterleavedTest(
        spec,
        file or location,
        attribute,
        tuple(dict.fromkeys((*own, *named))),
        folder_of(location),
        imported,
        conftests,
    )


def _require_no_maker(spec: str, function: object, holder: object) -> None:
    """What would fail without being a test is refused.

    Raises:
        TargetError: it is a class method that makes objects, or a method of a class that pytest could not make.
    """
    if inspect.ismethod(function) and not function.__name__.startswith("test"):
        raise TargetError(f"{spec} is a class method, no test; if it makes objects of a class, say --type class")
    if not isinstance(holder, type) or _is_unittest(holder):
        return
    try:
        inspect.signature(holder).bind()
    except ValueError:  # parts in C tell no signature
        pass
    except TypeError:
        name = spec.rpartition(".")[0]
        raise TargetError(
            f"{spec} is no test, for {holder.__name__} is not made without arguments; to check the class, name it with "
            f"them: '{name}(...)'"
        ) from None


def _module_of(spec: str) -> ModuleType:
    found = loaded_module(spec)
    assert found is not None
    return found


def _loaded(module: str | Path) -> ModuleType:
    """A module of this process, loaded once."""
    found = sys.modules.get(name_of_file(module) if isinstance(module, Path) else module)
    return found if found is not None else load_module(module)


def _own_surroundings(module: ModuleType, attribute: str, parameters: Mapping[str, int]) -> Surroundings:
    holder, name = _holder_of(module, attribute), attribute.rpartition(".")[2]
    return Surroundings(getattr(holder, name), (module,) if holder is module else (holder, module), parameters)


def _holder_of(module: ModuleType, attribute: str) -> Any:
    owner = attribute.rpartition(".")[0]
    return functools.reduce(getattr, owner.split("."), module) if owner else module


def _is_unittest(holder: object) -> bool:
    return isinstance(holder, type) and issubclass(holder, unittest.TestCase)


def _of_unittest(module: ModuleType, holder: Any, name: str) -> Callable[[], Any]:
    """A method of a ``TestCase`` with all that is to be called around it, and errors that come through."""

    def call() -> None:
        with ExitStack() as stack:
            _around(stack, module, "setUpModule", "tearDownModule", module)
            holder.setUpClass()
            if getattr(holder, "_class_cleanups", ()):  # without any, it would leave a note on the class
                afterwards(stack, holder.doClassCleanups)
            afterwards(stack, holder.tearDownClass)
            holder(name).debug()

    return call


def _of_pytest(surroundings: Surroundings, name: str) -> Callable[[], Any]:
    """A function, or a method of a class, with its arguments, and all that is to be called around it."""
    folder = surroundings.emptied()  # before there are threads, which must not be seen to do that

    def call() -> Any:
        *classes, module = surroundings.places
        with ExitStack() as stack:
            _around(stack, module, "setup_module", "teardown_module", module)
            if not classes:
                _around(stack, module, "setup_function", "teardown_function", surroundings.function)
                return surroundings.function(**surroundings.arguments(None, stack, folder))
            _around(stack, classes[0], "setup_class", "teardown_class", classes[0])
            made = classes[0]()
            method = getattr(made, name)
            arguments = surroundings.arguments(made, stack, folder)
            _around(stack, made, "setup_method", "teardown_method", method)
            return method(**arguments)

    return call


def _around(stack: ExitStack, place: object, before: str, after: str, about: object) -> None:
    """Call what a module or class has to be called before a test, and have it call the counterpart afterwards."""

    def called(name: str) -> None:
        function = getattr(place, name, None)
        if function is not None:
            function(*(about,) * len(inspect.signature(function).parameters))

    called(before)
    afterwards(stack, lambda: called(after))


def _imported_packages(modules: Sequence[ModuleType], own: tuple[str, ...]) -> tuple[str, ...]:
    """The packages in Python that the module of a test and its ``conftest.py`` import: they are what it tests."""
    files = filter(None, map(inspect.getsourcefile, modules))
    names = {name for file in files for name in imported_by(file)}
    units = {unit_of(name, lambda name: name.partition(".")[0] in own) for name in names}
    return tuple(sorted(unit for unit in units if unit is not None and own_kind(unit) is Kind.PLAIN))
