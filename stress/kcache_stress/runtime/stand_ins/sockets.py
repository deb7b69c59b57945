"""Module ``_socket`` of a virtual world: streams within the process. ``socket`` runs from Python's source on top of it.

Supported: TCP connections within one host, Unix domain sockets, socket pairs. Not supported: datagrams and raw sockets,
other hosts, effects of options, out-of-band data, ancillary data, descriptors in other processes. A connection is
created, and closed, in one step. A receive returns as much of the available data as was requested. A send to a socket
that was closed fails at once. A socket that is dropped without being closed stays open. Descriptors are not numbers of
the system, and no number is used again in an execution.
"""

from __future__ import annotations

import _socket
import errno
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, NoReturn

from ...engine.events import READ, WRITE
from ..threads.refusal import refuse, system_error
from ..threads.scheduler import Scheduler
from .network import End, Network, Port

WHY: Final = "other hosts and processes cannot be scheduled"

_HERE: Final = frozenset({"", "localhost", "127.0.0.1", "0.0.0.0", "::1", "::", "<broadcast>"})
_LOOPBACK: Final = {int(_socket.AF_INET): "127.0.0.1", int(getattr(_socket, "AF_INET6", 10)): "::1"}
_UNIX: Final = int(getattr(_socket, "AF_UNIX", 1))
_NUMERIC: Final = "0123456789"


