"""The class ``Thread`` of a virtual world: to start a thread, to join it and its end are one event each.

In production they are some forty: the new thread says that it has begun, enters itself in a list, and in the end takes
the lock of that list again. None of it can be seen but through what is here: whether a thread has begun, or has ended,
which its handle tells, and which threads there are. A search would try all orders of those steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ...engine.events import QUERY, THREADS
from .scheduler import Scheduler
from .thread_module import ThreadHandle


def simplify_threads(
    threading: Any, low_level: Any, scheduler: Scheduler, report_call: Callable[..., None] = lambda *_: None
) -> None:
    """Let the threads of a private copy of ``threading`` begin and end in single steps.

    Args:
        threading: the copy.
        low_level: its ``_thread``.
        scheduler: runs the threads.
        report_call: the hook of calls, of a target and its arguments: one in C reports nothing itself.
    """
    make, active, get_ident = threading.Thread.__init__, threading._active, low_level.get_ident
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

    def enumerate() -> list[object]:
        if scheduler.live:
            scheduler.point(QUERY, THREADS, None)
        return list(active.values())

    threading._active_limbo_lock = contextlib.nullcontext()  # nobody is left while it is held
    threading.enumerate, threading.active_count = enumerate, lambda: len(enumerate())
    threading._main_thread._started = low_level._make_thread_handle(threading._main_thread.ident)
    threading.Thread.__init__ = initialize
    for method in (start, run, join, is_alive):
        setattr(threading.Thread, method.__name__, method)
