"""Bytecodes through ``sys.monitoring``: a third of the price of a trace function, and all threads are reached.

The first start of each function is looked at, in any file; those of the implementation have their bytecodes counted
from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import CodeType
from typing import Any

from .source import Listener, Places, is_implementation

if sys.version_info >= (3, 12):
    _monitoring = sys.monitoring

    _TOOLS = (4, 3, 5, 1, 0, 2)
    """Numbers of tools, unreserved ones first. Hypothesis takes 3 or none."""

    def free_tool() -> int | None:
        """Return the number of a tool that is not in use; ``None`` if all are in use."""
        return next((tool for tool in _TOOLS if _monitoring.get_tool(tool) is None), None)

    class MonitoringSource:
        """Reports the bytecodes of all threads.

        Args:
            tool: number of a free tool.
            listener: told of places.
        """

        def __init__(self, tool: int, listener: Listener) -> None:
            self._tool = tool
            self._listener = listener
            self._codes: list[CodeType] = []
            self._places: dict[int, Places] = {}
            self._is_on = False
            self._counts = False
            all_places, due = self._places, listener.due

            def instruction(code: CodeType, offset: int) -> Any:
                places = all_places[id(code)]
                remaining = places[offset]
                if remaining == 0:
                    return _monitoring.DISABLE
                if self._counts:
                    if remaining > 1:
                        places[offset] = remaining - 1
                    else:
                        due(places, offset)
                return None

            _monitoring.use_tool_id(tool, "kcache noise")
            _monitoring.register_callback(tool, _monitoring.events.INSTRUCTION, instruction)
            _monitoring.register_callback(tool, _monitoring.events.PY_START, self._start)
            _monitoring.restart_events()  # an earlier source has seen these functions, this one has not
            _monitoring.set_events(tool, _monitoring.events.PY_START)

        def reach_new_threads(self) -> AbstractContextManager[None]:
            """Do nothing: monitoring reaches new threads anyway."""
            return nullcontext()

        @contextmanager
        def everywhere(self) -> Iterator[None]:
            """Report all threads, including running ones. Events stay on, because switching them costs more."""
            self._turn(on=True)
            self._counts = True
            try:
                yield
            finally:
                self._counts = False

        def nowhere(self) -> None:
            """Report no thread."""
            self._turn(on=False)

        def here(self) -> AbstractContextManager[None]:
            """Do nothing: all threads include the calling one."""
            return nullcontext()

        def close(self) -> None:
            """Give the tool back."""
            _monitoring.set_events(self._tool, 0)
            self._turn(on=False)
            _monitoring.free_tool_id(self._tool)
            self._codes.clear()

        def _turn(self, *, on: bool) -> None:
            # Function by function: to switch an event for all code makes the interpreter look at all code again.
            if on == self._is_on:
                return
            self._is_on = on
            for code in self._codes:
                self._count(code)

        def _start(self, code: CodeType, _offset: int) -> Any:
            if is_implementation(code.co_filename, with_library=self._listener.with_library):
                self._places[id(code)] = self._listener.places(code)
                self._codes.append(code)
                self._count(code)
            return _monitoring.DISABLE

        def _count(self, code: CodeType) -> None:
            _monitoring.set_local_events(self._tool, code, _monitoring.events.INSTRUCTION if self._is_on else 0)
