"""Bytecodes through a trace function, if ``sys.monitoring`` is missing or in use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import CodeType, FrameType
from typing import Any

from .source import Listener, Places, is_implementation


class TracingSource:
    """Reports the bytecodes of threads that ask for it, and of threads that they start.

    Args:
        listener: told of places.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._traced: dict[str, bool] = {}
        self._places: dict[CodeType, Places] = {}

    def everywhere(self) -> AbstractContextManager[None]:
        """Trace threads that start meanwhile, for good."""
        return self.reach_new_threads()

    @contextmanager
    def reach_new_threads(self) -> Iterator[None]:
        """Trace threads that start meanwhile, for good."""
        before = threading.gettrace()
        threading.settrace(self._trace)
        try:
            yield
        finally:
            threading.settrace(before)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Trace the calling thread."""
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)

    def nowhere(self) -> None:
        """Do nothing: threads of the implementation stay traced."""

    def close(self) -> None:
        """Do nothing: a trace function needs no resource."""

    def _trace(self, frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        filename = frame.f_code.co_filename
        traced = self._traced.get(filename)
        if traced is None:
            traced = self._traced[filename] = is_implementation(filename, with_library=self._listener.with_library)
        if not traced:
            return None
        if frame.f_code not in self._places:
            self._places[frame.f_code] = self._listener.places(frame.f_code)
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, _arg: Any) -> Callable[..., Any]:
        if event == "opcode":
            places, offset = self._places[frame.f_code], frame.f_lasti
            remaining = places[offset]
            if remaining > 1:
                places[offset] = remaining - 1
            elif remaining == 1:
                self._listener.due(places, offset)
        return self._step
