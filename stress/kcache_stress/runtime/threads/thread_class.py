"""Class ``Thread`` of a virtual world: the start, the join and the end of a thread are one event each.

In production they are about forty: the new thread sets its start event, adds itself to a dict, and at its end acquires
the lock of this dict again. Other threads can only see whether a thread has begun or ended (its handle), and the list
of threads. Without this module, a search would try all orders of the forty steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ...engine.events import QUERY, READ, THREADS, WRITE
from .scheduler import Scheduler
from .thread_module import ThreadHandle


def simplify_threads(
    threading: Any, low_level: Any, scheduler: Scheduler, report_call: Callable[..., None] = lambda *_: None
) -> None:
    """Change a private copy of ``threading`` so that its threads begin and end in single steps.

    Args:
        threading: the copy.
        low_level: the ``_thread`` of the copy.
        scheduler: runs the threads.
        report_call: the hook for calls; called with the thread's target and its arguments, because a target in C
            reports nothing itself.
    """
    make, active, get_ident = threading.Thread.__init__, threading._active, low_level.get_ident
    # With a GIL, threads are switched where functions begin; at opcodes, the tracer switches them.
    is_paused = not scheduler.steps_are_events and scheduler.tracer is None
    report = scheduler.step if is_paused else scheduler.touch
    new_handle: type[ThreadHandle] = low_level._ThreadHandle

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self._started = self._handle = new_handle()

    def start(self: Any) -> None:
        if not self._initialized:
            raise RuntimeError("thread.__init__() not called")

        handle: ThreadHandle = self._started

        def begins() -> None:
            self._ident = self._native_id = handle.ident
            active[handle.ident] = self

        def ends() -> None:
            active.pop(handle.ident, None)
            self._is_stopped = True

        def _bootstrap_inner() -> None:
            try:
                self.run()
            except BaseException:
                self._invoke_excepthook(self)

        handle.spawn(_bootstrap_inner, begins, ends)

    def run(self: Any) -> None:
        try:
            if self._target is not None:
                report_call(self._target, *self._args, *self._kwargs.values())
                self._target(*self._args, **self._kwargs)
        finally:
            del self._target, self._args, self._kwargs

    def join(self: Any, timeout: float | None = None) -> None:
        if not self._initialized:
            raise RuntimeError("Thread.__init__() not called")
        if self._ident == get_ident():
            raise RuntimeError("cannot join current thread")
        handle: ThreadHandle = self._started
        handle.join(None if timeout is None else max(timeout, 0))

    def is_alive(self: Any) -> bool:
        assert self._initialized, "Thread.__init__() not called"
        handle: ThreadHandle = self._started
        return handle.is_running()

    def ident(self: Any) -> int | None:
        """Return the identity of a thread. For another thread, this shows whether it has begun."""
        assert self._initialized, "Thread.__init__() not called"
        if self._ident != get_ident():
            self._started.is_running()
        own: int | None = self._ident
        return own

    def native_id(self: Any) -> int | None:
        """Return the identity of a thread for the operating system; see :func:`ident`."""
        ident(self)
        own: int | None = self._native_id
        return own

    def __repr__(self: Any) -> str:  # noqa: N807 - it replaces the method
        assert self._initialized, "Thread.__init__() not called"
        status = "started" if self.is_alive() else "initial" if self._ident is None else "stopped"
        report(self, "daemon", READ)
        status += " daemon" if self._daemonic else ""
        status += "" if self._ident is None else f" {self._ident}"
        report(self, "name", READ)
        return f"<{type(self).__name__}({self._name}, {status})>"

    def paused(function: Callable[..., Any], name: str, kind: int) -> Callable[..., Any]:
        def call(self: Any, *values: object) -> Any:
            scheduler.step(self, name, kind)
            return function(self, *values)

        return call

    def enumerate() -> list[object]:
        if scheduler.live:
            scheduler.point(QUERY, THREADS, None)
        return list(active.values())

    threading._active_limbo_lock = contextlib.nullcontext()  # no thread is preempted while it holds this lock
    threading.enumerate, threading.active_count = enumerate, lambda: len(enumerate())
    threading._main_thread._started = low_level._make_thread_handle(threading._main_thread.ident)
    threading.Thread.__init__ = initialize
    for method in (start, run, join, is_alive, __repr__):
        setattr(threading.Thread, method.__name__, method)
    threading.Thread.ident, threading.Thread.native_id = property(ident), property(native_id)
    for name in ("name", "daemon") if is_paused else ():
        real = getattr(threading.Thread, name)
        setattr(threading.Thread, name, property(paused(real.fget, name, READ), paused(real.fset, name, WRITE)))
