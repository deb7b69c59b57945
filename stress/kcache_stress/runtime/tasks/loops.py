"""Event loops of an execution: what virtual threads create in place of asyncio's loops."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import warnings as _warnings
from _thread import get_ident
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from kcache_model.places import file_name

from ...engine.scheduling import HUB
from ...instrument.names import HOOK_MARK
from ...knowledge.loop_code import THREAD_SAFE, is_of_asyncio, runs_loops
from ..threads.refusal import refuse
from ..threads.uncontrolled import FUTURE_BRIDGES, LOOP_ENTRIES, OTHER_LOOPS, WHY
from .cancellation import Cancellations
from .future_bridges import REAL, bridges
from .unsupported import FROM_OTHER_THREAD

if TYPE_CHECKING:
    from ..threads.scheduler import Scheduler
    from .sources import Arrival
    from .virtual_loop import VirtualLoop

warnings: Final[Any] = _warnings
NEVER_AWAITED: Final = "is called, but never awaited: what it does was not run"
_THREADS_HAVE_TASKS: Final = sys.version_info >= (3, 14)
"""Whether asyncio keeps one running task for each thread of the process, instead of one for each loop."""
_OWN_FOLDER: Final = f"{os.path.dirname(__file__)}{os.sep}"
SEVERAL_LOOPS: Final = "threads run event loops beside each other: what one does to another is not seen"
IN_ANY_ORDER: Final = "threads run beside an event loop whose callbacks run in any order: not all orders are tried"


class _Unawaited:
    """Listener to coroutines that die without being awaited.

    Attributes:
        note: called with each coroutine during an execution.
    """

    note: Callable[[Any], None] | None = None
    is_collecting = False
    """Whether the garbage collector runs: what it finds may be left over from an earlier execution."""


def _listen_to_unawaited() -> None:
    """Let Python report coroutines of executions to the execution; those that die later are not worth a warning."""
    real = warnings._warn_unawaited_coroutine
    if getattr(real, "of_kcache", False):
        return

    def report(coroutine: Any) -> None:
        if _Unawaited.note is not None:
            if not _Unawaited.is_collecting:
                _Unawaited.note(coroutine)
        elif coroutine.cr_frame is None or HOOK_MARK not in coroutine.cr_frame.f_globals:
            real(coroutine)

    def note_collection(phase: str, _: object) -> None:
        _Unawaited.is_collecting = phase == "start"

    gc.callbacks.append(note_collection)
    vars(report)["of_kcache"] = True
    warnings._warn_unawaited_coroutine = report


_WITH_ENTRIES: Final = ("asyncio.events", *OTHER_LOOPS)
"""Modules that have functions to replace, if they are imported."""


class EventLoops:
    """Context of executions, in which virtual threads get event loops that the search controls.

    ``asyncio.run``, ``asyncio.Runner``, and what is built on them (test cases, plugins of pytest, portals of threads)
    create their loops by ``new_event_loop``, so they need no support of their own. This module does not import asyncio:
    most targets do not need it.

    Args:
        scheduler: runs the threads, the clocks and the completions.
        private: returns the module of the execution with this name.

    Attributes:
        scheduler: the scheduler.
        cancellations: the cancellations of an execution.
        arrivals: what the environment has delivered to the loops of the execution, in this order.
        environment: numbers of the actors of the execution that are no threads.
        has_loops: whether a loop was ever created.
        is_any_order: whether callbacks that are ready run in any order.
        is_any_time: whether each timer may be late by any time, so that timers end in any order, too.
        is_patient: whether timers of long waits are due only when nothing else can go on.
        has_threads: whether threads ran beside a loop.
    """

    __slots__ = (
        *("_bridges", "_current", "_former", "_numbers", "_open", "_own_thread", "_present", "_private", "_replaced"),
        *("_running", "_tasks", "_threads", "_visible_thread"),
        *("arrivals", "cancellations", "environment", "has_loops", "has_threads", "is_any_order", "is_any_time"),
        *("is_patient", "scheduler"),
    )

    def __init__(self, scheduler: Scheduler, private: Callable[[str], ModuleType]) -> None:
        self.scheduler = scheduler
        self._private = private
        self._bridges: dict[str, Callable[..., Any]] = {}
        self.cancellations = Cancellations()
        self.has_loops = self.has_threads = self.is_any_order = self.is_any_time = self.is_patient = False
        self._replaced: list[tuple[Any, str, Callable[..., Any], Any]] = []
        self._present: list[ModuleType | None] = []
        self._own_thread = 0
        self._visible_thread = HUB  # the thread whose loop asyncio sees
        self._tasks: dict[int, Any] = {}  # thread -> the task that it runs, while asyncio sees another thread
        self.start_over()

    def start_over(self) -> None:
        """Forget the loops of the last execution."""
        self.cancellations = self.cancellations.renewed()
        self.arrivals: list[Arrival] = []
        self.environment: set[int] = set()
        self._numbers = 0
        self._current: dict[int, Any] = {}
        self._running: dict[int, VirtualLoop] = {}
        self._open: list[VirtualLoop] = []
        self._threads: set[int] = set()
        if self.scheduler.on_switch is not None:
            self.scheduler.on_switch = None
            self._show_running()  # none: an aborted execution may have left one
        self._visible_thread = HUB
        self._tasks.clear()

    def __enter__(self) -> None:
        modules = sys.modules
        if "asyncio.events" in modules:
            importlib.import_module("asyncio")  # an execution may have ended in the middle of its import
        present = [modules.get(name) for name in _WITH_ENTRIES]
        if present != self._present or any(vars(owner)[name] is not real for owner, name, _, real in self._replaced):
            self._present, self._replaced = present, list(self._replacements())
        self._own_thread = get_ident()
        for owner, name, replacement, _ in self._replaced:
            setattr(owner, name, replacement)
        _listen_to_unawaited()
        self._former, _Unawaited.note = _Unawaited.note, self._unawaited

    def __exit__(self, *_: object) -> None:
        for owner, name, _replacement, real in self._replaced:
            setattr(owner, name, real)
        _Unawaited.note = self._former

    def _replacements(self) -> Iterator[tuple[Any, str, Callable[..., Any], Any]]:
        """Yield the functions to replace, each with its owner, its name, its replacement and itself."""
        modules = sys.modules
        if "asyncio.events" in modules:
            for name in LOOP_ENTRIES:
                yield self._replacing(modules["asyncio"], name, getattr(self, name))
                yield self._replacing(modules["asyncio.events"], name, getattr(self, name))
                yield self._replacing(_policy(), name, self._of_policy(name))
            yield self._replacing(modules["asyncio"].BaseEventLoop, "run_forever", self._run_forever())
            for name, owner in FUTURE_BRIDGES.items():
                yield self._replacing(modules["asyncio"], name, self._bridged(name))
                yield self._replacing(modules[owner], name, self._bridged(name))
        for module, names in OTHER_LOOPS.items():
            for name in names if module in modules else ():
                yield self._replacing(modules[module], name, self._refused(f"{module}.{name}"))

    def _replacing(
        self, owner: Any, name: str, function: Callable[..., Any]
    ) -> tuple[Any, str, Callable[..., Any], Any]:
        """Return what to replace for this OS thread: in others, the loop of a specification calls the real function."""
        real = vars(owner)[name]

        def replacement(*args: Any, **named: Any) -> Any:
            return (function if get_ident() == self._own_thread else real)(*args, **named)

        vars(replacement)[REAL] = real
        return owner, name, replacement, real

    def _of_policy(self, name: str) -> Callable[..., Any]:
        """Return a method of policies in place of the one called ``name``: older plugins create loops by a policy."""
        own = getattr(self, name)
        return lambda _, *args: own(*args)

    def _run_forever(self) -> Callable[[Any], None]:
        """Return ``run_forever`` for all loops of asyncio; it refuses those that the explorer has not created."""
        real = sys.modules["asyncio"].BaseEventLoop.run_forever

        def run_forever(loop: Any) -> None:
            if not hasattr(loop, "begin_iteration"):
                kind = type(loop)
                why = f"runs a {kind.__module__}.{kind.__qualname__}: {WHY['asyncio']}"
                refuse(self.scheduler, why, sys._getframe(1))
            real(loop)

        return run_forever

    def _bridged(self, name: str) -> Callable[..., Any]:
        return lambda *args, **named: self.bridge(name)(*args, **named)

    def bridge(self, name: str) -> Callable[..., Any]:
        """Return a function that connects futures of loops with futures of threads; see :mod:`~.future_bridges`."""
        if not self._bridges:
            self._bridges.update(bridges(self._futures_of_threads()))
        return self._bridges[name]

    def _futures_of_threads(self) -> ModuleType:
        """Return the execution's copy of the package ``concurrent``; what its import does is no part of a search."""
        scheduler = self.scheduler
        before, scheduler.loading, scheduler.live = (scheduler.loading, scheduler.live), True, False
        try:
            self._private("concurrent.futures")
        finally:
            scheduler.loading, scheduler.live = before
        return self._private("concurrent")

    def converted(self, error: BaseException) -> BaseException:
        """Return the error that a future of asyncio gets: it has a type of its own for cancellations."""
        cancelled = self._futures_of_threads().futures.CancelledError
        return sys.modules["asyncio"].CancelledError(*error.args) if type(error) is cancelled else error

    def _refused(self, used: str) -> Callable[..., Any]:
        """Return a function in place of one that creates or runs a loop of another kind."""

        def refused(*_: Any, **__: Any) -> Any:
            refuse(self.scheduler, f"uses {used}: {WHY[used.partition('.')[0]]}", sys._getframe(1))

        return refused

    def _unawaited(self, coroutine: Any) -> None:
        """Record that a coroutine was never awaited: nothing is known about what it would have done."""
        code = coroutine.cr_code
        place = f"{file_name(code.co_filename)}:{code.co_firstlineno}"
        self.scheduler.proof_obstacles[f"{place}: {code.co_qualname} {NEVER_AWAITED}"] = None

    # What code calls in place of asyncio's functions.

    def new_event_loop(self) -> Any:
        """Return a new loop that the search controls."""
        if self.scheduler.current == HUB:
            self.scheduler.on_idle_start()  # a rehearsal of a test with a loop ends here
        from .event_loop import EventLoop

        self.has_loops = True
        loop = EventLoop(self)
        self._open.append(loop)
        return loop

    def set_event_loop(self, loop: Any) -> None:
        """Set the loop of the current thread."""
        self._current[self.scheduler.current] = loop

    def get_event_loop(self) -> Any:
        """Return the running loop, or the one that was set for the current thread.

        Raises:
            RuntimeError: there is none, and this version of Python creates none.
        """
        running = self.running or self._current.get(self.scheduler.current)
        if running is None:
            if sys.version_info >= (3, 14) or self.scheduler.current or self.scheduler.current in self._current:
                raise RuntimeError("There is no current event loop in this thread.")
            running = self._current[self.scheduler.current] = self.new_event_loop()
        return running

    def serves(self, code: CodeType, is_called_by_own: bool) -> bool:
        """Whether code is of asyncio or of this package, and serves the loop of the current thread, or creates loops.

        Other threads reach a loop only by ``call_soon_threadsafe``, whose effect is an event. What else they call of it
        is not seen.

        Args:
            code: the code.
            is_called_by_own: whether instrumented code has called it.
        """
        file, scheduler = code.co_filename, self.scheduler
        if file.startswith(_OWN_FOLDER):
            return True
        if file != "_asyncio" and not is_of_asyncio(file):
            return False
        if scheduler.current in self._running:
            return True
        is_creating = runs_loops(file)
        if is_called_by_own and self._running and not (is_creating and code.co_name in THREAD_SAFE):
            name = "a method of a future or a task" if file == "_asyncio" else code.co_qualname
            scheduler.proof_obstacles[f"{name} {FROM_OTHER_THREAD}"] = None
        return is_creating

    def task_of(self, thread: int) -> Any:
        """Return the task that a thread runs in its loop; ``None`` if there is none."""
        loop = self._running.get(thread)
        return None if loop is None else sys.modules["asyncio.tasks"].current_task(loop)

    # What loops report.

    @property
    def running(self) -> VirtualLoop | None:
        """The loop that the current thread runs, or is about to run."""
        return self._running.get(self.scheduler.current)

    def next_number(self) -> int:
        """Return the number of a new loop."""
        self._numbers += 1
        return self._numbers - 1

    def enter(self, loop: VirtualLoop) -> None:
        """Record that the current thread runs a loop."""
        if self._running.keys() - {self.scheduler.current} and not loop.is_served:
            self.scheduler.proof_obstacles[SEVERAL_LOOPS] = None
        self._running[self.scheduler.current] = loop
        if self.scheduler.current != HUB:
            self._threads.add(self.scheduler.current)
        self.scheduler.on_switch, self._visible_thread = self._show_running, self.scheduler.current

    def leave(self, loop: VirtualLoop) -> None:
        """Record that a loop has stopped."""
        for thread in [thread for thread, running in self._running.items() if running is loop]:
            del self._running[thread]

    def closed(self, loop: VirtualLoop) -> None:
        """Record that a loop is closed, and whether there were threads beside it."""
        if loop in self._open:
            self._open.remove(loop)
        if loop.has_run:
            self.note_threads(callers=0)

    def note_threads(self, callers: int) -> None:
        """Record whether there are threads that run no loop, beside a number of callers of a loop."""
        if self.threads_beside() > callers:
            self.has_threads = True
            if self.is_any_order:
                self.scheduler.proof_obstacles[IN_ANY_ORDER] = None

    @property
    def has_company(self) -> bool:
        """Whether there are, or were, other threads than the current one; fast, because it is asked for each callback.

        The answer must not depend on what these threads have done: else the same thread would have other events in
        another order. So threads that run loops of their own count, too.
        """
        return self.scheduler.next_number - len(self.environment) > 1

    def threads_beside(self) -> int:
        """Return the number of threads that run no loop."""
        return len(self.scheduler.actors.keys() - self._threads - self.environment)

    def close(self) -> None:
        """Close all loops that were left open, when the code that may use them has ended."""
        if self.scheduler.aborting:
            return
        for loop in list(self._open):
            if not loop.is_running():
                loop.close()

    def _show_running(self) -> None:
        """Let asyncio see the loop and the task of the thread that goes on: for asyncio, all are one thread."""
        asyncio: Any = sys.modules["asyncio"]
        thread, running = self.scheduler.current, self.running
        if _THREADS_HAVE_TASKS and (loop := asyncio._get_running_loop()) is not None:  # in older ones, a system call
            self._tasks[self._visible_thread] = asyncio.tasks._swap_current_task(loop, None)
        asyncio._set_running_loop(running)
        task, self._visible_thread = self._tasks.pop(thread, None), thread
        if task is not None and running is not None:
            asyncio.tasks._swap_current_task(running, task)


def _policy() -> Any:
    """Return the base class of policies, whose name begins with an underscore since Python 3.14."""
    names = vars(sys.modules["asyncio.events"])
    return names.get("_BaseDefaultEventLoopPolicy") or names["BaseDefaultEventLoopPolicy"]
