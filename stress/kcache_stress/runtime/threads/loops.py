"""Loops: detection of the innermost loop that a thread is in, from its frames and their bytecode."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Final, NamedTuple

from ...stacks import is_harness

_MOST_FRAMES: Final = 20
"""Number of innermost frames that are inspected: a polling loop is near the top, and stacks may be deep."""


def caller_of(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame, from ``frame`` outwards, that does not belong to the harness."""
    while frame is not None and is_harness(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_of_library(frame: FrameType) -> bool:
    """Whether a frame runs code of the standard library."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] in sys.stdlib_module_names


def own_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of a thread, innermost first, without frames of the harness and of the standard library."""
    for _ in range(_MOST_FRAMES):
        frame = caller_of(frame)
        if frame is None:
            return
        if not is_of_library(frame):
            yield frame
        frame = frame.f_back


def is_in_while(frame: FrameType | None) -> bool:
    """Whether the innermost loop that a thread is in is a ``while`` loop. A ``for`` loop ends by itself."""
    loop = _innermost_loop(frame)
    return loop is not None and not loop[1].is_for


def is_at_condition(frame: FrameType) -> bool:
    """Whether a thread is at the condition of its innermost loop: the first line of a ``while`` loop."""
    loop = _innermost_loop(frame)
    return loop is not None and not loop[1].is_for and loop[0].f_lineno == loop[1].line


def _innermost_loop(frame: FrameType | None) -> tuple[FrameType, _Loop] | None:
    for outer in own_frames(frame):
        loops = [loop for loop in _loops(outer.f_code) if loop.begin <= outer.f_lasti <= loop.end]
        if loops:
            return outer, max(loops, key=lambda loop: loop.begin)
    return None


class _Loop(NamedTuple):
    """A loop: the offsets of the jump target and of the jump back, and the first line."""

    begin: int
    end: int
    is_for: bool
    line: int


@functools.lru_cache(1_000)
def _loops(code: CodeType) -> tuple[_Loop, ...]:
    by_offset = {i.offset: i for i in dis.get_instructions(code)}
    back = [(i.argval, i.offset) for i in by_offset.values() if "JUMP" in i.opname and i.argval < i.offset]
    lines = [(first, line) for first, _, line in code.co_lines() if line is not None]
    return tuple(
        _Loop(begin, end, by_offset[begin].opname == "FOR_ITER", min(line for at, line in lines if begin <= at <= end))
        for begin, end in back
        if begin in by_offset
    )
