"""Tests that pytest sets up: fixtures, parameters and setup functions, on private copies of modules.

This process holds one session of pytest. The session collects only the explored test, from the current copies of its
modules. The test is set up again for each execution, including fixtures of wider scope: so no execution sees changes
of another execution. Hooks that pytest calls around a test are not called.

An async test is run by the plugin that runs it under pytest (pytest-asyncio, anyio): its hooks and fixtures create the
loop, which is a loop of the explorer because they call ``asyncio.new_event_loop`` during the execution. If there is no
such plugin, the test runs in a loop of its own.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import shutil
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from _pytest.config import _prepareconfig
from _pytest.fixtures import FixtureManager
from _pytest.outcomes import OutcomeException
from _pytest.runner import SetupState
from _pytest.tmpdir import TempPathFactory, tmppath_result_key

from kcache_model.errors import TargetError
from kcache_model.outcomes import error_text
from kcache_model.places import file_name

from ..instrument.names import HOOK_MARK
from ..modules.private_packages import HARNESS, find
from ..runtime.threads.uncontrolled import NOT_SCHEDULED, WHY
from ..target.scenario_runner import Load
from .given_fixtures import GIVEN
from .parametrization import fixtures_of, positions
from .running import run_on_loop

ARGUMENTS: Final = "KCACHE_PYTEST_ARGUMENTS"
"""Environment variable with the arguments of pytest, which ``kcache run pytest`` sets for its child processes."""

_OUTCOMES: Final = (OutcomeException, Exception)
"""Exceptions with which a test may end. Other exceptions abort an execution: the explorer unwinds its threads."""

_OVERRIDES: Final = ("--assert=plain", "--capture=no", "-p", "no:kcache-explorer", "-p", "no:faulthandler")
_QUIET: Final = ("-p", "no:threadexception", "-p", "no:unraisableexception")
"""Options that disable plugins which replace hooks of the process, such as ``threading.excepthook``."""

_AROUND: Final = ("_xunit_setup_", "_unittest_")
"""Prefixes of the names of pytest's own fixtures that call setUp, setup_method and similar functions of the test."""

_BACKEND: Final = "anyio_backend"
"""Parameter of tests whose loop anyio's plugin selects."""

_HAVE_FIXTURES: Final[weakref.WeakKeyDictionary[ModuleType, bool]] = weakref.WeakKeyDictionary()
"""Plugin -> whether it has fixtures. Each execution may have its own copy of a conftest.py, so the keys are weak."""

Key = str | Path
"""Name of a module, or its file if the module cannot be imported by name."""


