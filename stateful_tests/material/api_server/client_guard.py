"""Notices that a client has gone, or that its time is up, while its watch has nothing to send."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def client_guard(connection: socket.socket, seconds: float | None, stop: Callable[[], object]) -> Iterator[None]:
    """Within, ``stop`` is called, in another thread, as soon as the watch of a client is of no more use.

    Args:
        connection: to the client, which has nothing more to say: whatever comes is taken for its end.
        seconds: after which the time is up; ``None`` for never.
        stop: ends the watch.
    """
    ended, end = socket.socketpair()

    def wait() -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            selector.register(ended, selectors.EVENT_READ)
            selector.select(seconds)
        stop()

    with ended, end:
        thread = threading.Thread(target=wait, name="client guard", daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.sendall(b".")
            thread.join()
