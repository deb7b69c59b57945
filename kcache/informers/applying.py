"""Applier: it applies changes to a store, then notifies a listener of them (client-go ``processDeltas``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..errors import TransactionError
from ..interfaces import KeyFunc, ThreadSafeStore
from ..keys import DeletedFinalStateUnknown
from ..queues import BookmarkInfo, Delta, DeltaType, ReplacedAllInfo
from ..queues.keys import key_of
from ..transaction import ThreadSafeStoreTransaction, TransactionType


class ChangeListener(Protocol):
    """A listener that is called for each change, after the change was applied to the store."""

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> object:
        """Handle the addition of an object."""
        ...

    def on_update(self, old: Any, new: Any, /) -> object:
        """Handle the replacement of an object by another."""
        ...

    def on_delete(self, obj: Any, /) -> object:
        """Handle the removal of an object."""
        ...


class Applier:
    """Applies deltas to a store, under their keys; the key function computes the key of a delta without one.

    Args:
        store: the store to change.
        listener: is called for each change.
        key_func: object -> key.
    """

    def __init__(self, store: ThreadSafeStore[Any], listener: ChangeListener, key_func: KeyFunc[Any]) -> None:
        self._store = store
        self._listener = listener
        self._key_func = key_func

    def apply(self, deltas: Iterable[Delta], is_in_initial_list: bool) -> None:
        """Apply deltas one after another.

        Raises:
            KeyFuncError, IndexFuncError, InvalidObjectError: the store rejected an object; those before it are applied.
        """
        for delta in deltas:
            match delta.type:
                case DeltaType.REPLACED_ALL:
                    self._replace(delta.object, is_in_initial_list)
                case DeltaType.SYNC_ALL:
                    for obj in self._store.list():
                        self._listener.on_update(obj, obj)
                case DeltaType.BOOKMARK:
                    info: BookmarkInfo = delta.object
                    self._store.bookmark(info.resource_version)
                case DeltaType.DELETED:
                    self._store.delete_with_object(self._key_of(delta), delta.object)
                    self._tell(delta, None, is_in_initial_list)
                case _:
                    key = self._key_of(delta)
                    old = self._store.get(key)
                    self._store.update(key, delta.object)
                    self._tell(delta, old, is_in_initial_list)

    def apply_batch(self, deltas: Sequence[Delta], is_in_initial_list: bool) -> None:
        """Apply deltas of distinct keys as one transaction: readers see all of them or none.

        Raises:
            KeyFuncError, IndexFuncError, InvalidObjectError: the store rejected some objects; this is the error of the
                first of them. All other changes are applied, and the listener is called for them.
        """
        entries = [_entry(self._key_of(delta), delta) for delta in deltas]
        before = [self._store.get(entry.key) for entry in entries]
        failed: TransactionError | None = None
        applied: Iterable[int] = range(len(deltas))
        try:
            self._store.transaction(*entries)
        except TransactionError as error:
            applied, failed = error.successful_indices, error
        for index in applied:
            self._tell(deltas[index], before[index], is_in_initial_list)
        if failed is not None:
            raise failed.errors[0] from failed

    def _replace(self, info: ReplacedAllInfo, is_in_initial_list: bool) -> None:
        # If several objects have one key, keep the last at the position of the first, as the store does.
        objs = {key_of(self._key_func, obj): obj for obj in info.objects}
        before = {key: self._store.get(key) for key in self._store.list_keys()}
        self._store.replace(objs, info.resource_version)
        for key, obj in before.items():
            if key not in objs:
                self._listener.on_delete(DeletedFinalStateUnknown(key, obj))
        for key, obj in objs.items():
            self._tell(Delta(DeltaType.REPLACED, obj), before.get(key), is_in_initial_list)

    def _key_of(self, delta: Delta) -> str:
        return key_of(self._key_func, delta.object) if delta.key is None else delta.key

    def _tell(self, delta: Delta, old: Any, is_in_initial_list: bool) -> None:
        if delta.type is DeltaType.DELETED:
            self._listener.on_delete(delta.object)
        elif old is None:
            self._listener.on_add(delta.object, is_in_initial_list)
        else:
            self._listener.on_update(old, delta.object)


def _entry(key: str, delta: Delta) -> ThreadSafeStoreTransaction[Any]:
    kind = TransactionType.DELETE if delta.type is DeltaType.DELETED else TransactionType.UPDATE
    return ThreadSafeStoreTransaction(kind, key, delta.object)
