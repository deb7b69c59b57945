"""Network under virtual sockets and pipes: links of two streams, ports, descriptors, and waits for a change of them.

Each link, and each port, has a virtual lock of its own, under which alone it is looked at and changed. Who has to wait
leaves a wakeup with it: a lock that the next change releases. So all that a scheduler has to know of them is locks.
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
"""Above all that the process can have."""
_OF_A_THREAD: Final = 10_000
_FIRST_PORT: Final = 49_152
_PORTS_OF_A_THREAD: Final = 500
ROOM: Final = 212_992
"""Bytes that may be on their way in one direction: what Linux grants by default."""


class Wakeup(VirtualLock):
    """What a thread waits for that waits for a change: taken when it is made, and released by the change."""

    __slots__ = ()
    what: str = "data, room or a connection that never comes"

    def __init__(self) -> None:
        super().__init__()
        self.free = False

    @property
    def is_of_system(self) -> bool:
        """Whether it is over for a reason that lies outside."""
        return False

    def ring(self) -> None:
        """Let it go on; several changes may."""
        scheduler = self.scheduler
        if scheduler.live and not scheduler.aborting:
            scheduler.point(RELEASE, self, None)
        self.free = True

    def wait(self, deadline: float | None) -> bool:
        """Whether it was rung before the virtual time was ``deadline``."""
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
    """Something that is changed under its lock, and that threads wait for.

    Attributes:
        lock: guards it.
    """

    def __init__(self, network: Network) -> None:
        self.lock: VirtualLock = network.make_lock()
        self._watchers: list[Wakeup] = []

    def watch(self, wakeup: Wakeup) -> None:
        """Ring at the next change; the lock is held."""
        self._watchers.append(wakeup)

    def changed(self) -> None:
        """Ring for all who wait; the lock is held."""
        watchers, self._watchers = self._watchers, []
        for wakeup in watchers:
            wakeup.ring()


class Stream:
    """Bytes on their way in one direction.

    Attributes:
        data: the bytes.
        has_writer: whether more may come.
        has_reader: whether anybody may take them.
        is_broken: whether the next one who finds nothing is told that the other side went away without reading.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.has_writer = self.has_reader = True
        self.is_broken = False

    def take(self, size: int, *, peeks: bool = False) -> bytes | None:
        """Up to ``size`` bytes; none at all at the end, ``None`` if there are none yet.

        Raises:
            OSError: the writer went away without reading what it was sent.
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

    def put(self, data: Any) -> int | None:
        """How many of the bytes were put; ``None`` if there is no room.

        Raises:
            OSError: nobody will read them.
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
        """Whether :meth:`take` would give something."""
        return bool(self.data) or not (self.has_writer and self.has_reader) or self.is_broken

    @property
    def is_writable(self) -> bool:
        """Whether :meth:`put` would, or fail."""
        return len(self.data) < ROOM or not (self.has_writer and self.has_reader)


class _Open:
    """What a descriptor stands for.

    As on Linux, closing it ends no call that is under way: it is let go of when the last of them returns.

    Attributes:
        link: what is locked, watched and changed.
        users: how many calls are under way.
        is_closed: whether its descriptor is.
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
        """Close it."""
        with self.link.lock:
            self.is_closed = True
            if not self.users:
                self.let_go()

    def leave(self) -> None:
        """A call is over; the lock is held."""
        self.users -= 1
        if self.is_closed and not self.users:
            self.let_go()

    def let_go(self) -> None:
        """Nobody uses it any more; the lock is held."""
        raise NotImplementedError

    @property
    def is_readable(self) -> bool:
        """Whether a read would not wait; the lock is held."""
        raise NotImplementedError

    @property
    def is_writable(self) -> bool:
        """Whether a write would not wait; the lock is held."""
        raise NotImplementedError


class End(_Open):
    """One end of a link: it reads from one stream and writes to another.

    Attributes:
        incoming: what it reads; ``None`` for the writing end of a pipe.
        outgoing: what it writes; ``None`` for the reading end of a pipe.
        name: its address.
        peer: the address of the other end.
        waits: whether reads and writes by its descriptor do.
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
        """Whether a read would not wait; the lock is held."""
        return self.incoming is not None and self.incoming.is_readable

    @property
    def is_writable(self) -> bool:
        """Whether a write would not wait; the lock is held."""
        return self.outgoing is not None and self.outgoing.is_writable

    def take(self, size: int, *, peeks: bool = False) -> bytes | None:
        """As :meth:`Stream.take`."""
        if self.incoming is None:
            raise system_error(errno.EBADF)
        return self.incoming.take(size, peeks=peeks)

    def put(self, data: Any) -> int | None:
        """As :meth:`Stream.put`."""
        if self.outgoing is None:
            raise system_error(errno.EBADF)
        return self.outgoing.put(data)

    def shut(self, *, reads: bool, writes: bool) -> None:
        """Read or write no more; the lock is held."""
        if reads and self.incoming is not None:
            self.incoming.has_reader = False
        if writes and self.outgoing is not None:
            self.outgoing.has_writer = False
        self.link.changed()

    def let_go(self, *, resets: bool = False) -> None:
        """Tell the other end; ``resets`` if nobody will ever have read what it sent."""
        if self.outgoing is not None and self.incoming is not None and (resets or self.incoming.data):
            self.outgoing.is_broken = True
        self.shut(reads=True, writes=True)