class Socket:
    """``_socket.socket``.

    Attributes:
        proto: the protocol number; 0 by default.
        timeout: most seconds that calls wait; ``None`` for no limit.
    """

    __slots__ = ("_descriptor", "_end", "_family", "_options", "_type", "proto", "timeout")
    network: Network  # set by the subclass that `make_socket_module` creates

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, fileno: int | None = None) -> None:
        self._family = int(_socket.AF_INET) if family == -1 else family
        self._type = int(_socket.SOCK_STREAM) if type == -1 else type
        self.proto = 0 if proto == -1 else proto
        if self.network.scheduler.live:
            self.network.scheduler.touch(self.network, "default_timeout", READ)
        self.timeout = self.network.default_timeout
        self._options: dict[tuple[int, int], Any] = {}
        self._end: Any = None if fileno is None else self.network.end_of(fileno)
        self._descriptor = self.network.descriptor(self._end) if fileno is None else fileno

    @property
    def family(self) -> int:
        """Address family."""
        return self._family

    @property
    def type(self) -> int:
        """Socket type, such as ``SOCK_STREAM``."""
        return self._type

    # State: other threads may connect or close the socket meanwhile.

    def _touch(self, slot: str, kind: int) -> None:
        scheduler = self.network.scheduler
        if scheduler.live and not scheduler.aborting:
            scheduler.touch(self, slot, kind)

    def _look(self) -> Any:
        self._touch("_end", READ)
        if self._descriptor < 0:
            raise system_error(errno.EBADF)
        if self._type & 0xF != _socket.SOCK_STREAM or (self._family not in _LOOPBACK and self._family != _UNIX):
            refuse(self.network.scheduler, f"uses a socket of an unsupported kind: {WHY}", sys._getframe(1))
        return self._end

    def _connected(self) -> End:
        end = self._look()
        if not isinstance(end, End):
            raise system_error(errno.ENOTCONN)
        return end

    def _become(self, end: Any) -> None:
        self._touch("_end", WRITE)
        self._end = end
        if self._descriptor in self.network.ends:
            self.network.ends[self._descriptor] = end

    def _place(self, address: Any) -> tuple[Any, Any]:
        """Return the complete address, and the key of its port in the network."""
        if self._family == _UNIX:
            return address, (_UNIX, address)
        host, port = address[:2]
        if not _is_here(host):
            refuse(self.network.scheduler, f"connects to {host}: {WHY}", sys._getframe(1))
        if not 0 <= port <= 0xFFFF:
            raise OverflowError("bind(): port must be 0-65535.")
        full = (
            _LOOPBACK[self._family],
            port or self.network.free_port(),
            *((0, 0) if self._family != _socket.AF_INET else ()),
        )
        return full, (self._family, full[1])

    # Connections.

    def bind(self, address: Any) -> None:
        """Bind the socket to an address."""
        if self._look() is not None:
            raise system_error(errno.EINVAL)
        name, place = self._place(address)
        port = self.network.port(place, name)
        port.bind()
        self._become(port)

    def listen(self, backlog: int = 128) -> None:
        """Listen for connections."""
        port = self._look()
        if not isinstance(port, Port):
            raise system_error(errno.EINVAL)
        port.listen(backlog)

    def _accept(self) -> tuple[int, Any]:
        port = self._look()
        if not isinstance(port, Port):
            raise system_error(errno.EINVAL)
        end = self.network.attempt(port, port.accept, self._waits())
        return self.network.descriptor(end), end.peer

    def connect(self, address: Any) -> None:
        """Connect to the socket that listens at ``address``."""
        if isinstance(self._look(), End):
            raise system_error(errno.EISCONN)
        name, place = self._place(address)
        own = "" if self._family == _UNIX else (name[0], self.network.free_port(), *name[2:])
        port = self.network.port(place, name)
        self._become(self.network.attempt(port, lambda: port.connect(self.network, own), self._waits()))

    def connect_ex(self, address: Any) -> int:
        """Connect like :meth:`connect`; return the number of the error, or 0."""
        try:
            self.connect(address)
        except TimeoutError:
            return errno.EAGAIN
        except OSError as error:
            return error.errno or 0
        return 0

    def shutdown(self, how: int) -> None:
        """Shut down reading, writing or both."""
        end = self._look()
        if end is None:
            raise system_error(errno.ENOTCONN)
        with end.link.lock:
            if isinstance(end, Port):
                end.shut()
            else:
                end.shut(reads=how != _socket.SHUT_WR, writes=how != _socket.SHUT_RD)

    def close(self) -> None:
        """Close the socket; calls that are in progress go on."""
        descriptor, end = self.detach(), self._end
        if descriptor < 0:
            return
        self.network.forget(descriptor)
        if end is not None:
            end.close()

    def detach(self) -> int:
        """Return the descriptor, which stays open, and detach it from the socket."""
        self._touch("_end", WRITE)
        descriptor, self._descriptor = self._descriptor, -1
        return descriptor

    def fileno(self) -> int:
        """Return the descriptor; -1 if the socket is closed."""
        self._touch("_end", READ)
        return self._descriptor

    # Data.

    def send(self, data: Any, flags: int = 0) -> int:  # noqa: ARG002
        """Send as many bytes as there is room for; return their number."""
        end, view = self._connected(), memoryview(data).cast("B")
        return self.network.attempt(end, lambda: end.write(view), self._waits())

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all bytes."""
        view = memoryview(data).cast("B")
        while view:
            view = view[self.send(view, flags) :]

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive the available data, up to ``size`` bytes; wait for the first byte."""
        if size < 0:
            raise ValueError("negative buffersize in recv")
        end, peeks = self._connected(), bool(flags & _socket.MSG_PEEK)
        return self.network.attempt(end, lambda: end.take(size, peeks=peeks), self._waits(flags))

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """Receive like :meth:`recv`, into a buffer; return the number of bytes."""
        view = memoryview(buffer).cast("B")
        data = self.recv(nbytes or len(view), flags)
        view[: len(data)] = data
        return len(data)

    def recvfrom(self, size: int, flags: int = 0) -> tuple[bytes, Any]:
        """Receive like :meth:`recv`; return the data and ``None`` as the sender, as connections do."""
        return self.recv(size, flags), None

    def _waits(self, flags: int = 0) -> float | None:
        self._touch("timeout", READ)
        return 0 if flags & getattr(_socket, "MSG_DONTWAIT", 0) else self.timeout

    def sendto(self, *_: Any) -> NoReturn:
        """Refuse the call: datagrams are not supported."""
        refuse(self.network.scheduler, f"uses socket.sendto: {WHY}", sys._getframe(1))

    sendmsg = recvmsg = recvmsg_into = recvfrom_into = sendto

    # Settings.

    def settimeout(self, timeout: float | None) -> None:
        """Set the most seconds that calls wait; ``None`` for no limit."""
        if timeout is not None and timeout < 0:
            raise ValueError("Timeout value out of range")
        self._touch("timeout", WRITE)
        self.timeout = None if timeout is None else float(timeout)

    def gettimeout(self) -> float | None:
        """Return the most seconds that calls wait; ``None`` for no limit."""
        self._touch("timeout", READ)
        return self.timeout

    def setblocking(self, flag: bool) -> None:
        """Let calls wait without limit, or not at all."""
        self.settimeout(None if flag else 0.0)

    def getblocking(self) -> bool:
        """Whether calls wait."""
        return self.gettimeout() != 0

    def getsockname(self) -> Any:
        """Return the socket's own address."""
        end = self._look()
        if end is None:
            return "" if self._family == _UNIX else ("0.0.0.0", 0)
        return end.address if isinstance(end, Port) else end.name

    def getpeername(self) -> Any:
        """Return the address of the other end."""
        return self._connected().peer

    def setsockopt(self, level: int, option: int, value: Any, length: int | None = None) -> None:  # noqa: ARG002
        """Store the option; it has no effect."""
        self._look()
        self._touch("_options", WRITE)
        self._options[level, option] = value

    def getsockopt(self, level: int, option: int, length: int = 0) -> Any:
        """Return the stored value, or a default: 0, empty bytes if ``length`` is set, the type for ``SO_TYPE``."""
        self._look()
        self._touch("_options", READ)
        default: Any = b"" if length else 0
        if level == _socket.SOL_SOCKET and option == _socket.SO_TYPE:
            default = int(_socket.SOCK_STREAM)
        return self._options.get((level, option), default)


