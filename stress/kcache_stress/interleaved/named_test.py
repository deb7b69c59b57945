"""Interleaved tests by name: functions, methods of test classes, and the packages that they use."""

from __future__ import annotations

import functools
import inspect
import unittest
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from kcache_model.errors import TargetError

from ..explorer.reach import Kind, folder_of, imported_by, own_kind, unit_of
from ..loading import load_object, loaded_module, named_packages
from .arguments import Surroundings, afterwards, remove_folder
from .running import RealThreads, controlled, is_controlled
from .texts import source_of


@dataclass(frozen=True)
class InterleavedTest:
    """A test that a process can load.

    Attributes:
        name: ``package.module:function`` or ``path/to/file.py:Class.method``.
        module: of the test, by name or file.
        attribute: its name in the module.
        instrument: the packages that are instrumented with it.
        folder: where further modules of it lie; ``None`` if it is in a package.
        parameters: the positions of its parameters' values in what it is parametrized with.
        unsupported: nothing; all targets have it.
    """

    name: str
    module: str | Path
    attribute: str
    instrument: tuple[str, ...]
    folder: Path | None
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)
    unsupported: frozenset[str] = frozenset()

    def with_parameters(self, parameters: Mapping[str, int]) -> InterleavedTest:
        """The same, called with these values.

        Args:
            parameters: the positions of the values in what the test is parametrized with.

        Raises:
            TargetError: it takes something else, too, that cannot be made for it.
        """
        chosen = replace(self, parameters=parameters)
        module = _module_of(self.name)
        unknown = () if _is_unittest(_holder_of(module, self.attribute)) else chosen._surroundings(module).unknown()
        names = ", ".join(unknown)
        if names:
            raise TargetError(
                f"{self.name} takes {names}: a test under the explorer takes the fixtures of its own module, and what "
                "parametrize gives it; make what else it needs in its body, where each execution gets a new one"
            )
        return chosen

    def body(self, module: ModuleType) -> Callable[[], Any]:
        """The test as its module, or a private copy of that, has it, on a new object if it is a method."""
        holder, name = _holder_of(module, self.attribute), self.attribute.rpartition(".")[2]
        if _is_unittest(holder):
            return _of_unittest(module, holder, name)
        return _of_pytest(self._surroundings(module), name)

    def _surroundings(self, module: ModuleType) -> Surroundings:
        holder, name = _holder_of(module, self.attribute), self.attribute.rpartition(".")[2]
        places = (module,) if holder is module else (holder, module)
        return Surroundings(getattr(holder, name), places, self.parameters)

    @property
    def source(self) -> str:
        """Its lines."""
        return source_of(functools.reduce(getattr, self.attribute.split("."), _module_of(self.name)))

    def called(self) -> Any:
        """Call it once with real threads, those of whoever controls it if somebody does."""
        try:
            with nullcontext() if is_controlled() else controlled(RealThreads()):
                return self.body(_module_of(self.name))()
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
    named = named_packages(function, spec)
    file = Path(location).resolve() if location.endswith(".py") else None
    own = () if file is not None else (location.partition(".")[0],)
    packages = named or _imported_packages(module, own)
    return InterleavedTest(
        spec, file or location, attribute, tuple(dict.fromkeys((*own, *packages))), folder_of(location)
    )


def _module_of(spec: str) -> ModuleType:
    found = loaded_module(spec)
    assert found is not None
    return found


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


def _imported_packages(module: ModuleType, own: tuple[str, ...]) -> tuple[str, ...]:
    """The packages in Python that the module of a test imports: they are what it tests."""
    file = inspect.getsourcefile(module)
    units = {unit_of(name, lambda name: name.partition(".")[0] in own) for name in imported_by(file)} if file else set()
    return tuple(sorted(unit for unit in units if unit is not None and own_kind(unit) is Kind.PLAIN))
