"""Pipes of a virtual world: ``os.pipe``, and the functions of ``os`` for its descriptors.

Not supported: files of descriptors (`os.fdopen`), passing descriptors to other processes, duplicates, atomic writes.
Descriptors of the system, and pipes that ``subprocess``, ``multiprocessing`` or ``asyncio`` open, are real ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Final

from .network import End, Network

_CALLERS_OF_REAL_PIPES: Final = frozenset({"subprocess", "multiprocessing", "asyncio"})


def pipe_functions(network: Network) -> dict[str, Callable[..., Any]]:
    """Create the functions of ``os`` that support virtual descriptors; name -> function."""
    real: dict[str, Any] = {
        name: getattr(os, name, None) for name in ("pipe", "read", "write", "close", "set_blocking", "get_blocking")
    }

    def pipe() -> tuple[int, int]:
        caller: str = sys._getframe(1).f_globals.get("__name__", "")
        if caller.partition(".")[0] in _CALLERS_OF_REAL_PIPES:
            descriptors: tuple[int, int] = real["pipe"]()
            return descriptors
        reader, writer = network.pipe()
        return network.descriptor(reader), network.descriptor(writer)

    def read(fd: int, length: int) -> bytes:
        end = _end(fd)
        if end is None:
            data: bytes = real["read"](fd, length)
            return data
        return network.attempt(end, lambda: end.take(length), None if end.waits else 0)

    def write(fd: int, data: Any) -> int:
        end, view = _end(fd), memoryview(data).cast("B")
        if end is None:
            written: int = real["write"](fd, data)
            return written
        return network.attempt(end, lambda: end.write(view), None if end.waits else 0)

    def close(fd: int) -> None:
        if network.knows(fd):
            network.forget(fd).close()
        else:
            real["close"](fd)

    def set_blocking(fd: int, blocking: bool) -> None:
        end = _end(fd)
        if end is None:
            real["set_blocking"](fd, blocking)
            return
        with end.link.lock:
            end.waits = bool(blocking)

    def get_blocking(fd: int) -> bool:
        end = _end(fd)
        is_blocking: bool = real["get_blocking"](fd) if end is None else end.waits
        return is_blocking

    def _end(fd: int) -> End | None:
        if not network.knows(fd):
            return None
        end: End = network.end_of(fd)
        return end

    own = (pipe, read, write, close, set_blocking, get_blocking)
    return {function.__name__: function for function in own}
