"""Virtual locks: the counterparts of ``_thread.lock`` and ``_thread.RLock`` for virtual threads."""

from __future__ import annotations

import _thread
from types import TracebackType
from typing import Final

from ...engine.events import ACQUIRE, QUERY, RELEASE, TRY
from .scheduler import Scheduler
from .virtual_thread import Timed

_LONGEST_TIMEOUT: Final = _thread.TIMEOUT_MAX


class _Lock:
    """Base class of both kinds of locks.

    Attributes:
        free: whether no thread holds the lock.
        maker: number of the thread that created it.
        owner: number of the thread that acquired it; meaningful while the lock is not free.
    """

    __slots__ = ("__weakref__", "free", "maker", "owner")
    scheduler: Scheduler  # set by the subclass that `make_thread_module` creates

    def __init__(self) -> None:
        self.free = True
        self.maker = self.scheduler.current
        self.owner = -1

    def release(self) -> None:
        """Release the lock."""
        raise NotImplementedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def locked(self) -> bool:
        """Whether a thread holds the lock (CPython's ``RLock`` has this method since Python 3.14)."""
        if self.scheduler.live:
            self.scheduler.point(QUERY, self, None)
        return not self.free

    def __repr__(self) -> str:
        scheduler = self.scheduler
        if scheduler.live and not (scheduler.aborting or scheduler.is_choosing):
            scheduler.point(QUERY, self, None)
        kind = type(self)
        return f"<{'unlocked' if self.free else 'locked'} {kind.__module__}.{kind.__name__} object at {id(self):#x}>"


class VirtualLock(_Lock):
    """``_thread.lock``: not re-entrant; any thread may release it."""

    __slots__ = ()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock; see ``_thread.lock.acquire``."""
        scheduler = self.scheduler
        if not wait_for_lock(self, blocking, timeout):
            return False
        self.free = False
        self.owner = scheduler.current
        return True

    __enter__ = acquire
    acquire_lock = acquire

    def release(self) -> None:
        """Release the lock.

        Raises:
            RuntimeError: no thread holds it.
        """
        scheduler = self.scheduler
        if scheduler.live and not scheduler.aborting:
            scheduler.point(RELEASE, self, None)
        if self.free and not scheduler.aborting:
            raise RuntimeError("release unlocked lock")
        self.free = True

    release_lock = release

    locked_lock = _Lock.locked

    def _at_fork_reinit(self) -> None:
        self.free = True


class VirtualRLock(_Lock):
    """``_thread.RLock``: the thread that holds the lock may acquire it again.

    Attributes:
        count: number of times that the owner has acquired it and not released it.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock; see ``_thread.RLock.acquire``."""
        scheduler = self.scheduler
        if not self.free and self.owner == scheduler.current:
            self.count += 1
            return True
        if not wait_for_lock(self, blocking, timeout):
            return False
        self.free = False
        self.owner = scheduler.current
        self.count = 1
        return True

    __enter__ = acquire

    def release(self) -> None:
        """Release the lock once.

        Raises:
            RuntimeError: the calling thread does not hold it.
        """
        scheduler = self.scheduler
        if self.free or self.owner != scheduler.current:
            if scheduler.aborting:
                return
            raise RuntimeError("cannot release un-acquired lock")
        if self.count == 1:
            if scheduler.live and not scheduler.aborting:
                scheduler.point(RELEASE, self, None)
            self.free = True
        self.count -= 1

    def _is_owned(self) -> bool:
        return not self.free and self.owner == self.scheduler.current

    def _recursion_count(self) -> int:
        return self.count if self._is_owned() else 0

    def _release_save(self) -> tuple[int, int]:
        """Release the lock completely; return the argument of :meth:`_acquire_restore`. For ``threading.Condition``."""
        saved = self.count, self.owner
        if not self._is_owned():
            raise RuntimeError("cannot release un-acquired lock")
        self.count = 1
        self.release()
        return saved

    def _acquire_restore(self, saved: tuple[int, int]) -> None:
        if self.scheduler.aborting:
            self.free = False
            self.owner = self.scheduler.current
        else:
            self.acquire()
        self.count = saved[0]

    def _at_fork_reinit(self) -> None:
        self.free, self.count = True, 0


def wait_for_lock(lock: VirtualLock | VirtualRLock, blocking: bool, timeout: float) -> bool:
    """Wait for a lock, at most for ``timeout`` seconds; return whether the caller may acquire it."""
    scheduler = lock.scheduler
    if blocking and timeout == -1:
        if scheduler.live and not scheduler.aborting:
            scheduler.point(ACQUIRE, lock, lock)
        elif not lock.free:
            scheduler.wait_idle(ACQUIRE, lock)
        return True
    _check_timeout(blocking, timeout)
    if blocking and timeout != 0:
        deadline = scheduler.deadline(timeout)
        if scheduler.live and not scheduler.aborting:
            # Not `lock.free`: after a timeout, the lock may have been released while the clock was moved.
            return scheduler.point_timed(lock, Timed(scheduler, lock, deadline))
        if not lock.free:
            return scheduler.wait_idle(TRY, lock, deadline)
    elif scheduler.live:
        scheduler.point(TRY, lock, None)
    return lock.free


def _check_timeout(blocking: bool, timeout: float) -> None:
    if not blocking and timeout != -1:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if timeout < 0 and timeout != -1:
        raise ValueError("timeout value must be a non-negative number")
    if timeout > _LONGEST_TIMEOUT:
        raise OverflowError("timeout value is too large")
