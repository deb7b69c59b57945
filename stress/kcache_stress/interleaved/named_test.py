"""Interleaved tests by name: functions, methods of test classes, and the packages that they use."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import sys
import unittest
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from kcache_model.call_program import Cancelled
from kcache_model.errors import TargetError
from kcache_model.interleaved_program import LoopContract, Timeouts

from ..loading import load_module, load_object, loaded_module, name_of_file, named_packages
from ..modules.beside_c import looks_into
from ..modules.first_load import FIRST_LOAD
from ..modules.private_packages import Kind, folder_of, imported_by, own_kind, unit_of
from ..target.scenario_runner import Load
from .counts import divided, divisors
from .parametrization import required
from .running import RealThreads, controlled, is_controlled, run_on_loop
from .texts import error_with_place, lines_of, source_of

if TYPE_CHECKING:
    from .pytest_items import PytestItems

_AROUND: Final = [
    f"{when}_{what}" for when in ("setup", "teardown") for what in ("module", "class", "function", "method")
]
"""Names of the functions and methods that pytest calls around tests."""


@dataclass(frozen=True)
class InterleavedTest:
    """A test that a process can load.

    Attributes:
        name: ``package.module:function`` or ``path/to/file.py:Class.method``.
        module: module of the test, by name or file.
        attribute: qualified name of the test in the module.
        instrument: packages to instrument: the package of the test, and the packages in its ``kcache_instrument``.
        imported: packages in Python that the module of the test and each ``conftest.py`` import.
        folder: folder with further modules of the test; ``None`` if the test is in a package.
        items: builder of the test by pytest; ``None`` if the test needs nothing from pytest.
        fixtures: file -> a further module with fixtures of the test, by name or file.
        parameters: name of a parameter -> the position of its value among the values of ``parametrize``.
        usual: exceptions that end threads although the test passes, as ``NAME at FILE:LINE``.
        divisor: divisor of the counts in the module of the test; see :mod:`~.counts`.
        timeouts: when waits with a timeout may end.
        cancellations: number of cancellations of tasks in one execution.
        cancelled: which tasks are cancelled.
        loop: the order in which ready callbacks of an event loop run. What the decorator of the test says of these
            four holds unless the program says otherwise.
        is_async: whether the test is a coroutine function: it runs in an event loop.
        path: the file of the test.
        unsupported: always empty; all targets have this attribute.
    """

    name: str
    module: str | Path
    attribute: str
    instrument: tuple[str, ...]
    folder: Path | None
    imported: tuple[str, ...] = ()
    items: PytestItems | None = field(default=None, compare=False)
    fixtures: Mapping[str, str | Path] = field(default_factory=dict, hash=False)
    parameters: Mapping[str, int] = field(default_factory=dict, hash=False)
    usual: frozenset[str] = frozenset()
    divisor: int = 1
    timeouts: Timeouts = Timeouts.USUAL
    cancellations: int = 0
    cancelled: Cancelled = Cancelled.USUAL
    loop: LoopContract = LoopContract.ASYNCIO
    is_async: bool = False
    path: str = ""
    unsupported: frozenset[str] = frozenset()

    def packages(self, further: Sequence[str]) -> tuple[str, ...]:
        """Return the packages to instrument. If parts of an imported package are named, only these parts are included.

        Args:
            further: further packages, or parts of packages.
        """
        named = dict.fromkeys((*self.instrument, *further))
        whole = (unit for unit in self.imported if not any(name.startswith(f"{unit}.") for name in named))
        return tuple(dict.fromkeys((*named, *whole)))

    def with_parameters(self, parameters: Mapping[str, int]) -> InterleavedTest:
        """Return the same test with these values of its parameters.

        Args:
            parameters: name of a parameter -> the position of its value among the values of ``parametrize``.

        Raises:
            TargetError: the parameters match no set of values of the test, or several sets.
        """
        if self.items is not None:
            self.items.index_of(parameters)
        return replace(self, parameters=parameters)

    def unusual(self, failures: Sequence[BaseException]) -> BaseException | None:
        """Return the first exception that ended a thread and is not :attr:`usual`; ``None`` if there is none."""
        return next((failure for failure in failures if error_with_place(failure) not in self.usual), None)

    def body(self, load: Load, replaced: Callable[[CodeType, CodeType], None] = lambda *_: None) -> Callable[[], Any]:
        """Return a function that calls the test once; for a method, each call creates a new object of the class.

        Args:
            load: returns modules, or private copies of modules, by name or file.
            replaced: see :func:`~.counts.divided`.
        """
        body = self._body(load)
        if self.is_async:
            return lambda: run_on_loop(body())
        if self.divisor == 1:
            return body
        module = load(self.module)

        def smaller() -> Any:
            with divided(module, self.divisor, replaced):
                return body()

        return smaller

    def _body(self, load: Load) -> Callable[[], Any]:
        if self.items is not None:
            return self.items.body(load, self.module, self.fixtures, self.parameters)
        module = load(self.module)
        holder, name = _holder_of(module, self.attribute), self.attribute.rpartition(".")[2]
        if _is_unittest(holder):
            return _of_unittest(module, holder, name)
        return getattr(module, name) if holder is module else lambda: getattr(holder(), name)()

    def clean_up(self) -> None:
        """Remove the temporary folders of the last call."""
        if self.items is not None:
            self.items.remove_folder()

    @property
    def needs_pytest(self) -> bool:
        """Whether only pytest can call the test: it takes arguments, or functions are called around it."""
        return _needs_pytest(_module_of(self.name), self.attribute)

    @property
    def is_unittest(self) -> bool:
        """Whether it is a method of a ``unittest.TestCase``."""
        return _is_unittest(_holder_of(_module_of(self.name), self.attribute))

    @property
    def divisors(self) -> list[int]:
        """The divisors for the counts of the test; see :func:`~.counts.divisors` for their order."""
        return divisors(_module_of(self.name))

    @property
    def source(self) -> str:
        """The source of the test; empty if it cannot be read."""
        return source_of(functools.reduce(getattr, self.attribute.split("."), _module_of(self.name)))

    @property
    def lines(self) -> tuple[str, int, int] | None:
        """The path of the test's file, and its first and last line; ``None`` if the source cannot be read."""
        return lines_of(functools.reduce(getattr, self.attribute.split("."), _module_of(self.name)))

    def called(self) -> Any:
        """Call the test once with real threads; if a controller is active, the controller runs its threads."""
        try:
            with nullcontext() if is_controlled() else controlled(RealThreads()):
                return self.body(_loaded)()
        finally:
            self.clean_up()


