"""Suspended coroutines: where they wait."""

from __future__ import annotations

import os
from types import FrameType
from typing import Any

from .places import file_name


def innermost_frame(coroutine: Any) -> FrameType | None:
    """Return the frame in which a suspended coroutine waits, outside of asyncio; ``None`` if it is not suspended."""
    innermost: FrameType | None = None
    while coroutine is not None:
        frame = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "ag_frame", None)
        if frame is not None and f"{os.sep}asyncio{os.sep}" not in frame.f_code.co_filename:
            innermost = frame
        coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "ag_await", None)
    return innermost


def suspended_at(coroutine: Any) -> str:
    """Return ``FILE:LINE`` of the place at which a suspended coroutine waits; empty if it is not suspended."""
    frame = innermost_frame(coroutine)
    return "" if frame is None else f"{file_name(frame.f_code.co_filename)}:{frame.f_lineno}"
