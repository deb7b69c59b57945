"""Calls that take a lock for their thread, which another call is to give back: ``acquire`` of a class, for one."""

from __future__ import annotations

import contextlib
import gc
import threading
import types
from typing import Any, Final

from kcache_model.object_types.object_type import ObjectTarget, ObjectType

from ..real_threads.thread_pool import ThreadPool
from .named_target import new_object

_MOST_OBJECTS: Final = 500
_BLIND: Final = (type, types.ModuleType, types.FunctionType, types.CodeType, types.FrameType)
_RLOCK: Final = type(threading.RLock())
_PATIENCE_SECONDS: Final = 0.5


class KeepingCalls:
    """Tells which calls keep an ``RLock`` when they are made alone, on a new object; each is tried once.

    Args:
        object_type: of the target.
        target: the implementation, as it is installed.
    """

    def __init__(self, object_type: ObjectType, target: ObjectTarget) -> None:
        self._type = object_type
        self._target = target
        self._known: dict[str, bool] = {}

    def __call__(self, program: Any, operation: Any) -> bool:
        """Whether a call keeps a lock.

        Args:
            program: says how the object is made.
            operation: the call.
        """
        name = str(operation.name)
        if name not in self._known:
            self._known[name] = self._tried(program.with_calls((), ()), operation)
        return self._known[name]

    def _tried(self, program: Any, operation: Any) -> bool:
        kept: list[bool] = []

        def call() -> None:
            with contextlib.suppress(Exception):  # it is told where the program itself is run
                driver = new_object(self._type, self._target, program)
                if driver.call(operation).error is None:
                    kept.append(_keeps_lock(driver.made, threading.get_ident()))

        pool = ThreadPool(1)
        if pool.run([call], lambda: 0, _PATIENCE_SECONDS):
            pool.close()
        return any(kept)


def _keeps_lock(made: object, thread: int) -> bool:
    """Whether an object, or what it holds, has an ``RLock`` that a thread has taken. Looks at 500 objects at most."""
    seen: set[int] = set()
    todo = [made]
    while todo and len(seen) < _MOST_OBJECTS:
        found = todo.pop(0)
        if id(found) in seen or issubclass(type(found), _BLIND):
            continue
        seen.add(id(found))
        if type(found) is _RLOCK:
            if f" owner={thread} " in repr(found):  # nothing else tells whose it is
                return True
        else:
            todo += gc.get_referents(found)
    return False
