"""Place in the user's code that a stack comes from."""

from __future__ import annotations

import linecache
import os
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Final

from kcache_model.places import file_name

from ...stacks import OWN_FILES, is_harness

_LIBRARY: Final = os.path.dirname(os.__file__)


def where(frame: FrameType | None) -> str:
    """Return ``file:line in function`` of the innermost frame outside of the explorer and the standard library.

    If the harness called no such frame, return the innermost frame of the standard library; empty if there is none.
    """
    first = ""
    while frame is not None:  # without `traceback`: calls of it by threads of an execution would be events
        path = frame.f_code.co_filename
        if not path.startswith(OWN_FILES):
            if is_harness(path):
                break  # it has made the call
            place = f"{file_name(path)}:{frame.f_lineno} in {frame.f_code.co_name}"
            if not path.startswith(_LIBRARY) or "site-packages" in path:
                return place
            first = first or place
        frame = frame.f_back
    return first


def place_of(frames: Iterable[tuple[FrameType, int]]) -> tuple[str, str]:
    """Return the first line outside of the explorer and ``threading``: its place, and its source text."""
    for frame, line in frames:
        file = frame.f_code.co_filename
        if not file.startswith(OWN_FILES) and file != threading.__file__:
            return f"{file_name(file)}:{line} in {frame.f_code.co_name}", linecache.getline(file, line).strip()
    return "threading", ""
