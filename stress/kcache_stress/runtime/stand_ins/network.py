"""Network under virtual sockets and pipes: links of two streams, ports, descriptors, and waits for their changes.

Each link, and each port, has its own virtual lock, which guards every read and change. A thread that has to wait adds a
wakeup to it: a lock that the next change releases. So the scheduler sees nothing but locks.
"""

from __future__ import annotations

import errno
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from ...engine.events import ACQUIRE, READ, RELEASE, TRY, WRITE
from ...engine.scheduling import HUB
from ..threads.locks import VirtualLock
from ..threads.refusal import system_error, where
from ..threads.scheduler import Scheduler
from ..threads.virtual_thread import Timed

T = TypeVar("T")

FIRST_DESCRIPTOR: Final = 1_000_000
"""Larger than any descriptor of the process."""
_OF_A_THREAD: Final = 10_000
_FIRST_PORT: Final = 49_152
_PORTS_OF_A_THREAD: Final = 500
ROOM: Final = 212_992
"""Bytes that may be in transit in one direction: the default of Linux."""


class Wakeup(VirtualLock):
    """Lock that a thread waits for until something changes: held when it is created, and released by the change."""

    __slots__ = ()
    what: str = "data, room or a connection that never comes"

    def __init__(self) -> None:
        super().__init__()
        self.free = False

    @property
    def is_of_system(self) -> bool:
        """Whether the wait is over because of a descriptor of the system."""
        return False

    def ring(self) -> None:
        """Release the lock; several changes may do so."""
        scheduler = self.scheduler
        if scheduler.live and not scheduler.aborting:
            scheduler.point(RELEASE, self, None)
        self.free = True

    def wait(self, deadline: float | None) -> bool:
        """Wait for :meth:`ring`; return whether it came before the virtual time ``deadline`` (``None``: no limit)."""
        scheduler = self.scheduler
        if deadline is not None:
            if scheduler.live and not scheduler.aborting:
                return scheduler.point_timed(self, Timed(scheduler, self, deadline))
            return self.free or scheduler.wait_idle(TRY, self, deadline)
        if scheduler.live and not scheduler.aborting:
            scheduler.point(ACQUIRE, self, self)
        elif not self.free:
            scheduler.wait_idle(ACQUIRE, self)
        return True


class Changing:
    """Object with a lock, whose changes threads can wait for.

    Attributes:
        lock: guards the object.
    """

    def __init__(self, network: Network) -> None:
        self.lock: VirtualLock = network.make_lock()
        self._watchers: list[Wakeup] = []

    def watch(self, wakeup: Wakeup) -> None:
        """Ring ``wakeup`` at the next change. The caller holds the lock."""
        self._watchers.append(wakeup)

    def changed(self) -> None:
        """Wake all waiting threads. The caller holds the lock."""
        watchers, self._watchers = self._watchers, []
        for wakeup in watchers:
            wakeup.ring()


