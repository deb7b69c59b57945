"""Cache on disk for facts and code of modules: reading an entry takes a small part of the time of creating it.

The key of an entry contains everything that it depends on: the source and its path, the facts, Python, and the sources
of the explorer. Entries are code that will run, as in ``__pycache__``, so only the user may be able to write to the
folder. ``KCACHE_CODE`` sets another folder; ``KCACHE_CODE=0`` disables the cache.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import marshal
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_SOURCES: Final = tuple(
    Path(__file__).parents[1] / folder for folder in ("engine", "instrument", "knowledge", "modules", "runtime")
)
"""Folders with the sources that rewrite code, and that rewritten code calls."""
_VERSIONS_KEPT: Final = 3
"""Maximum number of versions of explorer and Python: several are in use at a time, and users do not clean up."""
_ENTRIES_KEPT: Final = 3000
_DIGEST_BYTES: Final = 32


def kept(key: tuple[object, ...], make: Callable[[], Any]) -> Any:
    """Return the entry of a key; if there is none, create it with ``make()`` and store it for all processes.

    Args:
        key: texts, numbers, and tuples of these, which identify the entry.
        make: creates the entry: code, or any object that ``marshal`` can write.
    """
    folder = _folder(os.environ.get("KCACHE_CODE", ""))
    if folder is None:
        return make()
    file = folder / hashlib.sha256(repr(key).encode()).hexdigest()
    try:
        return _read(file)
    except (OSError, ValueError, EOFError, TypeError):
        made = make()
        with contextlib.suppress(OSError):
            _make_room(folder)
            _write(file, made)
        return made


@functools.cache
def _make_room(folder: Path) -> None:
    """Remove old entries: once in each process that adds entries, as most processes only read them."""
    _clear(folder, _ENTRIES_KEPT)


def digest(source: bytes) -> str:
    """Return a short text that represents a source in a key."""
    return hashlib.sha256(source).hexdigest()


def _read(file: Path) -> Any:
    data = file.read_bytes()
    if hashlib.sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:
        raise ValueError(f"{file} is damaged")  # marshal itself may crash on it
    return marshal.loads(data[_DIGEST_BYTES:])


def _write(file: Path, made: Any) -> None:
    data = marshal.dumps(made)
    descriptor, name = tempfile.mkstemp(dir=file.parent)
    with open(descriptor, "wb") as written:
        written.write(hashlib.sha256(data).digest() + data)
    os.replace(name, file)


@functools.lru_cache(maxsize=4)
def _folder(asked: str) -> Path | None:
    """Return the folder with the entries for this explorer and this Python; None if entries cannot be stored."""
    if asked == "0":
        return None
    try:
        home = Path(asked or os.path.join(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "kcache", "code"))
        folder = home.absolute() / _version()
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True)
            _clear(home, _VERSIONS_KEPT)
        if hasattr(os, "getuid") and (folder.stat().st_uid != os.getuid() or folder.stat().st_mode & 0o022):
            return None
        return folder
    except (OSError, RuntimeError):  # there is no home, or nothing can be written there
        return None


def _version() -> str:
    """Return a digest of the version of Python, and of the sources of the explorer by size and time.

    Python compares its own compiled files in the same way; to read the sources takes longer than to read most entries.
    """
    found = hashlib.sha256(f"{sys.version} {sys.flags.optimize}".encode())
    files = (file for folder in _SOURCES for suffix in ("py", "toml") for file in folder.rglob(f"*.{suffix}"))
    for file in sorted(files):
        status = file.stat()
        found.update(f"{file} {status.st_size} {status.st_mtime_ns}".encode())
    return found.hexdigest()[:16]


def _clear(folder: Path, most: int) -> None:
    """If a folder has more than ``most`` entries, remove all but the newest ``most // 2`` (at least one)."""
    entries = list(folder.iterdir())
    if len(entries) <= most:
        return
    for entry in sorted(entries, key=lambda entry: entry.stat().st_mtime)[: -max(1, most // 2)]:
        with contextlib.suppress(OSError):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