def load_test(spec: Any) -> InterleavedTest:
    """Return the test with the name ``spec``.

    Raises:
        TargetError: there is no such test.
    """
    with FIRST_LOAD.begun():
        return _loaded_test(spec)


def _loaded_test(spec: Any) -> InterleavedTest:
    if not isinstance(spec, str):
        raise TargetError(
            f"{getattr(spec, '__qualname__', spec)} cannot be loaded by name: a test under the explorer is a function "
            "at the top of a module, or a method of a class there"
        )
    location, _, attribute = spec.rpartition(":")
    function = load_object(spec, wanted="function")
    if isinstance(function, type) or not callable(function):
        raise TargetError(f"{spec} is not a test: name a function, or Class.method")
    module = _module_of(spec)
    _require_no_maker(spec, function, _holder_of(module, attribute))
    named = named_packages(function, spec)
    file = Path(location).resolve() if location.endswith(".py") else None
    own = () if file is not None else (location.partition(".")[0],)
    source = Path(inspect.getsourcefile(module) or location).resolve()
    items = _items(module, attribute, source)
    fixtures = {} if items is None else items.fixture_modules(module)
    return InterleavedTest(
        spec,
        file or location,
        attribute,
        tuple(dict.fromkeys((*own, *named))),
        folder_of(location),
        _imported_packages([str(source), *(file for file in fixtures if file.endswith("conftest.py"))], own),
        items,
        fixtures,
        is_async=inspect.iscoroutinefunction(inspect.unwrap(function)),
        **getattr(function, "kcache_declares", {}),
        path=str(source),
    )


def _items(module: ModuleType, attribute: str, source: Path) -> PytestItems | None:
    """Return the builder of a test by pytest; ``None`` if the test needs nothing from pytest.

    Raises:
        TargetError: pytest is not installed or does not find the test.
    """
    needs_pytest = _needs_pytest(module, attribute)
    is_for_pytest = source.name.startswith("test") or source.stem.endswith("test")
    is_usual = "pytest" in imported_by(str(source)) or (
        is_for_pytest and any((folder / "conftest.py").is_file() for folder in source.parents)
    )
    if not (needs_pytest or is_usual):
        return None
    if importlib.util.find_spec("pytest") is not None:
        from .pytest_items import ARGUMENTS

        return _configured(module, attribute, source, (os.environ.get(ARGUMENTS), os.getcwd()))
    if needs_pytest:
        raise TargetError(
            f'{attribute} needs pytest for its arguments, but pytest is not installed: pip install "kcache[pytest]"'
        )
    return None