class Port(_Open):
    """An address that somebody may listen on.

    Attributes:
        address: where it is.
        most: how many connections may wait to be accepted; -1 if nobody listens.
        waiting: these connections, each the server's end.
    """

    def __init__(self, network: Network, address: Any) -> None:
        super().__init__(Changing(network))
        self.address = address
        self.is_bound = False
        self.most = -1
        self.waiting: deque[End] = deque()

    @property
    def is_readable(self) -> bool:
        """Whether a connection can be accepted; the lock is held."""
        return bool(self.waiting)

    @property
    def is_writable(self) -> bool:
        """Never: nothing is written to it."""
        return False

    def bind(self) -> None:
        """Take it.

        Raises:
            OSError: somebody has it.
        """
        with self.link.lock:
            if self.is_bound:
                raise system_error(errno.EADDRINUSE)
            self.is_bound, self.is_closed = True, False

    def listen(self, most: int) -> None:
        """Let others connect."""
        with self.link.lock:
            self.most = max(most, 0)

    def connect(self, network: Network, name: Any) -> End | None:
        """The client's end of a new connection; ``None`` if too many wait already; the lock is held.

        Raises:
            OSError: nobody listens here.
        """
        if self.most < 0:
            raise system_error(errno.ECONNREFUSED)
        if len(self.waiting) > self.most:
            return None
        client, server = network.linked(name, self.address)
        self.waiting.append(server)
        return client

    def accept(self) -> End | None:
        """The server's end of the oldest connection; ``None`` if there is none; the lock is held.

        Raises:
            OSError: nobody listens here any more.
        """
        if self.most < 0:
            raise system_error(errno.EINVAL)
        return self.waiting.popleft() if self.waiting else None

    def shut(self) -> None:
        """Listen no more: who waits in :meth:`accept` is told, and connections that nobody accepted are reset."""
        self.most, given_up = -1, list(self.waiting)
        self.waiting.clear()
        self.link.changed()
        for end in given_up:
            with end.link.lock:
                end.let_go(resets=True)

    def let_go(self) -> None:
        """Give the address back."""
        self.is_bound = False
        self.shut()


