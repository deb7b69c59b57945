"""Classes whose methods have parameters with defaults: each once with a fault where they are passed, once right."""

from __future__ import annotations

import threading
from collections.abc import Callable


class GoodItems:
    """Urgent items come first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: list[int] = []

    def _put(self, item: int, is_urgent: bool) -> None:
        self._items = [item, *self._items] if is_urgent else [*self._items, item]

    def put(self, item: int, urgent: bool = False) -> None:
        with self._lock:
            self._put(item, urgent)

    def items(self) -> list[int]:
        with self._lock:
            return self._items


class BadItems(GoodItems):
    def put(self, item: int, urgent: bool = False) -> None:
        if urgent:
            self._put(item, is_urgent=True)
        else:
            super().put(item)


class GoodStore:
    """set() may keep an old value; pop() may tell a callback."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, int] = {}

    def _is_kept(self, key: str, replace: bool) -> bool:
        return not replace and key in self._values

    def set(self, key: str, value: int, *, replace: bool = True) -> bool:
        with self._lock:
            if self._is_kept(key, replace):
                return False
            self._values[key] = value
            return True

    def pop(
        self, key: str, default: int | None = None, on_pop: Callable[[int | None], None] | None = None
    ) -> int | None:
        with self._lock:
            found = self._values.pop(key, default)
        if on_pop is not None:
            on_pop(found)
        return found


class BadStore(GoodStore):
    def set(self, key: str, value: int, *, replace: bool = True) -> bool:
        return not self._is_kept(key, replace) and super().set(key, value)


class GoodPool:
    """A caller says whether it waits, and how long."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._free = [1]

    def _take(self) -> int:
        if not self._free:
            raise LookupError("nothing is free")
        return self._free.pop()

    def acquire(self, block: bool = True, timeout: float | None = None) -> int:
        with self._changed:
            if block and not self._changed.wait_for(lambda: self._free, timeout):
                raise TimeoutError
            return self._take()

    def release(self, connection: int) -> None:
        with self._changed:
            self._free.append(connection)
            self._changed.notify()


class BadPool(GoodPool):
    def acquire(self, block: bool = True, timeout: float | None = None) -> int:
        return super().acquire(timeout=timeout) if block else self._take()
