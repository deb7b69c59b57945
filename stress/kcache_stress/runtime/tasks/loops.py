"""Event loops of an execution: what virtual threads create in place of asyncio's loops."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...engine.scheduling import HUB
from ..threads.refusal import refuse
from ..threads.uncontrolled import LOOP_ENTRIES, OTHER_LOOPS, WHY
from .cancellation import Cancellations

if TYPE_CHECKING:
    from ..threads.scheduler import Scheduler
    from .event_loop import EventLoop

THREADS_BESIDE_A_LOOP: Final = "an async test starts threads: what they share with callbacks is not seen"


class EventLoops:
    """Context of executions, in which virtual threads get event loops that the search controls.

    ``asyncio.run``, ``asyncio.Runner``, and what is built on them (test cases, plugins of pytest, portals of threads)
    create their loops by ``new_event_loop``, so they need no support of their own. This module does not import asyncio:
    most targets do not need it.

    Args:
        scheduler: runs the threads, the clocks and the completions.

    Attributes:
        scheduler: the scheduler.
        cancellations: the cancellations of an execution.
        environment: numbers of the actors of the execution that are no threads.
        has_loops: whether a loop was ever created.
        has_threads: whether threads ran beside a loop.
    """

    __slots__ = (
        *("_current", "_open", "_real", "_replaced", "_running", "_threads"),
        *("cancellations", "environment", "has_threads", "scheduler", "has_loops"),
    )

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.cancellations = Cancellations()
        self.has_loops = self.has_threads = False
        self._real: dict[str, Any] = {}
        self._replaced: list[tuple[Any, str, Any]] = []
        self.start_over()

    def start_over(self) -> None:
        """Forget the loops of the last execution."""
        self.cancellations = self.cancellations.renewed()
        self.environment: set[int] = set()
        self._current: dict[int, Any] = {}
        self._running: dict[int, EventLoop] = {}
        self._open: list[EventLoop] = []
        self._threads: set[int] = set()
        self.scheduler.on_switch = None

    def __enter__(self) -> None:
        modules = sys.modules
        if "asyncio.events" in modules:
            self._real = {name: getattr(modules["asyncio.events"], name) for name in LOOP_ENTRIES}
            for name in LOOP_ENTRIES:
                self._replace(modules["asyncio"], name, getattr(self, name))
                self._replace(modules["asyncio.events"], name, getattr(self, name))
                self._replace(_policy(), name, self._of_policy(name))
            self._replace(modules["asyncio"].BaseEventLoop, "run_forever", self._run_forever())
        for module, names in OTHER_LOOPS.items():
            for name in names if module in modules else ():
                self._replace(modules[module], name, self._refused(getattr(modules[module], name), f"{module}.{name}"))

    def __exit__(self, *_: object) -> None:
        while self._replaced:
            setattr(*self._replaced.pop())

    def _replace(self, owner: Any, name: str, value: object) -> None:
        self._replaced.append((owner, name, vars(owner)[name]))
        setattr(owner, name, value)

    def _of_policy(self, name: str) -> Callable[..., Any]:
        """Return a method of policies in place of the one called ``name``: older plugins create loops by a policy."""
        real = vars(_policy())[name]
        own = getattr(self, name)
        return lambda policy, *args: own(*args) if self._is_controlled else real(policy, *args)

    def _run_forever(self) -> Callable[[Any], None]:
        """Return ``run_forever`` for all loops of asyncio; it refuses those that the explorer has not created."""
        real = sys.modules["asyncio"].BaseEventLoop.run_forever

        def run_forever(loop: Any) -> None:
            if self._is_controlled and loop not in self._open:
                kind = type(loop)
                why = f"runs a {kind.__module__}.{kind.__qualname__}: {WHY['asyncio']}"
                refuse(self.scheduler, why, sys._getframe(1))
            real(loop)

        return run_forever

    def _refused(self, real: Any, used: str) -> Callable[..., Any]:
        """Return a function in place of ``real``, which creates or runs a loop of another kind."""

        def refused(*args: Any, **named: Any) -> Any:
            if self._is_controlled:
                refuse(self.scheduler, f"uses {used}: {WHY[used.partition('.')[0]]}", sys._getframe(1))
            return real(*args, **named)

        return refused

    @property
    def _is_controlled(self) -> bool:
        return self.scheduler.live and self.scheduler.current != HUB

    # What code calls in place of asyncio's functions.

    def new_event_loop(self) -> Any:
        """Return a new loop: a controlled one for a virtual thread."""
        if not self._is_controlled:
            self.scheduler.on_idle_start()  # a rehearsal of a test with a loop ends here
            return self._real["new_event_loop"]()
        from .event_loop import EventLoop

        self.has_loops = True
        loop = EventLoop(self)
        self._open.append(loop)
        return loop

    def set_event_loop(self, loop: Any) -> None:
        """Set the loop of the current thread."""
        if self._is_controlled:
            self._current[self.scheduler.current] = loop
        else:
            self._real["set_event_loop"](loop)

    def get_event_loop(self) -> Any:
        """Return the running loop, or the one that was set for the current thread.

        Raises:
            RuntimeError: there is none, and this version of Python creates none.
        """
        if not self._is_controlled:
            return self._real["get_event_loop"]()
        running = self.running or self._current.get(self.scheduler.current)
        if running is None:
            if sys.version_info >= (3, 14) or self.scheduler.current or self.scheduler.current in self._current:
                raise RuntimeError("There is no current event loop in this thread.")
            running = self._current[self.scheduler.current] = self.new_event_loop()
        return running

    # What loops report.

    @property
    def running(self) -> EventLoop | None:
        """The loop that the current thread runs, or is about to run."""
        return self._running.get(self.scheduler.current)

    def enter(self, loop: EventLoop) -> None:
        """Record that the current thread runs a loop."""
        self._running[self.scheduler.current] = loop
        self._threads.add(self.scheduler.current)
        self.scheduler.on_switch = self._show_running

    def leave(self, loop: EventLoop) -> None:
        """Record that a loop has stopped."""
        for thread in [thread for thread, running in self._running.items() if running is loop]:
            del self._running[thread]

    def closed(self, loop: EventLoop) -> None:
        """Record that a loop is closed, and whether there were threads beside it."""
        if loop in self._open:
            self._open.remove(loop)
        if loop.has_run and len(self.scheduler.actors) > len(self._threads | self.environment):
            self.has_threads = True
            self.scheduler.proof_obstacles[THREADS_BESIDE_A_LOOP] = None

    def close(self) -> None:
        """Close all loops that were left open, when the code that may use them has ended."""
        if self.scheduler.aborting:
            return
        for loop in list(self._open):
            if not loop.is_running():
                loop.close()

    def _show_running(self) -> None:
        """Let asyncio see the loop of the thread that goes on: for asyncio, all virtual threads are one thread."""
        asyncio: Any = sys.modules["asyncio.events"]
        asyncio._set_running_loop(self.running)


def _policy() -> Any:
    """Return the base class of policies, whose name begins with an underscore since Python 3.14."""
    names = vars(sys.modules["asyncio.events"])
    return names.get("_BaseDefaultEventLoopPolicy") or names["BaseDefaultEventLoopPolicy"]