class Stream:
    """Bytes in transit in one direction.

    Attributes:
        data: the bytes.
        has_writer: whether more bytes may come.
        has_reader: whether the bytes can still be read.
        is_broken: whether the next read without data raises ECONNRESET: the other side closed without reading.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.has_writer = self.has_reader = True
        self.is_broken = False

    def take(self, size: int, *, peeks: bool = False) -> bytes | None:
        """Return up to ``size`` bytes; empty at the end of the stream, ``None`` if there are no bytes yet.

        Raises:
            OSError: the writer closed without reading the bytes that it was sent.
        """
        if self.data or size == 0:
            taken = bytes(self.data[:size])
            if not peeks:
                del self.data[:size]
            return taken
        if self.is_broken and self.has_reader:
            self.is_broken = False
            raise system_error(errno.ECONNRESET)
        return None if self.has_writer and self.has_reader else b""

    def write(self, data: Any) -> int | None:
        """Append bytes as far as there is room; return their number, ``None`` if there is no room.

        Raises:
            OSError: no reader or no writer is left.
        """
        if not (self.has_writer and self.has_reader):
            raise system_error(errno.EPIPE)
        fits = bytes(data[: ROOM - len(self.data)])
        if data and not fits:
            return None
        self.data += fits
        return len(fits)

    @property
    def is_readable(self) -> bool:
        """Whether :meth:`take` would return bytes or fail."""
        return bool(self.data) or not (self.has_writer and self.has_reader) or self.is_broken

    @property
    def is_writable(self) -> bool:
        """Whether :meth:`write` would append bytes or fail."""
        return len(self.data) < ROOM or not (self.has_writer and self.has_reader)


class _Open:
    """Open file of a descriptor.

    As on Linux, closing the descriptor ends no call in progress: the file is released when the last call returns.

    Attributes:
        link: the object that is locked, watched and changed.
        users: number of calls in progress.
        is_closed: whether the descriptor is closed.
    """

    def __init__(self, link: Changing | None) -> None:
        self._link = link
        self.users = 0
        self.is_closed = False

    @property
    def link(self) -> Changing:
        assert self._link is not None
        return self._link

    def close(self) -> None:
        """Close the descriptor."""
        with self.link.lock:
            self.is_closed = True
            if not self.users:
                self.let_go()

    def leave(self) -> None:
        """Record that a call is over. The caller holds the lock."""
        self.users -= 1
        if self.is_closed and not self.users:
            self.let_go()

    def let_go(self) -> None:
        """Release the file: no call uses it any more. The caller holds the lock."""
        raise NotImplementedError

    @property
    def is_readable(self) -> bool:
        """Whether a read would not wait. The caller holds the lock."""
        raise NotImplementedError

    @property
    def is_writable(self) -> bool:
        """Whether a write would not wait. The caller holds the lock."""
        raise NotImplementedError


class End(_Open):
    """One end of a link: it reads from one stream and writes to another.

    Attributes:
        incoming: the stream that it reads; ``None`` for the writing end of a pipe.
        outgoing: the stream that it writes; ``None`` for the reading end of a pipe.
        name: its address.
        peer: the address of the other end.
        waits: whether ``os.read`` and ``os.write`` of its descriptor block.
    """

    def __init__(
        self, link: Changing, incoming: Stream | None, outgoing: Stream | None, name: Any = "", peer: Any = ""
    ) -> None:
        super().__init__(link)
        self.incoming = incoming
        self.outgoing = outgoing
        self.name = name
        self.peer = peer
        self.waits = True

    @property
    def is_readable(self) -> bool:
        """Whether a read would not wait. The caller holds the lock."""
        return self.incoming is not None and self.incoming.is_readable

    @property
    def is_writable(self) -> bool:
        """Whether a write would not wait. The caller holds the lock."""
        return self.outgoing is not None and self.outgoing.is_writable

    def take(self, size: int, *, peeks: bool = False) -> bytes | None:
        """Read like :meth:`Stream.take`."""
        if self.incoming is None:
            raise system_error(errno.EBADF)
        return self.incoming.take(size, peeks=peeks)

    def write(self, data: Any) -> int | None:
        """Write like :meth:`Stream.write`."""
        if self.outgoing is None:
            raise system_error(errno.EBADF)
        return self.outgoing.write(data)

    def shut(self, *, reads: bool, writes: bool) -> None:
        """Shut down reading, writing or both. The caller holds the lock."""
        if reads and self.incoming is not None:
            self.incoming.has_reader = False
        if writes and self.outgoing is not None:
            self.outgoing.has_writer = False
        self.link.changed()

    def let_go(self, *, resets: bool = False) -> None:
        """Shut the end down. If it has unread data, or with ``resets``, the other end's next read is reset."""
        if self.outgoing is not None and self.incoming is not None and (resets or self.incoming.data):
            self.outgoing.is_broken = True
        self.shut(reads=True, writes=True)


