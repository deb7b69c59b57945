"""Threads that a test starts, and those that it must not leave behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

T = TypeVar("T")

WATCHDOG_SECONDS: Final = 20.0
"""Far more than anything waited for takes, even on a busy machine."""


def in_thread(function: Callable[..., T], *args: Any) -> Future[T]:
    """Call a function in a thread of its own; ``result(seconds)`` gives what it returned or raised."""
    future: Future[T] = Future()

    def call() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=call, name=f"test {function!r}", daemon=True).start()
    return future


def threads_since(before: Iterable[threading.Thread]) -> list[str]:
    """The names of the threads that have been started since, and that still run."""
    return sorted(thread.name for thread in set(threading.enumerate()) - set(before))
