"""The tasks, timers and event loops of a test, from the setup of its fixtures to their teardown."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any, Final

_SCHEDULING: Final = ("create_task", "call_at")
"""Methods of asyncio's loops by which code creates tasks and timers."""

_OTHER_LOOPS: Final = {"trio": ("run",), "trio.lowlevel": ("start_guest_run",)}
"""Module -> its functions that run a loop of another kind."""

_CONNECTING: Final = frozenset({"socket.bind", "socket.connect", "socket.sendto"})
"""Audit events of sockets: a loop that uses one has callbacks beside the test."""

_RUNNING: Final = asyncio.BaseEventLoop.run_forever.__code__


@dataclass
class LoopUse:
    """Use of event loops by the current test.

    Attributes:
        tasks: not 0 if the test or its fixtures create tasks or timers, or use sockets, while a loop runs. The task in
            which a loop runs the test, and those of a plugin that runs tests, do not count. Tasks of a loop that is
            not asyncio's own cannot be seen: that loop counts itself.
        obstacle: the loop that the explorer cannot replace; empty if there is none.
    """

    tasks: int = 0
    obstacle: str = ""
    _files: frozenset[str] = frozenset()
    _replaced: list[tuple[Any, str, Any]] = field(default_factory=list)
    _modules: frozenset[str] = frozenset()

    def begin(self, item: Any) -> None:
        """Reset the counts before a test."""
        self.tasks, self.obstacle, self._files = 0, "", frozenset(_files_of(item))
        self._modules = frozenset(sys.modules)

    def finish(self) -> None:
        """Record a loop whose package was imported in the test: its functions were not yet replaced."""
        if "trio" in sys.modules and "trio" not in self._modules and not self.tasks:
            self._meet("trio")

    def watch(self) -> None:
        """Replace the functions that create tasks, timers and loops."""
        for name in _SCHEDULING:
            self._replace(asyncio.BaseEventLoop, name, self._counted)
        self._replace(asyncio.Runner, "_lazy_init", self._checked)
        for module, names in _OTHER_LOOPS.items():
            for name in names if module in sys.modules else ():
                self._replace(sys.modules[module], name, self._noted)

    def stop(self) -> None:
        """Restore the replaced functions."""
        while self._replaced:
            setattr(*self._replaced.pop())

    def hear(self, event: str) -> None:
        """Handle an audit event: a connection counts as a task, if a loop runs."""
        if event in _CONNECTING and asyncio._get_running_loop() is not None:
            self.tasks += 1

    def _replace(self, owner: Any, name: str, wrapped: Callable[[Any], Any]) -> None:
        real = getattr(owner, name)
        self._replaced.append((owner, name, real))
        setattr(owner, name, functools.wraps(real)(wrapped(real)))

    def _counted(self, real: Any) -> Any:
        def call(loop: Any, *args: Any, **named: Any) -> Any:
            if not self.tasks and self._is_of_test(sys._getframe(1)):
                self.tasks += 1
            return real(loop, *args, **named)

        return call

    def _checked(self, real: Any) -> Any:
        def call(runner: Any) -> None:
            real(runner)
            if not isinstance(runner._loop, asyncio.BaseEventLoop):
                self.tasks += 1

        return call

    def _noted(self, real: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            self._meet("trio")
            return real(*args, **named)

        return call

    def _meet(self, kind: str) -> None:
        self.obstacle = self.obstacle or f"it runs in a loop of {kind}, which cannot be scheduled"

    def _is_of_test(self, frame: FrameType | None) -> bool:
        """Whether code of the test runs in a loop and has called, or runs the loop that code of others runs in."""
        is_test = is_in_loop = False
        while frame is not None and not (is_test and is_in_loop):
            is_test = is_test or frame.f_code.co_filename in self._files
            is_in_loop = is_in_loop or frame.f_code is _RUNNING
            frame = frame.f_back
        return is_test and is_in_loop


def _files_of(item: Any) -> Iterator[str]:
    """Yield the files with code of a test, of its class and of its fixtures."""
    function = getattr(item, "function", None)
    fixtures = getattr(item, "_fixtureinfo", None)
    used = [] if fixtures is None else [known.func for each in fixtures.name2fixturedefs.values() for known in each]
    for each in (function, *used):
        code = getattr(inspect.unwrap(each), "__code__", None) if each is not None else None
        if code is not None:
            yield code.co_filename
    modules = (sys.modules.get(kind.__module__) for kind in (getattr(item, "cls", None) or object).__mro__)
    yield from (str(module.__file__) for module in modules if isinstance(module, ModuleType) and _has_file(module))


def _has_file(module: ModuleType) -> bool:
    return getattr(module, "__file__", None) is not None
