"""Loaders of the modules of a sandbox: instrumented copies, plain copies, and modules of the process."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kcache_model.errors import CannotExploreError
from kcache_model.foreign import own_attributes
from kcache_model.outcomes import error_text

from ..instrument.names import HOOK_MARK
from ..loading import name_of_file
from ..runtime.threads.library import no_process_hooks, settle_module
from ..runtime.threads.user_place import place_of
from ..runtime.threads.virtual_thread import UncontrolledError
from .private_packages import find

if TYPE_CHECKING:
    from .sandbox import Sandbox


class Finder(importlib.abc.MetaPathFinder):
    """Finder of private copies; every other module is imported as if there were no sandbox."""

    def __init__(self, home: Sandbox) -> None:
        self._home = home

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module; ``None`` if there is no such module."""
        home = self._home
        if not home.is_loading:
            module = home.imported_late(name)
            return self._shared(name) if module is None else importlib.machinery.ModuleSpec(name, _Ready(module))
        module = home.ready(name)
        if module is not None:
            return importlib.machinery.ModuleSpec(name, _Ready(module))
        package = name.rpartition(".")[0]
        parent = sys.modules.get(package)
        # Also true if the parent is a copy that code has stored under another name.
        is_part = not home.owned.is_private(package) and home.is_copy(parent)
        if not is_part and not home.owned.is_instrumented(name) and not home.owned.is_virtual(name):
            return self._shared(name)
        spec = self._real_spec(name, path, target)
        if spec is None or spec.origin is None:
            return spec
        if not spec.origin.endswith(".py"):
            home.opaque.append(name)
            return self._shared(name)  # an extension module in C is initialised once per process
        is_instrumented = HOOK_MARK in own_attributes(parent) if is_part else home.owned.is_instrumented(name)
        loader = InstrumentingLoader if is_instrumented else _PlainLoader
        spec.loader = loader(name, spec.origin, home)
        return spec

    def _shared(self, name: str) -> importlib.machinery.ModuleSpec | None:
        with self._home.outside():
            real = find(name)
        if real is None and name not in sys.modules:
            return None
        loader = _Shared(name, self._home)
        spec = importlib.machinery.ModuleSpec(name, loader, origin=None if real is None else real.origin)
        spec.submodule_search_locations = None if real is None else real.submodule_search_locations
        return spec

    def _real_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


class _Ready(importlib.abc.Loader):
    """Loader that returns an existing module and does not change it."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:  # noqa: ARG002
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _Shared(_Ready):
    """Loader that returns the module of the process, and imports it only when the sandbox imports it."""

    def __init__(self, name: str, home: Sandbox) -> None:
        self._name, self._home = name, home

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        with self._home.outside():
            self._module = importlib.import_module(self._name)
        self._spec = self._module.__spec__
        return super().create_module(spec)


class InstrumentingLoader(importlib.machinery.SourceFileLoader):
    """Loader that instruments the source of a module; it neither reads nor writes cached bytecode."""

    def __init__(self, name: str, path: str, home: Sandbox) -> None:
        super().__init__(name, path)
        self._home = home

    def get_code(self, fullname: str) -> Any:
        """Return the instrumented code."""
        path = self.get_filename(fullname)
        with self._home.outside():  # the instrumentation may import real modules; their copies may be half loaded
            return self._home.compile(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module."""
        self._home.prepare(module, instrumented=True)
        code = self.get_code(module.__name__)
        with self._home.late.loading(self.name):
            exec(code, module.__dict__)
        settle_module(module, instrumented=True)


class _PlainLoader(importlib.machinery.SourceFileLoader):
    """Loader that does not instrument a module and uses cached bytecode; its imports find the virtual modules."""

    def __init__(self, name: str, path: str, home: Sandbox) -> None:
        super().__init__(name, path)
        self._home = home

    def exec_module(self, module: ModuleType) -> None:
        self._home.prepare(module, instrumented=False)
        with no_process_hooks(), self._home.late.loading(self.name):
            super().exec_module(module)
        settle_module(module, instrumented=False)


def load_file(path: Path, home: Sandbox) -> ModuleType:
    """Return the private copy of a module by its file; the module cannot be imported by name."""
    name = name_of_file(path)
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    spec = importlib.util.spec_from_file_location(name, path, loader=InstrumentingLoader(name, str(path), home))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


class LoadedOnceError(CannotExploreError):
    """The modules raised an exception when they were loaded a second time."""


def refusal(error: BaseException) -> CannotExploreError:
    """Return the refusal of modules that raised ``error`` when they were loaded: some can be loaded only once."""
    if isinstance(error, UncontrolledError):
        return CannotExploreError(str(error))
    place, _ = place_of(reversed([*traceback.walk_tb(error.__traceback__)]))
    return LoadedOnceError(
        f"its modules cannot be loaded a second time for the explorer: {error_text(error)} ({place})"
    )