_HOST: Final = "virtual"
"""Name of the only host."""


def _is_here(host: Any) -> bool:
    return host in _HERE or host == _HOST or str(host).startswith("127.")


def make_socket_module(network: Network) -> ModuleType:
    """Create the stand-in for ``_socket``."""
    scheduler: Scheduler = network.scheduler
    own = {"network": network, "__slots__": (), "__module__": "_socket"}
    socket: Any = type("socket", (Socket,), own)

    def refused(name: str) -> Callable[..., NoReturn]:
        return lambda *_, **__: refuse(scheduler, f"uses socket.{name}: {WHY}", sys._getframe(1))

    def socketpair(family: int = _UNIX, type: int = _socket.SOCK_STREAM, proto: int = 0) -> tuple[Any, Any]:
        pair = [socket(family, type, proto, network.descriptor(end)) for end in network.linked()]
        return pair[0], pair[1]

    def getaddrinfo(
        host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> list[tuple[Any, ...]]:
        del flags
        if host is not None and not _is_here(host):
            refuse(scheduler, f"looks up the address of {host}: {WHY}", sys._getframe(1))
        number = int(port) if port and str(port).isdigit() else 0
        kind = type or int(_socket.SOCK_STREAM)
        address_family = family or (int(_socket.AF_INET6) if host in ("::1", "::") else int(_socket.AF_INET))
        address = (_LOOPBACK[address_family], number, *((0, 0) if address_family != _socket.AF_INET else ()))
        return [(address_family, kind, proto or int(_socket.IPPROTO_TCP), "", address)]

    def close(descriptor: int) -> None:
        end = network.forget(descriptor)
        if end is not None:
            end.close()

    def setdefaulttimeout(timeout: float | None) -> None:
        if scheduler.live:
            scheduler.touch(network, "default_timeout", WRITE)
        network.set_default_timeout(timeout)

    module = ModuleType("_socket")
    for name, value in vars(_socket).items():
        if not name.startswith("__"):
            is_function = callable(value) and not isinstance(value, type)
            pure = name in ("htons", "htonl", "ntohs", "ntohl", "inet_aton", "inet_ntoa", "inet_pton", "inet_ntop")
            module.__dict__[name] = refused(name) if is_function and not pure else value
    module.__dict__.update(
        socket=socket,
        SocketType=socket,
        socketpair=socketpair,
        getaddrinfo=getaddrinfo,
        close=close,
        gethostname=lambda: _HOST,
        gethostbyaddr=lambda host: (_HOST, [], [getaddrinfo(host, 0)[0][4][0]]),
        gethostbyname=lambda host: getaddrinfo(host, 0, int(_socket.AF_INET))[0][4][0],
        getdefaulttimeout=lambda: network.default_timeout,
        setdefaulttimeout=setdefaulttimeout,
    )
    module.__dict__.pop("CAPI", None)
    return module