class Port(_Open):
    """An address that a socket may listen on.

    Attributes:
        address: the address.
        most: the backlog of connections that wait to be accepted; -1 if no socket listens.
        waiting: the server's ends of these connections, oldest first.
    """

    def __init__(self, network: Network, address: Any) -> None:
        super().__init__(Changing(network))
        self.address = address
        self.is_bound = False
        self.most = -1
        self.waiting: deque[End] = deque()

    @property
    def is_readable(self) -> bool:
        """Whether a connection can be accepted. The caller holds the lock."""
        return bool(self.waiting)

    @property
    def is_writable(self) -> bool:
        """False: a port cannot be written."""
        return False

    def bind(self) -> None:
        """Bind the port.

        Raises:
            OSError: another socket has bound it.
        """
        with self.link.lock:
            if self.is_bound:
                raise system_error(errno.EADDRINUSE)
            self.is_bound, self.is_closed = True, False

    def listen(self, most: int) -> None:
        """Listen for connections."""
        with self.link.lock:
            self.most = max(most, 0)

    def connect(self, network: Network, name: Any) -> End | None:
        """Return the client's end of a new connection; ``None`` if the backlog is full. The caller holds the lock.

        Raises:
            OSError: no socket listens here.
        """
        if self.most < 0:
            raise system_error(errno.ECONNREFUSED)
        if len(self.waiting) > self.most:
            return None
        client, server = network.linked(name, self.address)
        self.waiting.append(server)
        return client

    def accept(self) -> End | None:
        """Return the server's end of the oldest connection; ``None`` if there is none. The caller holds the lock.

        Raises:
            OSError: no socket listens here any more.
        """
        if self.most < 0:
            raise system_error(errno.EINVAL)
        return self.waiting.popleft() if self.waiting else None

    def shut(self) -> None:
        """Stop listening: calls that wait in :meth:`accept` fail, and connections that were not accepted are reset."""
        self.most, given_up = -1, list(self.waiting)
        self.waiting.clear()
        self.link.changed()
        for end in given_up:
            with end.link.lock:
                end.let_go(resets=True)

    def let_go(self) -> None:
        """Release the address and stop listening."""
        self.is_bound = False
        self.shut()


