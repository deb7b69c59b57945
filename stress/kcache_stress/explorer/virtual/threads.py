"""The ``_thread`` module of a virtual world: locks, thread start, identity, thread-local data."""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from ..events import JOIN, QUERY, RELEASE, SPAWN, TRY
from .locks import VirtualLock, VirtualRLock
from .refusal import refuse
from .scheduler import HUB, MOST_PROGRAM_THREADS, Scheduler
from .virtual_thread import Timed

_FIRST_IDENT = 1001


class ThreadHandle:
    """``_thread._ThreadHandle`` (Python 3.13): tells when a thread has ended.

    Attributes:
        free: whether it has ended.
        ident: its identity.
    """

    scheduler: Scheduler

    def __init__(self) -> None:
        self.free = False
        self.ident: int | None = None

    def is_done(self) -> bool:
        """Whether the thread has ended."""
        if self.scheduler.live:
            self.scheduler.point(QUERY, self, None)
        return self.free

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended."""
        scheduler = self.scheduler
        if timeout is not None and timeout >= 0:
            deadline = scheduler.deadline(timeout)
            if scheduler.live:
                scheduler.point_timed(self, Timed(scheduler, self, deadline))
            elif not self.free:
                scheduler.wait_idle(TRY, self, deadline)
        elif scheduler.live:
            scheduler.point(JOIN, self, self)
        elif not self.free:
            scheduler.wait_idle(JOIN, self)

    def _set_done(self) -> None:
        if self.scheduler.live and not self.scheduler.aborting:
            self.scheduler.point(RELEASE, self, None)
        self.free = True


def make_thread_module(scheduler: Scheduler) -> ModuleType:
    """A module that stands in for ``_thread``; its threads and locks are those of ``scheduler``."""
    lock = type("lock", (VirtualLock,), {"scheduler": scheduler, "__slots__": (), "__module__": "_thread"})
    rlock = type("RLock", (VirtualRLock,), {"scheduler": scheduler, "__slots__": (), "__module__": "_thread"})
    handle = type("_ThreadHandle", (ThreadHandle,), {"scheduler": scheduler})
    sentinels: dict[int, VirtualLock] = {}

    def ident_of(number: int) -> int:
        # Threads of programs keep their identities from one program to the next, whatever their number.
        started_by_target = number >= scheduler.program_threads > 0
        return _FIRST_IDENT + number + (MOST_PROGRAM_THREADS - scheduler.program_threads) * started_by_target

    def get_ident() -> int:
        return ident_of(scheduler.current)

    def spawn(function: Callable[[], object], done: ThreadHandle) -> int:
        def work() -> None:
            done.ident = get_ident()
            try:
                function()
            finally:
                sentinel = sentinels.pop(scheduler.current, None)
                if sentinel is not None and not sentinel.free:
                    sentinel.release()
                done._set_done()

        if scheduler.loading:
            refuse(scheduler, "starts a thread while it is imported; do so when something is made", sys._getframe(1))
        if scheduler.live:
            scheduler.point(SPAWN, done, None)
        done.ident = ident_of(scheduler.start(work))
        return done.ident

    def start_new_thread(function: Callable[..., object], args: tuple[Any, ...], kwargs: Mapping[str, Any] = {}) -> int:
        return spawn(lambda: function(*args, **kwargs), handle())

    def start_joinable_thread(
        function: Callable[[], object],
        handle: ThreadHandle | None = None,
        daemon: bool = True,  # noqa: ARG001 - nothing outlives an execution
    ) -> ThreadHandle:
        done = handle_type() if handle is None else handle
        spawn(function, done)
        return done

    def count() -> int:
        scheduler.doubts["asks how many threads are running: what it is told depends on no event"] = None
        started = [thread for number, thread in scheduler.threads.items() if number >= scheduler.program_threads]
        return sum(not thread.finished for thread in started)

    def interrupt_main(signum: int = 0) -> None:  # noqa: ARG001
        refuse(scheduler, "uses _thread.interrupt_main: no signal is delivered to virtual threads", sys._getframe(1))

    def set_sentinel() -> VirtualLock:
        sentinel: VirtualLock = lock()
        if scheduler.current != HUB:
            sentinels[scheduler.current] = sentinel
        return sentinel

    def make_thread_handle(ident: int) -> ThreadHandle:
        made: ThreadHandle = handle()
        made.ident = ident
        return made

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
        _set_sentinel=set_sentinel,
        _count=count,
        interrupt_main=interrupt_main,
        get_ident=get_ident,
        get_native_id=get_ident,
        _get_main_thread_ident=lambda: _FIRST_IDENT + HUB,
        _local=make_local(scheduler),
        _shutdown=lambda: None,
    )
    return module


def make_local(scheduler: Scheduler) -> type:
    """``_thread._local``: attributes of their own for each virtual thread."""

    class local:  # noqa: N801 - as in the standard library
        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            if (args or kwargs) and cls.__init__ is object.__init__:
                raise TypeError("Initialization arguments are not supported")
            made = object.__new__(cls)
            dicts = {_thread_of(scheduler): dict[str, Any]()}
            object.__setattr__(made, "_kcache_local", (dicts, args, kwargs))
            return made

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
        found: dict[str, Any] | None = dicts.get(thread)
        if found is None:
            # Thread numbers are used again from one execution to the next: the threads of the last one go. No weak
            # dictionary: its code in Python would show in the trace, whenever a thread happens to be collected.
            for ended in set(dicts).difference(scheduler.threads.values(), [scheduler]):
                del dicts[ended]
            found = dicts[thread] = {}
            type(of).__init__(of, *args, **kwargs)
        return found

    return local


def _thread_of(scheduler: Scheduler) -> object:
    return scheduler.threads.get(scheduler.current, scheduler)
