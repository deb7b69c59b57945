"""The store exists twice: readers use one side, a writer changes the other, sends readers there, and then changes this.

Correct. A write takes effect when it turns the sign that readers follow. It changes a side only when nobody reads
there: the first side since readers were sent away from it by the last write, which waited for them to leave, and the
second after it has waited itself. A read takes effect when it reads the sign, since its side does not change until it
leaves. The twin `left_right_without_waiting` does not wait. Index functions are called twice and must not write to the
store.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, TypeVar

from textbook import TextbookIndexer, key_of

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")


class Side(TextbookIndexer[T]):
    """A textbook without a lock: whoever calls sees to it that nobody disturbs."""

    def _reading(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _writing(self) -> AbstractContextManager[object]:
        return nullcontext()


class LeftRightIndexer(Generic[T]):
    """Readers never wait for a writer to do its work."""

    def __init__(self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic") -> None:
        self._key_func = key_func
        self._sides = (Side(key_func, indexers, semantics), Side(key_func, indexers, semantics))
        self._writers = threading.Lock()
        self._changed = threading.Condition()
        self._sign = 0
        self._inside = [0, 0]

    def add(self, obj: T, /) -> None:
        self._write(lambda side: side.add(obj))

    def update(self, obj: T, /) -> None:
        self._write(lambda side: side.update(obj))

    def delete(self, obj: T, /) -> None:
        self._write(lambda side: side.delete(obj))

    def replace(self, objs: Iterable[T], resource_version: str = "", /) -> None:
        copy = list(objs)
        self._write(lambda side: side.replace(copy, resource_version))

    def resync(self) -> None:
        """Nothing to do."""

    def get(self, obj: T, default: Any = None) -> Any:
        return self.get_by_key(key_of(self._key_func, obj), default)

    def get_by_key(self, key: str, default: Any = None) -> Any:
        with self._reading() as side:
            return side.get_by_key(key, default)

    def list(self) -> builtins.list[T]:
        with self._reading() as side:
            return side.list()

    def list_keys(self) -> builtins.list[str]:
        with self._reading() as side:
            return side.list_keys()

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        with self._reading() as side:
            return side.index(index_name, obj)

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        with self._reading() as side:
            return side.index_keys(index_name, index_value)

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        with self._reading() as side:
            return side.by_index(index_name, index_value)

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        with self._reading() as side:
            return side.list_index_func_values(index_name)

    def get_indexers(self) -> Indexers[T]:
        with self._reading() as side:
            return side.get_indexers()

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        self._write(lambda side: side.add_indexers(new_indexers))

    @contextmanager
    def _reading(self) -> Iterator[Side[T]]:
        with self._changed:
            sign = self._sign
            self._inside[sign] += 1
        try:
            yield self._sides[sign]
        finally:
            with self._changed:
                self._inside[sign] -= 1
                self._changed.notify_all()

    def _write(self, change: Callable[[Side[T]], None]) -> None:
        with self._writers:
            this, other = self._sign, 1 - self._sign
            change(self._sides[other])  # if it fails, it has changed nothing
            with self._changed:
                self._sign = other
                self._wait_until_empty(this)
            change(self._sides[this])

    def _wait_until_empty(self, side: int) -> None:
        self._changed.wait_for(lambda: not self._inside[side])


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return LeftRightIndexer(key_func, indexers, semantics)