def _needs_pytest(module: ModuleType, attribute: str) -> bool:
    """Whether only pytest can call a test: it takes arguments, or functions are called around it."""
    owner, _, name = attribute.rpartition(".")
    holder = _holder_of(module, attribute)
    function = inspect.unwrap(inspect.getattr_static(holder, name))
    if not _is_unittest(holder) and callable(function) and required(function)[bool(owner) :]:
        return True
    places = [place for place in (module, holder) if not _is_unittest(place)]
    return any(hasattr(place, one) for place in places for one in _AROUND)


@functools.lru_cache(maxsize=1)
def _configured(module: ModuleType, attribute: str, source: Path, where: tuple[str | None, str]) -> PytestItems:  # noqa: ARG001
    """Return the builder of a test by pytest, cached: some ``conftest.py`` can be loaded only once per process."""
    from .pytest_items import PytestItems

    return PytestItems(source, attribute.split("."))


def _require_no_maker(spec: str, function: object, holder: object) -> None:
    """Refuse methods that are no tests but would fail if called as tests.

    Raises:
        TargetError: the function is a class method that creates objects, or a method of a class that needs arguments.
    """
    if inspect.ismethod(function) and not function.__name__.startswith("test"):
        raise TargetError(f"{spec} is a class method, not a test; if it creates objects of a class, add --type class")
    if not isinstance(holder, type) or _is_unittest(holder):
        return
    try:
        inspect.signature(holder).bind()
    except ValueError:  # classes in C may have no signature
        pass
    except TypeError:
        name = spec.rpartition(".")[0]
        raise TargetError(
            f"{spec} is not a test, because {holder.__name__} needs arguments; to check the class, write its "
            f"arguments: '{name}(...)'"
        ) from None


def _module_of(spec: str) -> ModuleType:
    module = loaded_module(spec)
    assert module is not None
    return module


def _loaded(module: str | Path) -> ModuleType:
    """Return a module of this process; it is loaded only if it is not yet imported."""
    imported = sys.modules.get(name_of_file(module) if isinstance(module, Path) else module)
    return imported if imported is not None else load_module(module)


def _holder_of(module: ModuleType, attribute: str) -> Any:
    owner = attribute.rpartition(".")[0]
    return functools.reduce(getattr, owner.split("."), module) if owner else module


def _is_unittest(holder: object) -> bool:
    return isinstance(holder, type) and issubclass(holder, unittest.TestCase)


def _of_unittest(module: ModuleType, holder: Any, name: str) -> Callable[[], Any]:
    """Return a function that runs a method of a ``TestCase`` with setup and cleanup, and raises its errors."""

    def call() -> None:
        with ExitStack() as stack:
            getattr(module, "setUpModule", _nothing)()
            _afterwards(stack, getattr(module, "tearDownModule", _nothing))
            holder.setUpClass()
            if getattr(holder, "_class_cleanups", ()):  # otherwise it would set an attribute of the class
                _afterwards(stack, holder.doClassCleanups)
            _afterwards(stack, holder.tearDownClass)
            holder(name).debug()

    return call


def _nothing() -> None:
    """Do nothing, in place of a function that a module does not have."""


def _afterwards(stack: ExitStack, callback: Callable[[], object]) -> None:
    """Call ``callback`` when a test has passed or failed, but not when the explorer aborts its execution."""

    def leave(kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or issubclass(kind, Exception):
            callback()

    stack.push(leave)


def _imported_packages(files: Sequence[str], own: tuple[str, ...]) -> tuple[str, ...]:
    """Return the packages in Python that ``files`` import, without ``own``: a test imports the packages it checks."""
    names = {name for file in files for name in imported_by(file)}
    units = {unit_of(name, lambda name: name.partition(".")[0] in own) for name in names}
    return tuple(sorted(unit for unit in units if unit and (own_kind(unit) is Kind.PLAIN or looks_into(unit))))