class PytestItems:
    """Builder of one test from the current copies of its modules.

    Args:
        file: file of the test.
        names: names of the classes that contain the test, outermost first, then the name of the test.

    Raises:
        TargetError: pytest cannot be configured for this file.
    """

    def __init__(self, file: Path, names: Sequence[str]) -> None:
        self._file = file
        self._names = names
        self._module: ModuleType | None = None
        self._copies: dict[str, ModuleType] = {}
        self._items: list[pytest.Function] = []
        self._sets: list[dict[str, int]] = []
        self._active_fixtures: list[tuple[Any, Any]] = []
        self._folder = Path(tempfile.gettempdir(), f"kcache-test-{os.getpid()}")
        arguments = json.loads(os.environ.get(ARGUMENTS, "null")) or [str(file)]
        try:
            self._config = _prepareconfig([*arguments, *_OVERRIDES, *_QUIET], [_Hooks(self)])
            self._config.option.doctestmodules = self._config.option.usepdb = False
            self._config._do_configure()
            plugins = self._config.pluginmanager
            plugins.unregister(name="terminalreporter")
            logging: Any = plugins.get_plugin("logging-plugin")
            if logging is not None:
                logging.log_file_handler.close()  # only hooks of the plugin use it
        except (Exception, SystemExit) as error:
            raise TargetError(f"pytest cannot be configured for {file}: {error_text(error)}") from error
        self.session: Any = None
        modules = (plugin for plugin in plugins.get_plugins() if _runs_tests(plugin) and isinstance(plugin, ModuleType))
        # Some count their loops in global variables, and cannot close a loop if its execution is aborted.
        self._plugin_states = [(vars(module), dict(vars(module))) for module in modules]

    def collect(self, module: ModuleType, copies: Mapping[str, ModuleType]) -> list[pytest.Function]:
        """Return the items of the test, one for each set of its parameters.

        Args:
            module: module of the test, or a private copy of the module.
            copies: file of each further module with fixtures -> a private copy of that module.

        Raises:
            TargetError: pytest does not find the test.
        """
        if module is not self._module or copies != self._copies:
            self._module, self._copies = module, dict(copies)
            plugins = self._config.pluginmanager
            history: list[Any] = plugins.hook.pytest_plugin_registered._call_history or []
            for name in ("session", "funcmanage"):
                if plugins.has_plugin(name):
                    past = plugins.unregister(name=name)
                    # Otherwise, the history would keep the plugin alive for ever.
                    history[:] = [call for call in history if call[0]["plugin"] is not past]
            self.session = pytest.Session.from_config(self._config)
            self.session._setupstate = SetupState()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.session._fixturemanager = _Fixtures(self.session, self._copies)
                try:
                    nodes = self.session.perform_collect(["::".join([str(self._file), *self._names])])
                except (pytest.UsageError, *_OUTCOMES) as error:
                    self._module = None
                    raise TargetError(f"pytest does not find {'.'.join(self._names)}: {error_text(error)}") from error
            self._items = [item for item in nodes if isinstance(item, pytest.Function)]
        return self._items

    def fixture_modules(self, module: ModuleType) -> dict[str, Key]:
        """Return file -> module, for the further modules with fixtures of the test: each conftest.py, and plugins.

        Args:
            module: module of the test.

        Raises:
            TargetError: the test has an argument that is no fixture.
        """
        items = self.collect(module, {})
        self._sets = list(map(positions_of, items))
        names = {name for item in items for name in item._fixtureinfo.names_closure}
        known = {name for item in items for name in item._fixtureinfo.name2fixturedefs}
        missing = sorted(names - known - {"request"})
        if missing:
            name = ".".join(self._names)
            raise TargetError(f"{name} takes {', '.join(missing)}: pytest has no such fixture")
        used = [definitions[-1] for item in items for definitions in item._fixtureinfo.name2fixturedefs.values()]
        is_open = any("request" in item._fixtureinfo.argnames for item in items) or any(
            "request" in fixture.argnames and not _is_of_pytest(fixture) for fixture in used
        )  # request.getfixturevalue() can get any fixture by name
        plugins = (plugin for plugin in self._config.pluginmanager.get_plugins() if isinstance(plugin, ModuleType))
        return {
            _file_of(plugin): _key(plugin)
            for plugin in sorted(plugins, key=_file_of)
            if plugin.__name__.partition(".")[0] not in HARNESS
            and (_is_conftest(plugin) or not _runs_tests(plugin))  # hooks and fixtures share what the plugin stores
            and (names & fixtures_of(plugin).keys() or (is_open and _is_conftest(plugin)))
        }

    def index_of(self, parameters: Mapping[str, int]) -> int:
        """Return the index of the item with the given parameters.

        Args:
            parameters: name of a parameter -> the position of its value. Parameters that a decorator does not know may
                be missing, if one item alone matches.

        Raises:
            TargetError: no item matches, or several items match.
        """
        equal = [number for number, known in enumerate(self._sets) if known == parameters]
        fitting = [number for number, known in enumerate(self._sets) if parameters.items() <= known.items()]
        matches = equal or [number for number in fitting if not _other_backend(self._items[number])] or fitting
        if len(matches) != 1:
            raise TargetError(
                f"{'.'.join(self._names)} is parametrized: {len(matches)} of its {len(self._sets)} sets of values "
                "match; kcache run pytest explores each set"
            )
        return matches[0]

    @property
    def first_parameters(self) -> Mapping[str, int]:
        """The first set of parameters; empty if the test has none."""
        return self._sets[0] if self._sets else {}

    def body(
        self, load: Load, module: Key, modules: Mapping[str, Key], parameters: Mapping[str, int]
    ) -> Callable[[], Any]:
        """Return a function that sets up the test, calls it and tears it down.

        Args:
            load: returns modules, or private copies of modules.
            module: module of the test.
            modules: return value of :meth:`fixture_modules`.
            parameters: name of a parameter -> the position of its value.
        """
        items = self.collect(load(module), {file: load(key) for file, key in modules.items()})
        item = items[self.index_of(parameters)]
        backend = _other_backend(item)
        if backend:
            raise TargetError(f"{_place_of(item)} uses {backend}: {WHY.get(backend, NOT_SCHEDULED)}")
        factory = None
        if not {"tmp_path_factory", "request"}.isdisjoint(item._fixtureinfo.names_closure):
            self.remove_folder()
            self._folder.mkdir(mode=0o700)
            factory = TempPathFactory(self._folder, 3, "all", self._config.trace, self._folder, _ispytest=True)
        return functools.partial(self._call, _renewed(item), factory)

    def remove_folder(self) -> None:
        """Remove the temporary folders of the last execution."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _call(self, item: Any, factory: TempPathFactory | None) -> Any:
        self._config._tmp_path_factory = factory  # type: ignore[attr-defined]
        state = self.session._setupstate = SetupState()
        with self._finished_plugin_fixtures(item):
            try:
                self._prepare(item)
                state.setup(item)
                _run(item)
            except _OUTCOMES:
                with suppress(*_OUTCOMES):
                    state.teardown_exact(None)
                raise
            state.teardown_exact(None)

    def _prepare(self, item: Any) -> None:
        """Call the hooks around tests of plugins that run async tests: older ones request their loop there."""
        if not inspect.iscoroutinefunction(item.function):
            return
        plugins = self._config.pluginmanager
        others = [plugin for plugin in plugins.get_plugins() if not _runs_tests(plugin)]
        plugins.subset_hook_caller("pytest_runtest_setup", others)(item=item)

    @contextmanager
    def _finished_plugin_fixtures(self, item: Any) -> Iterator[None]:
        """Context that finishes fixtures of plugins if the execution is aborted; the test's own stay unfinished."""
        is_over = False
        try:
            yield
            is_over = True
        except _OUTCOMES:
            is_over = True
            raise
        finally:
            for fixture, request in () if is_over else reversed(self._active_fixtures):
                if not _is_of_test(fixture):
                    with suppress(BaseException):
                        fixture.finish(request)
                fixture._finalizers.clear()
                fixture.cached_result = None
            self._active_fixtures.clear()
            item.funcargs.clear()  # now: otherwise the garbage collector would free them at any time
            for name in ("_request", "_instance", "_obj"):
                vars(item).pop(name, None)
            for names, before in () if is_over else self._plugin_states:
                names.update(before)

    def set_up(self, fixture: Any, request: Any) -> Generator[None, Any, Any]:
        """Record that a fixture is set up, and replace its value if :data:`~.given_fixtures.GIVEN` contains it."""
        self._active_fixtures.append((fixture, request))
        value = yield
        change = GIVEN.get(fixture.argname) if _is_of_pytest(fixture) else None
        if change is not None:
            value = change(value, self._module, fixture.addfinalizer)
            fixture.cached_result = (value, *fixture.cached_result[1:])
        return value

    def is_wanted(self, collector: Any, name: str) -> bool:
        """Whether a name in a module or class is the test, or a class that contains the test."""
        depth = len(collector.listchain()) - len(collector.getparent(pytest.Module).listchain())
        return self._names[depth] == name

    @property
    def module(self) -> ModuleType:
        """The module, or the private copy, from which the test is collected."""
        assert self._module is not None
        return self._module


