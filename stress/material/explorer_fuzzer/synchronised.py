"""Locks and their like, for parts that are right."""

from __future__ import annotations

from .vocabulary import part

LOCKED = part(
    "lock",
    "s.lock = threading.Lock(); s.rlock = threading.RLock(); s.held = 0; s.log = []",
    "s.held, s.log",
    """
    with s.lock: s.held += NUM
    with s.lock: s.log.append(s.held)
    with s.rlock: s.held += NUM
    with s.lock, s.rlock: s.held = NUM
    with s.rlock, s.lock: s.held = NUM
    s.lock.acquire(); s.held = NUM; s.lock.release()
    s.held = NUM
    """,
    """
    s.held
    s.locked_held()
    s.lock.locked()
    len(s.log)
    """,
    locks=True,
    methods="""
    def locked_held(self):
        with self.lock:
            held = self.held
            nop()
            return held, self.held
    """,
)

SIGNALLED = part(
    "event and queue",
    "s.event = threading.Event(); s.queue = queue.Queue(); s.sem = threading.Semaphore(1); s.done = 0",
    "s.done, s.event.is_set(), s.queue.qsize()",
    """
    s.event.set()
    s.done = NUM; s.event.set()
    s.queue.put(NUM)
    with s.sem: s.done += NUM
    s.event.clear()
    """,
    """
    s.event.is_set() and s.done
    s.queue.get()
    s.queue.qsize()
    s.event.wait() and s.done
    s.done
    """,
    locks=True,
)

SYNCHRONISED = (LOCKED, SIGNALLED)
