"""Stacks of the threads of this process, without the frames of the harness."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import traceback
from collections.abc import Collection
from pathlib import Path
from types import FrameType

import kcache_model

_STRESS = Path(__file__).parent
OWN_FILES = f"{_STRESS}{os.sep}"
"""Prefix of the file names of this package, which runs threads and contains the explorer."""
_HARNESS = tuple(
    f"{form}{os.sep}"
    for folder in (
        _STRESS,
        Path(kcache_model.__file__).parent,
        _STRESS.parent / "kcache_conformance",
        _STRESS.parents[1] / "stateful_tests" / "kcache_conformance",
    )
    for form in {folder, folder.resolve()}
)
"""Folders of the harness, when installed and in a checkout, both as imported and with symbolic links resolved."""

_PLUMBING = (threading.__file__, "<frozen")
_HYPOTHESIS = f"{os.sep}site-packages{os.sep}hypothesis{os.sep}"
"""Folder of Hypothesis, which runs the state machines: its frames are outside all frames of a target."""

_DEEPEST_FRAMES = 8
_MOST_PLACES = 12
_OWN_REFERENCES = 3
"""Reference count of a frame's dictionary if no ``locals()`` result refers to it."""


def is_harness(filename: str) -> bool:
    """Whether code of the file belongs to the harness."""
    return filename.startswith(_HARNESS)


def variables_of(frame: FrameType) -> dict[str, object]:
    """Return a copy of the variables of a frame, so that the frame keeps no extra reference to their values.

    Until Python 3.12, ``f_locals`` fills a dictionary of the frame, which would keep a value alive after its variable
    is gone. The dictionary is cleared unless other code refers to it.
    """
    variables = frame.f_locals
    copied = dict(variables)
    is_kept = sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    if is_kept and sys.getrefcount(variables) <= _OWN_REFERENCES:
        variables.clear()
    return copied


def stacks(first: Collection[int | None] = ()) -> str:
    """Return a paragraph for each place where other threads run code outside the harness, idents in ``first`` first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sorted(sys._current_frames().items(), key=lambda entry: (entry[0] not in first, entry[0]))
    names_at: dict[str, list[str]] = {}  # some targets leave hundreds of threads behind, all at one place
    for ident, frame in frames:
        lines = _lines(frame)
        if ident != threading.get_ident() and lines:
            names_at.setdefault("\n".join(lines), []).append(names.get(ident, f"thread {ident}"))
    parts = [f"{_together(threads)}:\n{place}" for place, threads in names_at.items()]
    omitted = len(parts) - _MOST_PLACES
    return "\n".join([*parts[:_MOST_PLACES], *([f"and {omitted} more places"] if omitted > 0 else [])])


def _together(threads: list[str]) -> str:
    return threads[0] if len(threads) == 1 else f"{threads[0]} and {len(threads) - 1} more"


def _lines(frame: FrameType) -> list[str]:
    lines: list[str] = []
    for entry in traceback.extract_stack(frame):
        is_plumbing = entry.filename.startswith(_PLUMBING) or _HYPOTHESIS in entry.filename
        if is_harness(entry.filename) or (is_plumbing and not lines):
            continue
        lines += traceback.format_list([entry])[0].rstrip().splitlines()
    return lines[-2 * _DEEPEST_FRAMES :]
