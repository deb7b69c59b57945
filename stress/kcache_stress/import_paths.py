"""Import paths of a project: the folders of its modules and test helpers, in addition to installed packages.

pytest determines these folders from its option ``pythonpath`` and from the folders with a ``conftest.py``. Commands
that run without pytest use the same folders, so that a target name printed by one command works in another.
"""

from __future__ import annotations

import configparser
import functools
import os
import shlex
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, Final

_OWN_TOML: Final = ("pytest.toml", ".pytest.toml")
"""Files that configure pytest 9 even if they are empty; they take precedence over all other files."""

_ROOT_MARKS: Final = (
    *_OWN_TOML,
    *("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py", ".git"),
)
"""Files that mark the root folder of a project; pytest reads no configuration above that folder."""

_INI_SECTIONS: Final = {
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}
_WITHOUT_SECTION: Final = ("pytest.ini", ".pytest.ini")
"""Files that configure pytest even if they have no section for it."""


@dataclass(frozen=True)
class ImportPaths:
    """Folders from which a project imports.

    Attributes:
        configured: the folders in pytest's ``pythonpath``; they precede installed packages, as in pytest.
        usual: the folders with a ``conftest.py``, ``src``, and the project root; they follow installed packages.
    """

    configured: tuple[str, ...]
    usual: tuple[str, ...]

    def around(self, path: list[str], *first: str) -> list[str]:
        """Return an import path with these folders added, without duplicates.

        Args:
            path: the import path to extend.
            first: folders that precede all others.
        """
        return list(dict.fromkeys([*first, *self.configured, *path, *self.usual]))


def project_root(folder: Path) -> Path | None:
    """Return the nearest folder, this one or one above it, that is the root of a project; ``None`` if none is."""
    return next((one for one in (folder, *folder.parents) if any((one / mark).exists() for mark in _ROOT_MARKS)), None)


def import_paths(folder: Path) -> ImportPaths:
    """Return the import paths of the project to which the modules of a folder belong.

    Args:
        folder: an absolute path.
    """
    here = Path.cwd()
    root = project_root(folder) or (here if folder.is_relative_to(here) else folder)
    own = [one for one in (folder, *folder.parents) if one.is_relative_to(root)]
    with_conftest = [one for one in own if (one / "conftest.py").is_file() and not (one / "__init__.py").exists()]
    usual = (*with_conftest, *(one for one in (root / "src",) if one.is_dir()), root)
    return ImportPaths(tuple(map(str, _configured(folder))), tuple(map(str, usual)))


def file_of_module(module: str, folder: Path | None = None) -> str | None:
    """Return the file of a module without importing its packages; ``None`` if there is no such module.

    Args:
        module: the full name of the module.
        folder: the folder of the module that imports it; by default the working directory.
    """
    return _file_of(module, sys.path, folder)


def is_found_here(module: str, file: Path) -> bool:
    """Whether a command in the working directory imports a module from ``file``, without the paths that pytest adds.

    Args:
        module: the full name of the module.
        file: the file of the module.
    """
    named = {str(Path(path).resolve()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path}
    lasting = [path for path in sys.path if path in named or path_from_here(Path(path)) is None]
    located = _file_of(module, lasting)
    return located is not None and Path(located).resolve() == file.resolve()


def path_from_here(file: Path) -> str | None:
    """Return the path of a file of this project relative to the working directory; ``None`` for all other files."""
    here, file = Path.cwd(), file.resolve()
    is_installed = "site-packages" in file.parts or file.is_relative_to(sysconfig.get_path("stdlib"))
    if is_installed or not file.is_relative_to(project_root(here) or here):
        return None
    return Path(os.path.relpath(file, here)).as_posix()


def _file_of(module: str, path: list[str], folder: Path | None = None) -> str | None:
    def step(previous: tuple[ModuleSpec | None, list[str]], part: str) -> tuple[ModuleSpec | None, list[str]]:
        spec = PathFinder.find_spec(part, previous[1]) if previous[1] else None
        return spec, list(spec.submodule_search_locations or ()) if spec is not None else []

    here = folder or Path.cwd()
    start: tuple[ModuleSpec | None, list[str]] = None, import_paths(here).around(path, str(here))
    try:
        spec, _ = functools.reduce(step, module.split("."), start)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin


def _configured(folder: Path) -> Iterator[Path]:
    """Yield the folders in ``pythonpath`` of the nearest configuration of pytest."""
    for home in (folder, *folder.parents):
        options = _options_of_pytest(home)
        if options is not None:
            value = options.get("pythonpath") or ()
            for path in shlex.split(value) if isinstance(value, str) else value:
                yield Path(os.path.normpath(home / str(path)))
            return


def _options_of_pytest(home: Path) -> dict[str, Any] | None:
    """Return the pytest options of a folder; ``None`` if it does not configure pytest, or its file is unreadable."""
    own = next((home / name for name in _OWN_TOML if (home / name).is_file()), None)
    if own is not None:
        return dict(_toml(own).get("pytest", {}))
    for name, section in _INI_SECTIONS.items():
        if (home / name).is_file():
            options = _section(home / name, section)
            if options is not None or name in _WITHOUT_SECTION:
                return options or {}
        if name == ".pytest.ini" and (home / "pyproject.toml").is_file():
            tool = _toml(home / "pyproject.toml").get("tool", {}).get("pytest")
            if tool is not None:
                return dict(tool.get("ini_options", tool))
    return None


def _section(file: Path, section: str) -> dict[str, Any] | None:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(file.read_text(encoding="utf-8"))
    except (configparser.Error, UnicodeDecodeError, OSError):
        return None
    return dict(parser[section]) if parser.has_section(section) else None


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError):
        return {}