class _Hooks:
    """Hooks that let pytest collect one test from a loaded module."""

    def __init__(self, items: PytestItems) -> None:
        self._items = items

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: Any) -> Any:
        """Collect the loaded module instead of importing one."""
        return _Module.from_parent(parent, path=module_path, loaded=self._items.module)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: Any) -> Any:
        """Collect the test, whatever names pytest is configured to collect, and nothing else."""
        if not self._items.is_wanted(collector, name):
            return []
        if isinstance(obj, type):
            unittest = sys.modules.get("unittest")
            is_case = unittest is not None and issubclass(obj, unittest.TestCase)
            return None if is_case else pytest.Class.from_parent(collector, name=name, obj=obj)
        return list(collector._genfunctions(name, obj))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Undo deselection and reordering by other plugins: the user has named this test."""
        collected = list(items)
        yield
        items[:] = collected

    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool | None:
        """Run an async test that no plugin runs; called before pytest itself, which would refuse the test."""
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        run_on_loop(pyfuncitem.obj(**_arguments_of(pyfuncitem)))
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        """Record the fixtures that are set up; see :meth:`PytestItems.set_up`."""
        return (yield from self._items.set_up(fixturedef, request))


class _Module(pytest.Module):
    def __init__(self, loaded: ModuleType, **known: Any) -> None:
        super().__init__(**known)
        self._loaded = loaded

    def _getobj(self) -> ModuleType:
        return self._loaded


class _Fixtures(FixtureManager):
    """Manager that registers the fixtures of private copies instead of the modules themselves."""

    def __init__(self, session: Any, copies: Mapping[str, ModuleType]) -> None:
        self._copies = copies
        super().__init__(session)

    def parsefactories(self, *places: Any, **named: Any) -> None:
        """Register the fixtures of a module, a class or a plugin."""
        if places:
            places = (self._copy(places[0]), *places[1:])
        if "holder" in named:
            named["holder"] = self._copy(named["holder"])
            if isinstance(named["holder"], ModuleType) and not _has_fixtures(named["holder"]):
                return
        super().parsefactories(*places, **named)

    def _copy(self, holder: Any) -> Any:
        return self._copies.get(_file_of(holder), holder) if isinstance(holder, ModuleType) else holder


def positions_of(item: Any) -> dict[str, int]:
    """Return name of a parameter -> the position of its value, for one item; empty if it is not parametrized."""
    called = getattr(item, "callspec", None)
    return {} if called is None else positions(called.params, (item.function, item.cls, item.module), called.indices)


def arguments_of(config: pytest.Config) -> str:
    """Return the arguments that pytest was called with, as JSON for the variable :data:`ARGUMENTS`."""
    worker = getattr(config, "workerinput", None)
    return json.dumps(worker["mainargv"][1:] if worker is not None else list(config.invocation_params.args))


def _renewed(item: Any) -> Any:
    """Return a new item for the same test, without state of earlier executions."""
    known = {"name": item.name, "fixtureinfo": item._fixtureinfo, "originalname": item.originalname}
    renewed = type(item).from_parent(item.parent, callspec=getattr(item, "callspec", None), **known)
    renewed.own_markers[:] = item.own_markers  # plugins have added some
    renewed.stash[tmppath_result_key] = {}
    return renewed


def _run(item: Any) -> None:
    if hasattr(item, "addSuccess"):  # of a TestCase
        item.instance.debug()
        return
    if inspect.iscoroutinefunction(item.function):
        item.runtest()
        return
    run_on_loop(item.obj(**_arguments_of(item)))


def _arguments_of(item: Any) -> dict[str, Any]:
    return {name: item.funcargs[name] for name in item._fixtureinfo.argnames}


def _runs_tests(plugin: object) -> bool:
    """Whether a plugin runs tests in place of pytest, as those for async tests do."""
    name = getattr(plugin, "__name__", "_pytest")
    return hasattr(plugin, "pytest_pyfunc_call") and not name.startswith("_pytest")


def _other_backend(item: Any) -> str:
    """Return the package whose loop anyio's plugin runs a test in; empty if it is asyncio or unknown."""
    called = getattr(item, "callspec", None)
    backend = None if called is None else called.params.get(_BACKEND)
    name = backend[0] if isinstance(backend, tuple) else backend
    return name if isinstance(name, str) and name != "asyncio" else ""


