"""The threads, processes and tasks that a test starts, from the setup of its fixtures to their teardown."""

from __future__ import annotations

import _thread
import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final

from .pytest_loops import LoopUse

_PROCESSES: Final = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
_THREADS: Final = ("_thread.start_new_thread", "_thread.start_joinable_thread")
_SHARED: Final = {
    "os.chdir": "changes the working directory, which all threads share",
    "os.kill": "sends a signal, which no virtual thread can receive",
}
"""Audit events that change the whole process, so that the explorer cannot attribute them to a virtual thread."""

_OWN: Final = "kcache "
"""Beginning of the names of the threads of kcache itself."""

_HAS_THREAD_EVENTS: Final = sys.version_info >= (3, 12)


@dataclass
class Started:
    """The threads and processes that the current test has started, recorded from audit events.

    Attributes:
        threads: the number of threads.
        obstacle: the first event that the explorer cannot repeat, with its line; empty if there was none.
        starts_processes: whether the test has started a process.
        failures: the exceptions that ended threads of the test, with their places.
        loops: its tasks and event loops.
    """

    threads: int = 0
    obstacle: str = ""
    starts_processes: bool = False
    failures: set[str] = field(default_factory=set)
    loops: LoopUse = field(default_factory=LoopUse)
    _is_listening: bool = False
    _fixtures: list[Any] = field(default_factory=list)
    _of_fixtures: list[tuple[Any, threading.Thread]] = field(default_factory=list)
    _always: set[threading.Thread] = field(default_factory=lambda: {*threading.enumerate()})

    def __post_init__(self) -> None:
        sys.addaudithook(self._hear)
        if not _HAS_THREAD_EVENTS:
            for module in (_thread, threading):
                for name in ("start_new_thread", "_start_new_thread"):
                    if hasattr(module, name):
                        setattr(module, name, self._heard(getattr(module, name)))

    @property
    def is_concurrent(self) -> bool:
        """Whether the test has more than one thread, process or task."""
        return bool(self.threads or self.starts_processes or self.has_tasks)

    @property
    def has_tasks(self) -> bool:
        """Whether the test has tasks or timers of an event loop."""
        return bool(self.loops.tasks or self.loops.obstacle)

    def begin(self, item: Any) -> None:
        """Reset the counts before the next test; keep the live threads of fixtures."""
        self.loops.begin(item)
        self.threads, self.obstacle, self.starts_processes, self.failures = 0, "", False, set()
        self._of_fixtures = [(fixture, thread) for fixture, thread in self._of_fixtures if thread.is_alive()]

    @contextlib.contextmanager
    def listening(self, fixture: Any = None) -> Iterator[None]:
        """Count threads and processes that are started while the context is entered.

        Args:
            fixture: the fixture of pytest that is being set up; ``None`` for the test itself. During the set-up of a
                fixture, events count only if an outer context of the test is entered as well.
        """
        before, self._is_listening = self._is_listening, self._is_listening or fixture is None
        self._fixtures.append(fixture)
        if self._is_listening and not before:
            self.loops.watch()
        try:
            yield
        finally:
            self._fixtures.pop()
            if self._is_listening and not before:
                self.loops.stop()
            self._is_listening = before

    @contextlib.contextmanager
    def hearing_failures(self) -> Iterator[None]:
        """Record each exception that ends a thread while the context is entered, then call the previous hook."""
        before = threading.excepthook

        def heard(failed: Any) -> None:
            if failed.exc_value is not None:
                from kcache_stress.interleaved.texts import error_with_place

                self.failures.add(error_with_place(failed.exc_value))
            before(failed)

        threading.excepthook = heard
        try:
            yield
        finally:
            if threading.excepthook is heard:
                threading.excepthook = before

    def count_wider(self, item: Any) -> None:
        """Count the live threads of the test's fixtures, which an earlier test may have set up, as the test's own."""
        used = [known for fixtures in item._fixtureinfo.name2fixturedefs.values() for known in fixtures]
        self.threads += sum(thread.is_alive() and fixture in used for fixture, thread in self._of_fixtures)

    def others(self) -> list[threading.Thread]:
        """Return the live threads except the current thread, those that ran before the first test, and kcache's own.

        The reader of a child that explored the last test may end a moment after the child.
        """
        known = {threading.current_thread(), *self._always}
        running = (thread for thread in threading.enumerate() if thread not in known)
        return [thread for thread in running if not thread.name.startswith(_OWN)]

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Handle an audit event of any thread."""
        if not self._is_listening:
            return
        if event in _THREADS:
            self.threads += 1
            thread = getattr(arguments[0], "__self__", None)
            fixture = next(iter(self._fixtures[-1:]), None)
            if fixture is not None and isinstance(thread, threading.Thread):
                self._of_fixtures.append((fixture, thread))
        elif event in _PROCESSES:
            self.starts_processes = True
            self._meet("starts a process, which cannot be scheduled")
        elif event in _SHARED:
            self._meet(_SHARED[event])
        else:
            self.loops.hear(event)

    def _meet(self, what: str) -> None:
        if not self.obstacle:
            from kcache_stress.runtime.threads.refusal import where

            frame: FrameType | None = sys._getframe(2)
            while frame is not None and frame.f_globals.get("__name__", "").startswith("_pytest."):
                frame = frame.f_back
            self.obstacle = f"{where(frame)} {what}"

    def _heard(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def start(*arguments: Any, **named: Any) -> Any:
            self._hear(_THREADS[0], arguments)
            return real(*arguments, **named)

        return start
