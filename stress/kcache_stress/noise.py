"""Preemption noise: makes threads give way in the middle of the implementation's code.

Left alone, threads of a short program rarely meet: the interpreter switches after some tens of microseconds, a call
takes one. So in noisy rounds a trace function, set for the threads of the harness and those that the implementation
starts, lets a thread sleep for a moment before a bytecode of the implementation, at random. Nothing of the
implementation is changed, and what it does under noise it may do without.

Edelstein et al.: Framework for testing multi-threaded Java programs (ConTest, 2003).
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from .stacks import is_harness

_NAP_SECONDS = 1e-6
"""Long enough to give up the processor; the operating system makes some 50 microseconds of it."""

_LIBRARY = (str(Path(threading.__file__).resolve().parent), "<frozen", "<string>")


class Noise:
    """Decides when threads nap.

    Args:
        seed: of the random decisions. Threads draw from one generator, so a seed does not fix a schedule.
        rate: probability of a nap before one bytecode.
    """

    def __init__(self, seed: int, rate: float) -> None:
        self.rate = rate
        self._random = random.Random(seed).random
        self._traced: dict[str, bool] = {}

    def trace(self, frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        """The trace function of a thread: follows only frames of the implementation."""
        filename = frame.f_code.co_filename
        traced = self._traced.get(filename)
        if traced is None:
            traced = self._traced[filename] = _is_implementation(filename)
        if not traced:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, _frame: FrameType, event: str, _arg: Any) -> Callable[..., Any]:
        if event == "opcode" and self._random() < self.rate:
            time.sleep(_NAP_SECONDS)
        return self._step

    @contextmanager
    def in_new_threads(self) -> Iterator[None]:
        """Threads started meanwhile are traced too."""
        before = threading.gettrace()
        threading.settrace(self.trace)
        try:
            yield
        finally:
            threading.settrace(before)

    @contextmanager
    def here(self) -> Iterator[None]:
        """The calling thread is traced meanwhile."""
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            yield
        finally:
            sys.settrace(before)


def _is_implementation(filename: str) -> bool:
    """Whether code of the file belongs to the implementation: not to the harness, not to the standard library."""
    if filename.startswith(_LIBRARY) and "site-packages" not in filename:
        return False
    return not is_harness(filename)
