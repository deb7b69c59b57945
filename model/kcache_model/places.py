"""Places in the target: where an exception came from."""

from __future__ import annotations

import functools
import os
import sysconfig
from pathlib import Path
from types import TracebackType
from typing import Final, TypeAlias

Frames: TypeAlias = tuple[tuple[str, int, str], ...]
"""(file, line, function)."""

_HARNESS: Final = ("kcache_model", "kcache_stress", "kcache_conformance")


def place_of(error: BaseException) -> str:
    """``FILE:LINE in FUNCTION``: the last frame that is neither the harness' nor the standard library's.

    Empty if there is none. Time is linear in the depth of the stack.
    """
    return place_in(frames_of(error))


def frames_of(error: BaseException) -> Frames:
    """Where an exception passed, the raising frame last: no library is called, for an explorer would watch that."""
    found = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        found.append((code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    return tuple(found)


def place_in(frames: Frames) -> str:
    """As :func:`place_of`, of what :func:`frames_of` returned."""
    for path, line, name in reversed(frames):
        if is_of_target(path):
            return f"{short_path(path)}:{line} in {name}"
    return ""


@functools.lru_cache(maxsize=4096)
def file_name(path: str) -> str:
    """The last part of a path; of those that many packages have, ``__init__.py`` and its like, with the folder."""
    # Asked for while frames are watched: code of pathlib would be watched, too, without an end.
    folder, name = os.path.split(path)
    return f"{os.path.basename(folder)}/{name}" if folder and name.startswith("__") else name


@functools.lru_cache(maxsize=4096)
def is_of_target(path: str) -> bool:
    """Whether a file is neither the harness' nor the standard library's."""
    if path.startswith("<"):
        return False
    parts = Path(path).parts
    if any(name in parts for name in _HARNESS):
        return False
    return "site-packages" in parts or not path.startswith(_library())


def short_path(path: str) -> str:
    """The path relative to the current directory where it lies below; editors can open it either way."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


@functools.cache
def _library() -> str:
    return sysconfig.get_paths()["stdlib"]
