"""Connections in memory: what one end of a connection writes, the other end reads at any later iteration of the loop.

Servers and clients of a test connect in the loop itself, without the operating system. Above the transports everything
is asyncio's own: its ``Server``, its streams, the protocols of packages. A connection is accepted, data arrive, and an
end is seen at any iteration, so each of these is a source of the environment (:mod:`~.sources`), like input and output.

What is written in one piece arrives in one piece, together with all that was written before the arrival. A buffer of
the system takes what is written, up to the high-water mark; beyond that, the writer is told to pause.

Alternatives: the virtual sockets of threads (:mod:`~..stand_ins.network`) below a selector. The loop would then be
woken by each socket, with more events for the same orders. Open: datagrams, TLS, splits of what was written at once.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import functools
import ipaddress
import socket
import sys
from asyncio import base_events
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..threads.refusal import refuse
from .sources import Origin, own_origin
from .virtual_loop import settle

if TYPE_CHECKING:
    from .event_loop import EventLoop

Address = tuple[str, int] | str
"""Host and port, or the path of a Unix socket."""

_MOST_BUFFERED: Final = 64 * 1024
"""Bytes on their way at which a writer is told to pause: the high-water mark of asyncio."""
_FIRST_PORT: Final = 49152
"""The first port of those that servers get if they ask for port 0: the first one for this purpose by RFC 6335."""
_HERE: Final = frozenset({None, "", "localhost", "0.0.0.0", "::"})
NOT_HERE: Final = "connects to another machine, which cannot be scheduled"
IN_MEMORY: Final = "streams connect in memory: not all that sockets of the system do is tried"
NEEDS_SYSTEM: Final = "gives its event loop a socket, or TLS: only connections in memory can be scheduled"


class MemorySocket:
    """Stand-in for the socket of a transport or a server.

    Args:
        own: address of this end.
        peer: address of the other end; ``None`` for a server.
    """

    type, proto = socket.SOCK_STREAM, 0

    def __init__(self, own: Address, peer: Address | None = None) -> None:
        self.own = own
        self._peer = peer
        self.family = socket.AF_UNIX if isinstance(own, str) else socket.AF_INET

    def getsockname(self) -> Address:
        """Return the address of this end."""
        return self.own

    def getpeername(self) -> Address:
        """Return the address of the other end.

        Raises:
            OSError: there is none.
        """
        if self._peer is None:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return self._peer

    def fileno(self) -> int:
        """Return -1: there is no file."""
        return -1

    def getsockopt(self, *_: object) -> int:
        """Return 0: no option is set."""
        return 0

    def _nothing(self, *_: object) -> None:
        """Do nothing: there is no option to set, and nothing to close."""

    setsockopt = listen = close = setblocking = _nothing


class MemoryTransport(asyncio.Transport):
    """One end of a connection.

    Args:
        loop: runs both ends.
        own: address of this end.
        peer: address of the other end.
        origin: the place at which code has asked for the connection.
    """

    def __init__(self, loop: EventLoop, own: Address, peer: Address, origin: Origin | None) -> None:
        super().__init__({"socket": MemorySocket(own, peer), "sockname": own, "peername": peer})
        self.other: MemoryTransport
        self.server: Any = None  # that has accepted it
        self.origin = origin
        self.context = contextvars.copy_context()  # the callbacks of a connection run in that of its creator
        self._loop = loop
        self._protocol: Any = None
        self._incoming: list[bytes | OSError] = []  # empty bytes are the end
        self._is_reading, self._is_closing, self._has_ended = True, False, False
        self._is_paused = self._is_broken = False
        self.is_connecting = True
        self._high, self._low = _MOST_BUFFERED, _MOST_BUFFERED // 4

    def open(self, protocol: Any) -> None:
        """Connect this end with its protocol, which is told in the next iteration."""
        self._protocol = protocol
        self._loop.call_soon(protocol.connection_made, self)
        self._loop.call_soon(self._read)

    def _read(self) -> None:
        self._loop.start_source("gets data", self._receive, self._has_something, self.origin)

    def _has_something(self) -> bool:
        return bool(self._incoming) and self._is_reading and not self._is_closing

    def _receive(self) -> None:
        """Take what has arrived: all data up to the end or an error."""
        first = self._incoming[0]
        if isinstance(first, OSError):
            self._incoming.clear()
            self._loop.deliver(self.context, self._fail, first)
        elif not first:
            del self._incoming[0]
            self._loop.deliver(self.context, self._receive_end)
        else:
            data = bytearray()
            while self._incoming and isinstance(self._incoming[0], bytes) and self._incoming[0]:
                data += self._incoming.pop(0)  # type: ignore[arg-type]
            self._loop.deliver(self.context, self._receive_data, bytes(data))
            self.other._resume_writer()

    def _receive_data(self, data: bytes) -> None:
        if not self._is_reading and not self._is_closing:
            self._incoming.insert(0, data)  # paused since: it is received later
        elif not self._is_closing:
            try:
                self._pass_on(data)
            except Exception as error:  # asyncio closes the connection then
                self._end(error)

    def _pass_on(self, data: bytes) -> None:
        if isinstance(self._protocol, asyncio.BufferedProtocol):
            while data:
                buffer = self._protocol.get_buffer(len(data))
                if not len(memoryview(buffer)):
                    raise RuntimeError("get_buffer() returned an empty buffer")
                size = min(len(memoryview(buffer)), len(data))
                memoryview(buffer)[:size] = data[:size]
                self._protocol.buffer_updated(size)
                data = data[size:]
        else:
            self._protocol.data_received(data)

    def _receive_end(self) -> None:
        if self._is_closing:
            return
        try:
            keeps_open = self._protocol.eof_received()
        except Exception as error:
            self._end(error)
        else:
            if not keeps_open:
                self.close()

    def _fail(self, error: OSError) -> None:
        self._incoming.clear()
        self._end(error)

    def _size(self) -> int:
        return sum(len(each) for each in self.other._incoming if isinstance(each, bytes))

    def _resume_writer(self) -> None:
        if self._is_paused and self._size() <= self._low and not self._is_closing:
            self._is_paused = False
            self._loop.deliver(self.context, self._protocol.resume_writing)

    # What protocols and streams call.

    def write(self, data: Any) -> None:
        """Send data to the other end.

        Raises:
            RuntimeError: :meth:`write_eof` was called before.
            TypeError: ``data`` is not bytes-like.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data argument must be a bytes-like object, not {type(data).__name__!r}")
        if self._has_ended and not self._is_closing:
            raise RuntimeError("Cannot call write() after write_eof()")
        if not data or self._is_closing:
            return
        if self.other._is_closing:
            if self._is_broken:  # the system takes one write before it tells that the other end is closed
                self._incoming.append(BrokenPipeError(errno.EPIPE, "Broken pipe"))
            self._is_broken = True
            return
        self.other._incoming.append(bytes(data))
        if self._size() > self._high and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()

    def write_eof(self) -> None:
        """Send the end: the other end reads no more."""
        if not (self._has_ended or self._is_closing):
            self._has_ended = True
            self.other._incoming.append(b"")

    def can_write_eof(self) -> bool:
        """Return ``True``: the other direction stays open."""
        return True

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be; after an execution it is, so that no finalizer complains."""
        scheduler = self._loop.scheduler
        return self._is_closing or not scheduler.live or scheduler.aborting

    def close(self) -> None:
        """Close this end; what it has written still arrives."""
        self._end(None)

    def abort(self) -> None:
        """Close this end at once; what is still on its way is lost."""
        self.other._incoming.clear()
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._lose, error)

    def _lose(self, error: Exception | None) -> None:
        try:
            self._protocol.connection_lost(error)
        finally:
            if not self._has_ended:
                self._has_ended = True
                self.other._incoming.append(b"")
            if self.server is not None:
                detach, self.server = self.server._detach, None
                detach(*([self] if sys.version_info >= (3, 13) else []))

    def is_reading(self) -> bool:
        """Whether data that arrives is received."""
        return self._is_reading and not self._is_closing

    def pause_reading(self) -> None:
        """Receive no data until :meth:`resume_reading`."""
        self._is_reading = False

    def resume_reading(self) -> None:
        """Receive data again."""
        self._is_reading = True

    def set_protocol(self, protocol: Any) -> None:
        """Set the protocol."""
        self._protocol = protocol

    def get_protocol(self) -> Any:
        """Return the protocol."""
        return self._protocol

    def get_write_buffer_size(self) -> int:
        """Return the number of bytes beyond what the buffer of the system takes."""
        return max(0, self._size() - _MOST_BUFFERED)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return the low-water and the high-water mark."""
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the water marks."""
        self._high = (_MOST_BUFFERED if low is None else 4 * low) if high is None else high
        self._low = self._high // 4 if low is None else low


class Connections:
    """The servers of one loop, and the connections to them.

    Args:
        loop: the loop.
    """

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._accepting: dict[Address, Callable[[MemoryTransport], None]] = {}
        self._backlogs: dict[Address, list[MemoryTransport]] = {}
        self._ports = _FIRST_PORT

    def _address(self, host: Any, port: Any) -> tuple[str, int]:
        if host not in _HERE and not _is_loopback(host):
            refuse(self._loop.scheduler, f"{NOT_HERE}: {host}", sys._getframe(1))
        return "127.0.0.1" if host == "localhost" else host or "0.0.0.0", int(port or 0)

    def _require_memory(self, options: dict[str, Any]) -> None:
        self._loop.scheduler.proof_obstacles[IN_MEMORY] = None
        if options.get("ssl") or options.get("sock") is not None:
            refuse(self._loop.scheduler, NEEDS_SYSTEM, sys._getframe(1))

    async def serve(
        self, factory: Callable[[], Any], host: Any, port: Any, path: str | None, options: dict[str, Any]
    ) -> Any:
        """Return a server that listens at an address; see ``loop.create_server``."""
        self._require_memory(options)
        host = host[0] if isinstance(host, (list, tuple)) else host
        address: Address = path if path is not None else self._address(host, port)
        if address in self._accepting:
            raise OSError(
                errno.EADDRINUSE, f"error while attempting to bind on address {address}: address already in use"
            )
        if isinstance(address, tuple) and not address[1]:
            address, self._ports = (address[0], self._ports), self._ports + 1
        sockets: list[Any] = [MemorySocket(address)]
        server: Any = base_events.Server(self._loop, sockets, factory, None, options.get("backlog", 100), None, None)
        if options.get("start_serving", True):
            server._start_serving()
            await asyncio.sleep(0)
        return server

    def start(self, factory: Callable[[], Any], listener: MemorySocket, server: Any) -> None:
        """Let a server accept connections, in the order in which they were made."""
        backlog, context = self._backlogs.setdefault(listener.own, []), contextvars.copy_context()

        def accept(client: MemoryTransport) -> None:
            own, peer = client.get_extra_info("peername"), client.get_extra_info("sockname")
            transport = MemoryTransport(self._loop, own, peer, client.origin)
            transport.other, client.other, transport.context = client, transport, context
            backlog.append(transport)

            def deliver() -> None:
                del backlog[0]
                if listener.own in self._accepting:
                    self._loop.deliver(context, self._open, transport, factory, server)
                else:
                    client._incoming.append(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))

            def is_next() -> bool:
                return bool(backlog) and backlog[0] is transport

            self._loop.start_source("accepts a connection", deliver, is_next, client.origin)

        self._accepting[listener.own] = accept

    def _open(self, transport: MemoryTransport, factory: Callable[[], Any], server: Any) -> None:
        if not server.sockets:  # closed since: asyncio then drops the connection
            transport.other._incoming.append(b"")
            return
        transport.server = server
        server._attach(*([transport] if sys.version_info >= (3, 13) else []))
        transport.open(factory())

    def stop(self, listener: MemorySocket) -> None:
        """Let a server accept no more connections."""
        self._accepting.pop(listener.own, None)

    async def connect(
        self, factory: Callable[[], Any], host: Any, port: Any, path: str | None, options: dict[str, Any]
    ) -> tuple[MemoryTransport, Any]:
        """Return a transport and its protocol, connected with a server; see ``loop.create_connection``.

        Raises:
            ConnectionRefusedError: no server listens at the address.
        """
        self._require_memory(options)
        address: Address = path if path is not None else self._address(host or "localhost", port)
        connected = self._loop.create_future()
        own: Address = "" if path is not None else ("127.0.0.1", self._ports)
        self._ports += path is None
        client = MemoryTransport(self._loop, own, address, own_origin())

        def deliver() -> None:
            client.is_connecting = False
            accept = None if connected.cancelled() else self._accepting_at(address)
            if accept is not None:
                accept(client)
            self._loop.deliver(client.context, self._connected, connected, accept is not None, address)

        self._loop.start_source("is connected", deliver, lambda: client.is_connecting, client.origin)
        try:
            await connected
        except asyncio.CancelledError:
            if hasattr(client, "other"):
                client.other._incoming.append(b"")  # its socket is closed
            raise
        protocol = factory()
        waiter = self._loop.create_future()
        client.open(protocol)
        self._loop.call_soon(settle, waiter, None, None)
        try:
            await waiter
        except BaseException:
            client.close()
            raise
        return client, protocol

    def _accepting_at(self, address: Address) -> Callable[[MemoryTransport], None] | None:
        everywhere: Address = ("0.0.0.0", address[1]) if isinstance(address, tuple) else address
        return self._accepting.get(address) or self._accepting.get(everywhere)

    def _connected(self, connected: asyncio.Future[None], is_accepted: bool, address: Address) -> None:
        refused: OSError | None = None
        if not is_accepted and isinstance(address, str):
            refused = FileNotFoundError(errno.ENOENT, "No such file or directory")
        elif not is_accepted:
            refused = ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {address}")
        settle(connected, None, refused)


class ConnectingLoop:
    """Base class of event loops that connect their servers and clients in memory."""

    @functools.cached_property
    def _connections(self) -> Connections:
        loop: Any = self
        return Connections(loop)

    async def create_connection(self, factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        """Connect with a server of this loop."""
        return await self._connections.connect(factory, host, port, None, options)

    async def create_server(self, factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        """Create a server."""
        return await self._connections.serve(factory, host, port, None, options)

    async def create_unix_connection(self, factory: Any, path: Any = None, **options: Any) -> Any:
        """Connect with a server of this loop by the path of a Unix socket."""
        return await self._connections.connect(factory, None, None, str(path), options)

    async def create_unix_server(self, factory: Any, path: Any = None, **options: Any) -> Any:
        """Create a server with the path of a Unix socket."""
        return await self._connections.serve(factory, None, None, str(path), options)

    def _start_serving(self, factory: Any, listener: Any, context: Any, server: Any, *_: Any) -> None:
        """Let a server accept connections; asyncio's ``Server`` calls this method."""
        del context
        self._connections.start(factory, listener, server)

    def _stop_serving(self, listener: Any) -> None:
        """Let a server accept no more connections; asyncio's ``Server`` calls this method."""
        self._connections.stop(listener)


def _is_loopback(host: Any) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
