"""Entries of a transaction (client-go ``Transaction``, ``ThreadSafeStoreTransaction``)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class TransactionType(enum.Enum):
    """The kind of write of one entry of a transaction."""

    ADD = "Add"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True)
class Transaction(Generic[T]):
    """One write of a transaction on a :class:`~kcache.Store`."""

    type: TransactionType
    obj: T


class ThreadSafeStoreTransaction(NamedTuple, Generic[T]):
    """One write of a transaction on a :class:`~kcache.ThreadSafeStore`; ``obj`` may be ``None`` in a delete.

    Informers create an entry for each event: a tuple takes a third of the time of a frozen dataclass.
    """

    type: TransactionType
    key: str
    obj: T | None
