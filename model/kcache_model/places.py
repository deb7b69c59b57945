"""Places in the target that raised an exception."""

from __future__ import annotations

import functools
import os
import sysconfig
from types import TracebackType
from typing import Final, TypeAlias

Frames: TypeAlias = tuple[tuple[str, int, str], ...]
"""(file, line, function) of each frame."""

_HARNESS: Final = ("kcache_model", "kcache_stress", "kcache_conformance")
_LIBRARY: Final = sysconfig.get_paths()["stdlib"]

# These functions run in threads that the explorer watches: it would take code of os.path or pathlib for code of the
# target that it cannot see. Therefore paths are compared as texts.


def place_of(error: BaseException) -> str:
    """Return ``FILE:LINE in FUNCTION`` of the last frame outside the harness and the standard library.

    The text is empty if there is no such frame. Time is linear in the depth of the stack.
    """
    return place_in(frames_of(error))


def frames_of(error: BaseException) -> Frames:
    """Return the frames of a traceback, the raising frame last; call no library, because the explorer would see it."""
    frames = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append((code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    return tuple(frames)


def place_in(frames: Frames) -> str:
    """Return the place as :func:`place_of` does, from the frames that :func:`frames_of` returned."""
    for path, line, name in reversed(frames):
        if is_of_target(path):
            return f"{short_path(path)}:{line} in {name}"
    return ""


@functools.lru_cache(maxsize=4096)
def file_name(path: str) -> str:
    """Return the last part of a path; for names such as ``__init__.py``, which many packages have, with the folder."""
    folder, _, name = path.rpartition(os.sep)
    return f"{folder.rpartition(os.sep)[2]}/{name}" if folder and name.startswith("__") else name


@functools.lru_cache(maxsize=4096)
def is_of_target(path: str) -> bool:
    """Whether a file belongs neither to the harness nor to the standard library."""
    if path.startswith("<"):
        return False
    parts = path.split(os.sep)
    if any(name in parts for name in _HARNESS):
        return False
    return "site-packages" in parts or not path.startswith(_LIBRARY)


def short_path(path: str) -> str:
    """Return the path relative to the current directory if it is below, else unchanged; editors can open both."""
    return path.removeprefix(os.getcwd() + os.sep)
