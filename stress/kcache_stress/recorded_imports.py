"""Imports of the process in which pytest runs a test, recorded for the process that explores the test.

Both processes must load the same files, even if ``PYTHONPATH``, a ``conftest.py`` or an option changes the import path.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final

from kcache_model.errors import TargetError
from kcache_model.foreign import own_attributes
from kcache_model.places import short_path

from .import_paths import path_from_here

PYTHON: Final = ""
"""Placeholder in a recorded import path for the entries of Python itself: its library and installed packages."""

_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_SUFFIXES: Final = (".py", *EXTENSION_SUFFIXES)
_NOT_RECORDED: Final = frozenset({"__main__", "conftest"})
"""Modules that are not recorded. Each folder may have a ``conftest``: pytest loads all of them under that name."""

_recorded: dict[str, str] | None = None


def record_import_path(path: Iterable[object]) -> tuple[str, ...]:
    """Return an import path in a form that a process in the same folder can restore on any machine, in order.

    Args:
        path: ``sys.path``, current or saved. Folders of the project become relative to the working directory.
    """
    recorded: list[str] = []
    for entry in dict.fromkeys(os.path.abspath(entry) for entry in path if isinstance(entry, str)):
        if not _is_of_python(entry):
            recorded.append(path_from_here(Path(entry)) or entry)
        elif PYTHON not in recorded:
            recorded.append(PYTHON)
        elif recorded[-1] != PYTHON:
            recorded.append(entry)
    return tuple(recorded)


def record_module_files(harness: Iterable[str]) -> dict[str, str]:
    """Return the file of each module that this process has loaded, outside the standard library.

    Modules in the folder of their package are left out, because the import of the package determines their files.

    Args:
        harness: packages that are left out as well.
    """
    left_out = {*harness, *_NOT_RECORDED}
    modules = {name: _file_of(name, module) for name, module in list(sys.modules.items())}
    return {
        name: file
        for name, file in modules.items()
        if file
        and name.partition(".")[0] not in left_out
        and not _is_of_library(file)
        and not _lies_in_package(file, modules.get(name.rpartition(".")[0]) or "")
    }


def use_imports(path: Sequence[str], files: Mapping[str, str]) -> None:
    """Import from now on as the recorded process did; targets do not extend the import path any more.

    Args:
        path: the result of :func:`record_import_path` in the recorded process.
        files: the result of :func:`record_module_files` in the recorded process.
    """
    global _recorded
    named = {os.path.abspath(entry) for entry in path if entry}
    own = [entry for entry in sys.path if _is_of_python(entry) and entry not in named]
    sys.path[:] = [one for entry in path for one in (own if entry == PYTHON else [os.path.abspath(entry)])]
    _recorded = dict(files)
    sys.meta_path.insert(0, _RecordedFinder(_recorded))
    importlib.invalidate_caches()


def are_recorded() -> bool:
    """Whether this process imports as a recorded process did."""
    return _recorded is not None


def require_recorded_files() -> None:
    """Require that all modules of this process come from the recorded files.

    Raises:
        TargetError: a module was loaded from another file.
    """
    for name, file in (_recorded or {}).items():
        here = _file_of(name, sys.modules.get(name))
        if here and not _is_same(here, file):
            raise TargetError(
                f"pytest has loaded {name} from {short_path(file)}, but the explorer has loaded it from "
                f"{short_path(here)}, so it would explore different code"
            )


class _RecordedFinder:
    """Finder of recorded modules, for the cases in which the import path leads to another file or to no file.

    Args:
        files: module name -> file.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the spec of the recorded file; ``None`` if the import path leads to it, or the module is unknown."""
        file = self._files.get(name)
        if file is None or not os.path.isfile(file):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None and _is_same(spec.origin, file):
            return None
        return importlib.util.spec_from_file_location(name, file)


def _file_of(name: str, module: object) -> str:
    """Return the file of a module; empty if it has no file, or is registered under a name other than its own."""
    names = own_attributes(module)
    file, spec = names.get("__file__"), names.get("__spec__")
    is_own = isinstance(spec, ModuleSpec) and spec.name == name
    return os.path.abspath(file) if is_own and isinstance(file, str) and file.endswith(_SUFFIXES) else ""


def _lies_in_package(file: str, package: str) -> bool:
    folder = os.path.dirname(file)
    home = os.path.dirname(folder) if os.path.basename(file).startswith("__init__.") else folder
    return os.path.basename(package).startswith("__init__.") and home == os.path.dirname(package)


def _is_of_python(entry: str) -> bool:
    is_zip = os.path.basename(entry) == f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    return is_zip or bool(_INSTALLED & {*Path(entry).parts}) or _is_of_library(entry)


def _is_of_library(file: str) -> bool:
    path = Path(file)
    library = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
    return not _INSTALLED & {*path.parts} and any(path.is_relative_to(folder) for folder in library)


def _is_same(file: str, other: str) -> bool:
    return file == other or os.path.realpath(file) == os.path.realpath(other)
