"""One thread owns the store; every call is a message to it and waits for the answer. `close` ends the thread.

Correct. A call takes effect when the owner carries it out: between its invocation and its answer, and never at the same
time as another. No caller waits for ever: the owner answers each message, also with the error that the call raised, and
under one lock either a message is queued before the end mark or it is refused.
"""

from __future__ import annotations

import builtins
import threading
import weakref
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from textbook import TextbookIndexer

from kcache import Indexer, Indexers, KeyFunc

T = TypeVar("T")
R = TypeVar("R")


class Message(Generic[R]):
    """A call on its way to the owner, and its outcome on the way back."""

    def __init__(self, call: Callable[[], R]) -> None:
        self._call = call
        self._result: R
        self._error: BaseException | None = None
        self.answered = threading.Event()

    def carry_out(self) -> None:
        try:
            self._result = self._call()
        except BaseException as error:
            self._error = error
        self.answered.set()

    def outcome(self) -> R:
        if self._error is not None:
            raise self._error
        return self._result


class Owner:
    """A thread that carries out calls in the order in which they arrive."""

    def __init__(self) -> None:
        self._closing = threading.Lock()
        self._closed = False
        self._inbox: SimpleQueue[Message[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=_serve, args=(self._inbox,), name="owner", daemon=True)
        self._thread.start()
        weakref.finalize(self, self._inbox.put, None)

    def ask(self, call: Callable[[], R]) -> R:
        if threading.current_thread() is self._thread:
            return call()  # from an index function
        message = Message(call)
        with self._closing:
            if self._closed:
                raise RuntimeError("this indexer was closed")
            self._inbox.put(message)
        message.answered.wait()
        return message.outcome()

    def close(self) -> None:
        with self._closing:
            self._closed = True
            self._inbox.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()


def _serve(inbox: SimpleQueue[Message[Any] | None]) -> None:
    while (message := inbox.get()) is not None:
        message.carry_out()
        del message  # keeps nothing alive while it waits for the next one


class OwnerThreadIndexer(Generic[T]):
    """A textbook Indexer in the hands of an owner."""

    def __init__(
        self, key_func: KeyFunc[T], indexers: Indexers[T], semantics: str = "classic", owner: Owner | None = None
    ) -> None:
        self._store = TextbookIndexer(key_func, indexers, semantics)
        self._owner = owner or Owner()

    def close(self) -> None:
        self._owner.close()

    def add(self, obj: T, /) -> None:
        self._owner.ask(lambda: self._store.add(obj))

    def update(self, obj: T, /) -> None:
        self._owner.ask(lambda: self._store.update(obj))

    def delete(self, obj: T, /) -> None:
        self._owner.ask(lambda: self._store.delete(obj))

    def replace(self, objs: Iterable[T], resource_version: str = "", /) -> None:
        copy = list(objs)
        self._owner.ask(lambda: self._store.replace(copy, resource_version))

    def resync(self) -> None:
        """Nothing to do."""

    def get(self, obj: T, default: Any = None) -> Any:
        return self._owner.ask(lambda: self._store.get(obj, default))

    def get_by_key(self, key: str, default: Any = None) -> Any:
        return self._owner.ask(lambda: self._store.get_by_key(key, default))

    def list(self) -> builtins.list[T]:
        return self._owner.ask(self._store.list)

    def list_keys(self) -> builtins.list[str]:
        return self._owner.ask(self._store.list_keys)

    def index(self, index_name: str, obj: T, /) -> builtins.list[T]:
        return self._owner.ask(lambda: self._store.index(index_name, obj))

    def index_keys(self, index_name: str, index_value: str, /) -> builtins.list[str]:
        return self._owner.ask(lambda: self._store.index_keys(index_name, index_value))

    def by_index(self, index_name: str, index_value: str, /) -> builtins.list[T]:
        return self._owner.ask(lambda: self._store.by_index(index_name, index_value))

    def list_index_func_values(self, index_name: str, /) -> builtins.list[str]:
        return self._owner.ask(lambda: self._store.list_index_func_values(index_name))

    def get_indexers(self) -> Indexers[T]:
        return self._owner.ask(self._store.get_indexers)

    def add_indexers(self, new_indexers: Indexers[T], /) -> None:
        self._owner.ask(lambda: self._store.add_indexers(new_indexers))


def new_indexer(key_func: KeyFunc[Any], indexers: Indexers[Any], semantics: str = "classic") -> Indexer[Any]:
    return OwnerThreadIndexer(key_func, indexers, semantics)