class Network:
    """All that virtual sockets and pipes of a sandbox share.

    Args:
        scheduler: of the threads that use it.

    Attributes:
        ends: descriptor -> what it stands for. given: how many were. make_wakeup: makes what a thread waits for.
        default_timeout: how long calls of new sockets wait; ``None`` for ever.
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
        self.given: dict[tuple[str, int], int] = {}

    def make_lock(self) -> VirtualLock:
        """A new lock."""
        return self._lock_type()

    def start_over(self) -> None:
        """Forget what an execution has opened."""
        self.default_timeout = self._first_timeout
        self.ends.clear()
        self._ports.clear()
        self.given.clear()

    def _doubt(self, what: str) -> None:
        if self.scheduler.live and not self.scheduler.steps_are_events:
            why = f"uses {what}: what they stand for is no part of the states that are compared at this granularity"
            self.scheduler.doubts[f"{where(sys._getframe(2))}: {why}"] = None

    def set_default_timeout(self, timeout: float | None) -> None:
        """Let new sockets wait so long: in this execution, or in all if a module says so when it is imported."""
        self.default_timeout = timeout
        if self.scheduler.loading:
            self._first_timeout = timeout

    def _next(self, what: str) -> int:
        """Counts what a thread was given: no order of threads shows in it."""
        key = what, self.scheduler.current
        given = self.given[key] = self.given.get(key, -1) + 1
        return given

    def descriptor(self, end: Any) -> int:
        """A new descriptor; none is used twice in an execution."""
        number = FIRST_DESCRIPTOR + (self.scheduler.current - HUB) * _OF_A_THREAD + self._next("descriptors")
        self.ends[number] = end
        return number

    def knows(self, descriptor: object) -> bool:
        """Whether a number is one of its descriptors, open or not."""
        return isinstance(descriptor, int) and descriptor >= FIRST_DESCRIPTOR

    def end_of(self, descriptor: int) -> Any:
        """What a descriptor stands for.

        Raises:
            OSError: nothing.
        """
        if self.scheduler.live:
            self.scheduler.touch(self, descriptor, READ)
        self._doubt("descriptors")  # first: this runs code of the standard library, in which threads may be switched
        if descriptor not in self.ends:
            raise system_error(errno.EBADF)
        return self.ends[descriptor]

    def forget(self, descriptor: int) -> Any:
        """What a descriptor stood for, which stands for nothing from now on."""
        if self.scheduler.live and not self.scheduler.aborting:
            self.scheduler.touch(self, descriptor, WRITE)
        if descriptor not in self.ends:
            raise system_error(errno.EBADF)
        return self.ends.pop(descriptor)

    def free_port(self) -> int:
        """The number of a port that nobody was given."""
        return _FIRST_PORT + (self.scheduler.current - HUB) * _PORTS_OF_A_THREAD + self._next("ports")

    def port(self, place: Any, address: Any) -> Port:
        """The port at a place, which is the same for all that the address may be written like."""
        self._doubt("addresses")
        return self._ports.get(place) or self._ports.setdefault(place, Port(self, address))

    def linked(self, name: Any = "", peer: Any = "") -> tuple[End, End]:
        """The two ends of a new link that goes both ways."""
        link, there, back = Changing(self), Stream(), Stream()
        return End(link, back, there, name, peer), End(link, there, back, peer, name)

    def pipe(self) -> tuple[End, End]:
        """The reading and the writing end of a new pipe."""
        link, stream = Changing(self), Stream()
        return End(link, stream, None), End(link, None, stream)

    def attempt(self, thing: _Open, does: Callable[[], T | None], timeout: float | None) -> T:
        """What ``does`` gives under the lock of a thing, as soon as that is something.

        Raises:
            TimeoutError: it took longer than ``timeout`` seconds.
            BlockingIOError: it was 0.
        """
        deadline, is_first = None, True
        while True:
            with thing.link.lock:
                thing.users += is_first
                is_first = False
                try:
                    found = does()
                except OSError:
                    thing.leave()
                    raise
                if found is not None or timeout == 0:
                    thing.leave()
                    if found is None:
                        raise system_error(errno.EAGAIN)
                    thing.link.changed()
                    return found
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
        """For each of the things, whether it can be read, or be written; waits until one can, or too long.

        Args:
            things: the things; ``None`` for a socket that is neither connected nor listens.
            reads: for each, whether it is to be read.
            timeout: how long to wait; ``None`` for ever.
            make: makes what is waited for.
        """
        deadline = None
        while True:
            found, wakeup = [], make()
            for thing, is_read in zip(things, reads, strict=True):
                if thing is None:
                    found.append(False)
                    continue
                with thing.link.lock:
                    is_ready = thing.is_readable if is_read else thing.is_writable
                    found.append(is_ready and not thing.is_closed)
                    if timeout != 0 and not any(found):
                        thing.link.watch(wakeup)
            if any(found) or timeout == 0:
                return found
            if timeout is not None and deadline is None:
                deadline = self.scheduler.deadline(timeout)
            if not wakeup.wait(deadline) or wakeup.is_of_system:
                return found
