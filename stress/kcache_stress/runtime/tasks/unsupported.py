"""Calls of an event loop that cannot be scheduled: sockets, pipes, processes and signals."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..threads.refusal import refuse

if TYPE_CHECKING:
    from ..threads.scheduler import Scheduler

FROM_OTHER_THREAD: Final = "is called by a thread that does not run the event loop: its effect on the loop is not seen"
_UNSUPPORTED: Final = {
    "uses sockets or pipes of its event loop, which cannot be scheduled": (
        *("create_connection", "create_server", "create_datagram_endpoint", "create_unix_connection"),
        *("create_unix_server", "connect_accepted_socket", "connect_read_pipe", "connect_write_pipe"),
        *("sock_accept", "sock_connect", "sock_recv", "sock_recv_into", "sock_recvfrom", "sock_recvfrom_into"),
        *("sock_sendall", "sock_sendto", "sock_sendfile", "sendfile", "start_tls", "add_reader", "add_writer"),
    ),
    "starts a process, which cannot be scheduled": ("subprocess_exec", "subprocess_shell"),
    "waits for signals, which no virtual thread can receive": ("add_signal_handler",),
    "looks up names of hosts, which cannot be scheduled": ("getaddrinfo", "getnameinfo"),
}
"""Reason -> the methods of event loops that are refused for it."""


class UnsupportedCalls:
    """Base class of event loops that refuses calls which need the operating system; the refusal names their line."""

    _scheduler: Scheduler

    def remove_reader(self, fd: object) -> bool:
        """Return ``False``: there is no reader."""
        del fd
        return False

    def remove_writer(self, fd: object) -> bool:
        """Return ``False``: there is no writer."""
        del fd
        return False

    def remove_signal_handler(self, sig: object) -> bool:
        """Return ``False``: there is no handler."""
        del sig
        return False


def _refused(name: str, why: str) -> Callable[..., Any]:
    def refused(self: UnsupportedCalls, *_: Any, **__: Any) -> Any:
        refuse(self._scheduler, f"{why}: {name}", sys._getframe(1))

    return refused


for _why, _names in _UNSUPPORTED.items():
    for _name in _names:
        setattr(UnsupportedCalls, _name, _refused(_name, _why))