def _place_of(item: Any) -> str:
    code = inspect.unwrap(item.function).__code__
    return f"{file_name(code.co_filename)}:{code.co_firstlineno} in {item.originalname}"


def _has_fixtures(plugin: ModuleType) -> bool:
    """Whether a plugin has fixtures. Few of dozens of plugins have any, and parsing all of them takes time."""
    if plugin not in _HAVE_FIXTURES:
        _HAVE_FIXTURES[plugin] = bool(fixtures_of(plugin))
    return _HAVE_FIXTURES[plugin]


def _is_of_pytest(fixture: Any) -> bool:
    return str(fixture.func.__module__).startswith("_pytest.")


def _is_of_test(fixture: Any) -> bool:
    """Whether a fixture runs instrumented code: an aborted execution leaves such a fixture unfinished."""
    names = getattr(inspect.unwrap(fixture.func), "__globals__", {})
    return fixture.argname.startswith(_AROUND) or HOOK_MARK in names


def _is_conftest(module: ModuleType) -> bool:
    return _file_of(module).endswith("conftest.py")


def _file_of(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None))


def _key(module: ModuleType) -> Key:
    file = getattr(module, "__file__", None)
    spec = find(module.__name__)
    return module.__name__ if file is None or (spec is not None and spec.origin == file) else Path(file)
