"""Calls that return while their thread holds a lock, such as ``acquire`` of a class: another call is to release it."""

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
    """Test whether calls keep an ``RLock`` when they are made alone on a new object; each operation is tried once.

    Args:
        object_type: of the target.
        target: the implementation, as it is installed.
    """

    def __init__(self, object_type: ObjectType, target: ObjectTarget) -> None:
        self._type = object_type
        self._target = target
        self._known: dict[str, bool] = {}

    def __call__(self, program: Any, operation: Any) -> bool:
        """Whether a call keeps an ``RLock``; ``False`` if the call raises or does not return within 0.5 s.

        Args:
            program: determines how the object is created.
            operation: the call.
        """
        name = str(operation.name)
        if name not in self._known:
            self._known[name] = self._tried(program.with_calls((), ()), operation)
        return self._known[name]

    def _tried(self, program: Any, operation: Any) -> bool:
        kept: list[bool] = []

        def call() -> None:
            with contextlib.suppress(Exception):  # reported when the program itself is run
                driver = new_object(self._type, self._target, program)
                if driver.call(operation).error is None:
                    kept.append(_keeps_lock(driver.made, threading.get_ident()))

        pool = ThreadPool(1)
        if pool.run([call], lambda: 0, _PATIENCE_SECONDS):
            pool.close()
        return any(kept)


def _keeps_lock(made: object, thread: int) -> bool:
    """Whether a thread holds an ``RLock`` reachable from an object. Breadth-first; inspects at most 500 objects."""
    seen: set[int] = set()
    todo = [made]
    while todo and len(seen) < _MOST_OBJECTS:
        found = todo.pop(0)
        if id(found) in seen or issubclass(type(found), _BLIND):
            continue
        seen.add(id(found))
        if type(found) is _RLOCK:
            if f" owner={thread} " in repr(found):  # an RLock shows its owner only in its repr
                return True
        else:
            todo += gc.get_referents(found)
    return False
