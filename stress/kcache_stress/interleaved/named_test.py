"""Interleaved tests by name: functions without parameters, methods of test classes, and the packages that they use."""

from __future__ import annotations

import functools
import inspect
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from kcache_model.errors import TargetError

from ..explorer.reach import Kind, folder_of, imported_by, own_kind, unit_of
from ..loading import load_object, loaded_module, named_packages
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
        unsupported: nothing; all targets have it.
    """

    name: str
    module: str | Path
    attribute: str
    instrument: tuple[str, ...]
    folder: Path | None
    unsupported: frozenset[str] = frozenset()

    def body(self, module: ModuleType) -> Callable[[], Any]:
        """The test as its module, or a private copy of that, has it, on a new object if it is a method."""
        return _body(module, self.attribute)

    @property
    def source(self) -> str:
        """Its lines."""
        return source_of(functools.reduce(getattr, self.attribute.split("."), _module_of(self.name)))

    def called(self) -> Any:
        """Call it once with real threads."""
        return self.body(_module_of(self.name))()


def load_test(spec: Any) -> InterleavedTest:
    """The test of a name.

    Raises:
        TargetError: there is no such test, or it takes arguments.
    """
    if not isinstance(spec, str):
        raise TargetError(
            f"{getattr(spec, '__qualname__', spec)} cannot be loaded by name: a test under the explorer is a function "
            "at the top of a module, or a method of a class there"
        )
    location, _, attribute = spec.rpartition(":")
    function = load_object(spec, wanted="function")
    _require_no_parameters(spec, function, is_method="." in attribute)
    module = _module_of(spec)
    _body(module, attribute)
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


def _require_no_parameters(spec: str, function: object, *, is_method: bool) -> None:
    if isinstance(function, type) or not callable(function):
        raise TargetError(f"{spec} is no test: name a function without parameters, or Class.method")
    required = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ][is_method:]
    if required:
        raise TargetError(
            f"{spec} takes {', '.join(required)}: a test under the explorer takes no arguments; make what it needs in "
            "its body, where each execution gets a new one"
        )


def _body(module: ModuleType, attribute: str) -> Callable[[], Any]:
    owner, _, name = attribute.rpartition(".")
    holder: Any = functools.reduce(getattr, owner.split("."), module) if owner else module
    if not isinstance(holder, type):
        found: Callable[[], Any] = getattr(holder, name)
        return found
    if issubclass(holder, unittest.TestCase):
        return holder(name).debug  # with setUp and tearDown, and errors that come through
    made = holder()
    bound = getattr(made, name)

    def call() -> Any:
        for prepare in filter(None, (getattr(made, "setup_method", None),)):
            prepare(*(bound,) * len(inspect.signature(prepare).parameters))
        return bound()

    return call


def _imported_packages(module: ModuleType, own: tuple[str, ...]) -> tuple[str, ...]:
    """The packages in Python that the module of a test imports: they are what it tests."""
    file = inspect.getsourcefile(module)
    units = {unit_of(name, lambda name: name.partition(".")[0] in own) for name in imported_by(file)} if file else set()
    return tuple(sorted(unit for unit in units if unit is not None and own_kind(unit) is Kind.PLAIN))