class Network:
    """State that the virtual sockets and pipes of a sandbox share.

    Args:
        scheduler: the scheduler of the threads that use the network.

    Attributes:
        ends: open descriptor -> its file. numbers: (kind, thread) -> last number used. make_wakeup: type of wakeups.
        default_timeout: most seconds that calls of new sockets wait; ``None`` for no limit.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        own = {"scheduler": scheduler, "__slots__": ()}
        self._lock_type: type[VirtualLock] = type("lock", (VirtualLock,), own)
        self.make_wakeup: type[Wakeup] = type("Wakeup", (Wakeup,), own)
        self.ends: dict[int, Any] = {}
        self.default_timeout: float | None = None
        self._first_timeout: float | None = None
        self._ports: dict[Any, Port] = {}
        self.numbers: dict[tuple[str, int], int] = {}

    def make_lock(self) -> VirtualLock:
        """Create a lock."""
        return self._lock_type()

    def start_over(self) -> None:
        """Forget the descriptors and ports of an execution."""
        self.default_timeout = self._first_timeout
        self.ends.clear()
        self._ports.clear()
        self.numbers.clear()

    def _doubt(self, what: str) -> None:
        if self.scheduler.live and not self.scheduler.steps_are_events:
            why = f"uses {what}: at this granularity their content is not part of the compared states"
            self.scheduler.proof_obstacles[f"{where(sys._getframe(2))}: {why}"] = None

    def set_default_timeout(self, timeout: float | None) -> None:
        """Set the timeout of new sockets: for this execution, or for all if a module sets it when it is imported."""
        self.default_timeout = timeout
        if self.scheduler.loading:
            self._first_timeout = timeout

    def _next(self, what: str) -> int:
        """Return the next number of a kind for the running thread: it does not depend on the order of threads."""
        key = what, self.scheduler.current
        number = self.numbers[key] = self.numbers.get(key, -1) + 1
        return number

    def descriptor(self, end: Any) -> int:
        """Return a new descriptor of ``end``; no number is used twice in an execution."""
        number = FIRST_DESCRIPTOR + (self.scheduler.current - HUB) * _OF_A_THREAD + self._next("descriptors")
        self.ends[number] = end
        return number

    def knows(self, descriptor: object) -> bool:
        """Whether a number is a virtual descriptor, open or not."""
        return isinstance(descriptor, int) and descriptor >= FIRST_DESCRIPTOR

    def end_of(self, descriptor: int) -> Any:
        """Return the file of a descriptor.

        Raises:
            OSError: the descriptor is not open.
        """
        if self.scheduler.live:
            self.scheduler.touch(self, descriptor, READ)
        self._doubt("descriptors")  # before the lookup: this runs standard library code that may switch threads
        if descriptor not in self.ends:
            raise system_error(errno.EBADF)
        return self.ends[descriptor]

    def forget(self, descriptor: int) -> Any:
        """Remove a descriptor and return its file."""
        if self.scheduler.live and not self.scheduler.aborting:
            self.scheduler.touch(self, descriptor, WRITE)
        if descriptor not in self.ends:
            raise system_error(errno.EBADF)
        return self.ends.pop(descriptor)

    def free_port(self) -> int:
        """Return an unused port number."""
        return _FIRST_PORT + (self.scheduler.current - HUB) * _PORTS_OF_A_THREAD + self._next("ports")

    def port(self, place: Any, address: Any) -> Port:
        """Return the port with the key ``place``; all spellings of an address have the same key."""
        self._doubt("addresses")
        return self._ports.get(place) or self._ports.setdefault(place, Port(self, address))

    def linked(self, name: Any = "", peer: Any = "") -> tuple[End, End]:
        """Create a bidirectional link; return its two ends."""
        link, there, back = Changing(self), Stream(), Stream()
        return End(link, back, there, name, peer), End(link, there, back, peer, name)

    def pipe(self) -> tuple[End, End]:
        """Create a pipe; return its reading end and its writing end."""
        link, stream = Changing(self), Stream()
        return End(link, stream, None), End(link, None, stream)

    def attempt(self, thing: _Open, does: Callable[[], T | None], timeout: float | None) -> T:
        """Call ``does`` under the lock of ``thing`` after each change until it returns a result; return the result.

        Raises:
            TimeoutError: there was no result within ``timeout`` seconds.
            BlockingIOError: the timeout is 0, and the first call returned ``None``.
        """
        deadline, is_first = None, True
        while True:
            with thing.link.lock:
                thing.users += is_first
                is_first = False
                try:
                    result = does()
                except OSError:
                    thing.leave()
                    raise
                if result is not None or timeout == 0:
                    thing.leave()
                    if result is None:
                        raise system_error(errno.EAGAIN)
                    thing.link.changed()
                    return result
                wakeup = self.make_wakeup()
                thing.link.watch(wakeup)
            if timeout is not None and deadline is None:
                deadline = self.scheduler.deadline(timeout)
            if not wakeup.wait(deadline):
                with thing.link.lock:
                    thing.leave()
                raise TimeoutError("timed out")

    def ready(
        self, things: Sequence[_Open | None], reads: Sequence[bool], timeout: float | None, make: Callable[[], Wakeup]
    ) -> list[bool]:
        """Return for each of the things whether it is ready; wait until one is ready or the timeout is over.

        Args:
            things: the files; ``None`` for a socket that is neither connected nor listens.
            reads: for each file, whether it must be readable; if not, it must be writable.
            timeout: most seconds to wait; ``None`` for no limit.
            make: creates the wakeup to wait for.
        """
        deadline = None
        while True:
            readiness, wakeup = [], make()
            for thing, is_read in zip(things, reads, strict=True):
                if thing is None:
                    readiness.append(False)
                    continue
                with thing.link.lock:
                    is_ready = thing.is_readable if is_read else thing.is_writable
                    readiness.append(is_ready and not thing.is_closed)
                    if timeout != 0 and not any(readiness):
                        thing.link.watch(wakeup)
            if any(readiness) or timeout == 0:
                return readiness
            if timeout is not None and deadline is None:
                deadline = self.scheduler.deadline(timeout)
            if not wakeup.wait(deadline) or wakeup.is_of_system:
                return readiness
