"""Places in the target: where an exception came from."""

from __future__ import annotations

import functools
import os
import sysconfig
from types import TracebackType
from typing import Final, TypeAlias

Frames: TypeAlias = tuple[tuple[str, int, str], ...]
"""(file, line, function)."""

_HARNESS: Final = ("kcache_model", "kcache_stress", "kcache_conformance")
_LIBRARY: Final = sysconfig.get_paths()["stdlib"]

# Places are asked for in threads that the explorer watches: code of os.path or pathlib that ran there would count as
# code of the target that is not seen. Therefore paths are compared as texts.


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
    folder, _, name = path.rpartition(os.sep)
    return f"{folder.rpartition(os.sep)[2]}/{name}" if folder and name.startswith("__") else name


@functools.lru_cache(maxsize=4096)
def is_of_target(path: str) -> bool:
    """Whether a file is neither the harness' nor the standard library's."""
    if path.startswith("<"):
        return False
    parts = path.split(os.sep)
    if any(name in parts for name in _HARNESS):
        return False
    return "site-packages" in parts or not path.startswith(_LIBRARY)


def short_path(path: str) -> str:
    """The path relative to the current directory where it lies below; editors can open it either way."""
    return path.removeprefix(os.getcwd() + os.sep)
