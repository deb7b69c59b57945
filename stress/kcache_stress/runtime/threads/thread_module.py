"""Module ``_thread`` of a virtual world: locks, thread start, identity, thread-local data."""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from ...engine.events import JOIN, QUERY, RELEASE, SPAWN, TRY
from ...engine.scheduling import HUB
from .locks import VirtualLock, VirtualRLock
from .refusal import refuse
from .scheduler import MOST_PROGRAM_THREADS, Scheduler
from .virtual_thread import Timed

_FIRST_IDENT = 1001


class ThreadHandle:
    """``_thread._ThreadHandle`` (Python 3.13): the state of one thread.

    Attributes:
        started: whether the thread has begun.
        free: whether the thread has ended.
        ident: identity of the thread; ``None`` before it has begun.
    """

    scheduler: Scheduler

    def __init__(self) -> None:
        self.started = False
        self.free = False
        self.ident: int | None = None

    def is_set(self) -> bool:
        """Whether the thread has begun. ``threading`` uses the handle as its start event, ``Thread._started``."""
        self._look()
        return self.started

    def set(self) -> None:
        """Mark a thread as begun that was not started through this handle."""
        self.started = True

    def is_done(self) -> bool:
        """Whether the thread has ended."""
        self._look()
        return self.free

    def is_running(self) -> bool:
        """Whether the thread has begun and not ended."""
        self._look()
        return self.started and not self.free

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended.

        Raises:
            RuntimeError: it has not begun.
        """
        scheduler, end = self.scheduler, _End(self)
        if timeout is not None and timeout >= 0:
            deadline = scheduler.deadline(timeout)
            if scheduler.live:
                scheduler.point_timed(self, Timed(scheduler, end, deadline))
            elif not end.free:
                scheduler.wait_idle(TRY, self, deadline)
        elif scheduler.live:
            scheduler.point(JOIN, self, end)
        elif not end.free:
            scheduler.wait_idle(JOIN, self)
        if not self.started:
            raise RuntimeError("cannot join thread before it is started")

    def spawn(
        self,
        function: Callable[[], object],
        begins: Callable[[], object] = lambda: None,
        ends: Callable[[], object] = lambda: None,
    ) -> None:
        """Start the thread.

        Args:
            function: the work of the thread.
            begins: called as part of the event that starts the thread.
            ends: called as part of the event that ends the thread.

        Raises:
            RuntimeError: the thread was started before.
            Aborted, UncontrolledError: a module starts the thread while it is imported.
        """
        scheduler = self.scheduler

        def work() -> None:
            try:
                function()
            finally:
                self._set_done()
                ends()

        if scheduler.loading:
            refuse(
                scheduler, "starts a thread while it is imported; start it when an object is created", sys._getframe(1)
            )
        if scheduler.live:
            scheduler.point(SPAWN, self, None)
        if self.started:
            raise RuntimeError("threads can only be started once")
        self.started = True
        self.ident = _ident_of(scheduler, scheduler.next_number)
        begins()
        scheduler.start(work)
        if scheduler.current == HUB:
            scheduler.settle()

    def _at_fork_reinit(self) -> None:
        """Do nothing: the thread has ended with its execution, and there is no lock to free."""

    def _look(self) -> None:
        if self.scheduler.live:
            self.scheduler.point(QUERY, self, None)

    def _set_done(self) -> None:
        if self.scheduler.live and not self.scheduler.aborting:
            self.scheduler.point(RELEASE, self, None)
        self.free = True


class _End:
    """The condition that a join waits for: the thread has ended, or has not begun (the join then raises)."""

    __slots__ = ("_handle",)

    def __init__(self, handle: ThreadHandle) -> None:
        self._handle = handle

    @property
    def free(self) -> bool:
        """Whether a waiting thread may go on."""
        return self._handle.free or not self._handle.started


def make_thread_module(scheduler: Scheduler) -> ModuleType:
    """Create the stand-in for ``_thread``; ``scheduler`` runs its threads and locks."""
    lock = type("lock", (VirtualLock,), {"scheduler": scheduler, "__slots__": (), "__module__": "_thread"})
    rlock = type("RLock", (VirtualRLock,), {"scheduler": scheduler, "__slots__": (), "__module__": "_thread"})
    handle = type("_ThreadHandle", (ThreadHandle,), {"scheduler": scheduler})

    def get_ident() -> int:
        scheduler.tells_identities |= scheduler.live
        return _ident_of(scheduler, scheduler.current)

    def start_new_thread(
        function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any] = {}
    ) -> int | None:
        return start_joinable_thread(lambda: function(*args, **kwargs)).ident

    def start_joinable_thread(
        function: Callable[[], object],
        handle: ThreadHandle | None = None,
        daemon: bool = True,  # noqa: ARG001 - nothing outlives an execution
    ) -> ThreadHandle:
        joinable: ThreadHandle = handle_type() if handle is None else handle
        joinable.spawn(function)
        return joinable

    def count() -> int:
        scheduler.proof_obstacles["reads the number of running threads, which changes without an event"] = None
        started = [thread for number, thread in scheduler.actors.items() if number >= scheduler.program_actors]
        return sum(not thread.finished for thread in started)

    def interrupt_main(signum: int = 0) -> None:  # noqa: ARG001
        refuse(scheduler, "uses _thread.interrupt_main: no signal is delivered to virtual threads", sys._getframe(1))

    def make_thread_handle(ident: int) -> ThreadHandle:
        created: ThreadHandle = handle()
        created.ident, created.started = ident, True
        return created

    handle_type = handle
    module = ModuleType("_thread")
    module.__dict__.update({name: value for name, value in vars(_thread).items() if not name.startswith("__")})
    module.__dict__.update(
        allocate_lock=lock,
        allocate=lock,
        lock=lock,
        LockType=lock,
        RLock=rlock,
        start_new_thread=start_new_thread,
        start_new=start_new_thread,
        start_joinable_thread=start_joinable_thread,
        _ThreadHandle=handle,
        _make_thread_handle=make_thread_handle,
        _set_sentinel=lock,
        _count=count,
        interrupt_main=interrupt_main,
        get_ident=get_ident,
        get_native_id=get_ident,
        _get_main_thread_ident=lambda: _FIRST_IDENT + HUB,
        _local=make_local(scheduler),
        _shutdown=lambda: None,
    )
    return module


def _ident_of(scheduler: Scheduler, number: int) -> int:
    # Threads of programs keep their identities from one program to the next, even if the number of threads differs.
    started_by_target = number >= scheduler.program_actors > 0
    further = MOST_PROGRAM_THREADS - scheduler.program_actors + scheduler.ident_gap
    return _FIRST_IDENT + number + further * started_by_target


def make_local(scheduler: Scheduler) -> type:
    """``_thread._local``: attributes of their own for each virtual thread."""

    class local:  # noqa: N801 - as in the standard library
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            if (args or kwargs) and cls.__init__ is object.__init__:
                raise TypeError("Initialization arguments are not supported")
            instance = object.__new__(cls)
            dicts = {_thread_of(scheduler): dict[str, Any]()}
            object.__setattr__(instance, "_kcache_local", (dicts, args, kwargs))
            return instance

        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__":
                return _dict(self)
            own = _dict(self)
            if name in own:
                return own[name]
            return object.__getattribute__(self, name)

        def __setattr__(self, name: str, value: Any) -> None:
            _refuse_dict(self, name)
            _dict(self)[name] = value

        def __delattr__(self, name: str) -> None:
            _refuse_dict(self, name)
            try:
                del _dict(self)[name]
            except KeyError:
                raise AttributeError(name) from None

    def _refuse_dict(of: Any, name: str) -> None:
        if name == "__dict__":
            raise AttributeError(f"{type(of).__name__!r} object attribute '__dict__' is read-only")

    def _dict(of: Any) -> dict[str, Any]:
        thread = _thread_of(scheduler)
        dicts, args, kwargs = object.__getattribute__(of, "_kcache_local")
        namespace: dict[str, Any] | None = dicts.get(thread)
        if namespace is None:
            # Thread numbers are used again in the next execution, so entries of ended threads are removed. Not a weak
            # dictionary: its Python code would add events to the trace whenever a thread is garbage-collected.
            for ended in set(dicts).difference(scheduler.actors.values(), [scheduler]):
                del dicts[ended]
            namespace = dicts[thread] = {}
            type(of).__init__(of, *args, **kwargs)
        return namespace

    return local


def _thread_of(scheduler: Scheduler) -> object:
    return scheduler.actors.get(scheduler.current, scheduler)
