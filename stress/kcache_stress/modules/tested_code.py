"""Version and file of the code under test, as this process has loaded it."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, DistributionFinder, MetadataPathFinder
from pathlib import Path
from typing import Any, Final

from kcache_model.foreign import own_attributes
from kcache_model.places import short_path

from ..import_paths import path_from_here
from ..loading import TARGET_PREFIX, loaded_module
from .private_packages import HARNESS, imported_by

_MOST_IMPORTED: Final = 4
"""Number of packages that one file imports and that are named; more would make the line too long to read."""


def describe_tested(target: str | Callable[..., Any]) -> str:
    """Return version and file of a target that is loaded: ``jinja2 3.1.6, /path/jinja2/__init__.py``.

    A module of the user's project is often a test or an adapter, so the packages that it imports are named, too.

    Args:
        target: name of the target, or the function or class that creates it.

    Returns:
        The text; empty if the target belongs to no module.
    """
    module = loaded_module(target) if isinstance(target, str) else None
    name = module.__name__ if module is not None else str(getattr(target, "__module__", None) or "")
    file = _file_of(name)
    top = name.partition(".")[0]
    is_named_by_path = name.startswith(TARGET_PREFIX)
    is_of_project = file is not None and top not in HARNESS and path_from_here(Path(file)) is not None
    if file is None or not (is_named_by_path or is_of_project):
        return _described(name)
    own = short_path(file) if is_named_by_path else _described(name)
    imported = {other.partition(".")[0] for other in imported_by(file)} - {top} - HARNESS - sys.stdlib_module_names
    named = [text for text in map(_described, sorted(imported)) if text]
    more = f"; {len(named) - _MOST_IMPORTED} more" if len(named) > _MOST_IMPORTED else ""
    return f"{own}; it imports {'; '.join(named[:_MOST_IMPORTED])}{more}" if named else own


def _described(name: str) -> str:
    """Return name, version and file of the package that a module belongs to; empty if it is not loaded."""
    parts = name.split(".")
    packages = [".".join(parts[: length + 1]) for length in range(len(parts))]
    package = next((one for one in packages if _file_of(one) is not None), parts[0])  # a namespace has no file
    if package not in sys.modules:
        return ""
    file = _file_of(package)
    version = _version_of(package, file)
    return f"{package}{version and ' '}{version}, {'built in' if file is None else short_path(file)}"


def _file_of(name: str) -> str | None:
    file = _attribute(name, "__file__")
    return file if isinstance(file, str) else None


def _attribute(module: str, name: str) -> object:
    """Return an attribute of a loaded module; ``__getattr__`` of modules that load lazily is not called."""
    return own_attributes(sys.modules.get(module)).get(name)


def _version_of(package: str, file: str | None) -> str:
    """Return the version of a package; empty if it has none.

    The metadata must lie beside the package: ``PYTHONPATH`` may name another version than the one that is installed.
    """
    top = package.partition(".")[0]
    if top in sys.stdlib_module_names:
        return platform.python_version()
    if file is None:
        return ""
    depth = package.count(".") + Path(file).name.startswith("__init__.")
    folder = str(Path(file).parents[depth])
    for distribution in _distributions(folder, top):
        if _provides(distribution, top, if_unknown=True):
            return distribution.version
    own = _attribute(package, "__version__")
    if isinstance(own, str):
        return own
    return next(
        (
            distribution.version
            for distribution in _distributions(folder)
            if _provides(distribution, top, if_unknown=False)
        ),
        "",
    )


def _distributions(folder: str, name: str | None = None) -> Iterator[Distribution]:
    yield from MetadataPathFinder.find_distributions(DistributionFinder.Context(name=name, path=[folder]))


def _provides(distribution: Distribution, top: str, *, if_unknown: bool) -> bool:
    """Whether the files of a distribution include a top-level module."""
    listed, record = distribution.read_text("top_level.txt"), distribution.read_text("RECORD")
    if listed is None and record is None:
        return if_unknown
    return top in (listed or "").split() or re.search(rf"^{re.escape(top)}[/.]", record or "", re.MULTILINE) is not None
