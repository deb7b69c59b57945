"""Loader of targets: from the name of a target to its factory."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from kcache_model.errors import TargetError
from kcache_model.outcomes import error_text
from kcache_model.suggestion import did_you_mean
from kcache_model.target_name import target_name

from .import_paths import import_paths, is_found_here, path_from_here
from .recorded_imports import are_recorded

TARGET_PREFIX = "kcache_target_"
"""Prefix of the names of modules that were loaded from a file: a target in queue.py must not replace the module
``queue`` of the standard library."""

ADDED_TO_PATH: set[str] = set()
"""Folders that loading a target added to the import path of this process; other processes add their own."""

_LOADED: dict[str, tuple[ModuleType, Path, bytes]] = {}
"""Module name -> module loaded from a file, with its file and text. While the file is unchanged, the module is not
loaded again, so that a model and the target share their classes."""


def load_object(spec: str, *, wanted: str = "factory") -> object:
    """Return the object named ``pkg.mod:name`` or ``path/to/file.py:name``; ``wanted`` is its role in messages.

    Raises:
        TargetError: the object does not exist; the message says what to do.
    """
    named = target_name(spec)
    location, name = named.location, named.attribute
    if not location or not name:
        raise TargetError(f'"{spec}" is not a target; write package.module:{wanted} or path/to/file.py:{wanted}')
    module = load_module(Path(location) if location.endswith(".py") else location)
    obj: object = module
    for part in name.split("."):
        try:
            obj = getattr(obj, part)
        except AttributeError:
            raise TargetError(f"{location} has no {name}{_suggestion(part, obj)}") from None
    return named.applied(obj)


def named_packages(factory: object, spec: str) -> tuple[str, ...]:
    """Return the packages in ``kcache_instrument`` of the factory, of its module, and of the module in ``spec``."""
    packages: list[str] = []
    for declares in (factory, sys.modules.get(getattr(factory, "__module__", None) or ""), loaded_module(spec)):
        named = getattr(declares, "kcache_instrument", ())
        packages += [named] if isinstance(named, str) else named
    return tuple(dict.fromkeys(packages))


def loaded_module(spec: str) -> ModuleType | None:
    """Return the module in a target's name; ``None`` if it has not been loaded."""
    location = target_name(spec).location
    return sys.modules.get(name_of_file(Path(location)) if location.endswith(".py") else location)


def name_of_file(path: Path) -> str:
    """Return the module name for a file; each folder may have a ``conftest.py``, so its name includes the depth."""
    stem = path.stem
    return f"{TARGET_PREFIX}{stem}" + (f"_{len(path.resolve().parts)}" if stem == "conftest" else "")


def load_module(location: str | Path) -> ModuleType:
    """Return a module, imported by its name or loaded from its file.

    Raises:
        TargetError: there is no such module, or it cannot be imported.
    """
    return _load_file(location) if isinstance(location, Path) else _load_module(location)


def extend_import_path(folder: Path) -> None:
    """Add a folder and its project's import paths to the import path of this process, unless imports are recorded."""
    if are_recorded():
        return
    before = {*sys.path}
    sys.path[:] = import_paths(folder).around(sys.path, str(folder))
    ADDED_TO_PATH.update({*sys.path} - before)


def importable_spec(factory: object) -> str | None:
    """Return the name by which a process started here can load a function or a class; ``None`` if it cannot.

    The name contains the name of the module if the module can be imported from the working directory, without the
    folders that only pytest puts on the import path. Otherwise the name contains the path of the file.
    """
    module, name = getattr(factory, "__module__", None), getattr(factory, "__qualname__", "<")
    if module in (None, "__main__") or "<" in name or not _names(sys.modules.get(module), name, factory):
        return None
    file = _source_file(sys.modules[module])
    if file is not None and not is_found_here(module, file):
        path = path_from_here(file)
        if path is not None and not (file.parent / "__init__.py").exists():
            return f"{path}:{name}"
    if PathFinder.find_spec(module.partition(".")[0]) is not None:
        return f"{module}:{name}"
    alone = not getattr(sys.modules[module], "__package__", "")
    return f"{file}:{name}" if alone and file is not None else None


def _source_file(module: ModuleType) -> Path | None:
    try:
        file = inspect.getsourcefile(module)
    except TypeError:  # it is built in
        return None
    return Path(file) if file is not None and file.endswith(".py") else None


def _names(module: object, qualname: str, factory: object) -> bool:
    obj = module
    for part in qualname.split("."):
        obj = getattr(obj, part, None)
    return obj is factory


def _load_module(name: str) -> ModuleType:
    extend_import_path(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise TargetError(
                f"there is no module {name}; run kcache in the folder of the module, install the module, or name "
                f"a file: path/to/file.py:factory{did_you_mean(name, _names_in(Path.cwd()))}"
            ) from None
        raise _import_failed(name) from error
    except TargetError:
        raise
    except (Exception, SystemExit) as error:
        raise _import_failed(name) from error


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        here = "" if path.is_absolute() else "; the path is relative to the current directory"
        raise TargetError(f"there is no file {path}{here}{did_you_mean(path.name, _names_in(path.parent, '.py'))}")
    extend_import_path(path.resolve().parent)
    name = name_of_file(path)
    contents = (path.resolve(), path.read_bytes())
    module, *loaded = _LOADED.get(name, (None,))
    if module is not None and sys.modules.get(name) is module and (*loaded,) == contents:
        return module
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except TargetError:
        raise
    except (Exception, SystemExit) as error:
        raise _import_failed(str(path)) from error
    _LOADED[name] = (module, *contents)
    return module


def _names_in(folder: Path, suffix: str = "") -> list[str]:
    """Return the names of the modules in a folder, each followed by ``suffix``."""
    try:
        return [file.stem + suffix for file in folder.iterdir() if file.suffix in (".py", suffix)]
    except OSError:
        return []


def _import_failed(name: str) -> TargetError:
    error = sys.exc_info()[1]
    assert error is not None
    places = [place for place in traceback.extract_tb(error.__traceback__) if not place.filename.startswith("<frozen")]
    where = f" ({places[-1].filename}:{places[-1].lineno})" if places else ""
    return TargetError(f"importing {name} failed: {error_text(error)}{where}. Correct the import first")


def _suggestion(name: str, module: object) -> str:
    names = [known for known in dir(module) if callable(getattr(module, known, None)) and not known.startswith("_")]
    suggestion = did_you_mean(name, names)
    if suggestion:
        return suggestion
    return f"; it has {', '.join(names[:8])}" if names else ""
