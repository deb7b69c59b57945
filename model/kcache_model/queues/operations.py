"""Operations on a queue, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias


class CallName(enum.StrEnum):
    """The calls."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"
    REPLACE = "replace"
    RESYNC = "resync"
    BOOKMARK = "bookmark"
    POP = "pop"
    POP_BATCH = "pop_batch"
    CLOSE = "close"
    IS_CLOSED = "is_closed"
    HAS_SYNCED = "has_synced"
    LENGTH = "len"
    KEY_OF = "key_of"
    KNOWN = "known"
    """No call of the queue: reads what its consumer has stored."""


class ErrorKind(enum.StrEnum):
    """Why a call failed."""

    KEY_FUNC = "key_func"
    TRANSFORMER = "transformer"
    CLOSED = "closed"
    OTHER = "other"
    """An exception that is none of kcache's: the message says which."""


READS = frozenset({CallName.IS_CLOSED, CallName.HAS_SYNCED, CallName.LENGTH, CallName.KEY_OF, CallName.KNOWN})
"""The calls that change nothing."""

WRITES = frozenset(
    {CallName.ADD, CallName.UPDATE, CallName.DELETE, CallName.REPLACE, CallName.RESYNC, CallName.BOOKMARK}
)
"""The calls that queue something."""

POPS = frozenset({CallName.POP, CallName.POP_BATCH})
"""The calls that wait while there is nothing to hand out."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one object.

    Attributes:
        key: what the key function returns for it; ``None`` if the key function fails.
        stamp: names this version; no two share one.
        is_rejected: whether the transformer fails for it.
        transformed: how often the transformer has run on it.
    """

    key: str | None
    stamp: str
    is_rejected: bool = False
    transformed: int = 0

    def __str__(self) -> str:
        return self.stamp + "'" * self.transformed


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Stands for an object that was deleted while nobody watched.

    Attributes:
        key: of the object.
        obj: its last known version, if there is one.
    """

    key: str
    obj: Version | None = None

    def __str__(self) -> str:
        return f"tombstone({self.key}, {self.obj})"


Thing: TypeAlias = Version | Tombstone
"""What can be given to ``delete``."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call with its arguments.

    Attributes:
        name: the call.
        thing: given to ``add``, ``update``, ``delete`` and ``key_of``.
        objects: given to ``replace``.
        resource_version: given to ``replace`` and ``bookmark``.
        fails: whether the process function that a ``pop`` is given raises.
        applies: whether the consumer stores what it is handed, if the process function does not raise.
    """

    name: CallName
    thing: Thing | None = None
    objects: tuple[Version, ...] = ()
    resource_version: str = ""
    fails: bool = False
    applies: bool = True

    @property
    def is_write(self) -> bool:
        """Whether it may change anything."""
        return self.name not in READS

    def __str__(self) -> str:
        if self.name is CallName.LENGTH:
            return "len(queue)"
        if self.name is CallName.KNOWN:
            return "what the consumer has stored"
        return f"queue.{self.name.value}({', '.join(self.arguments(str))})"

    def arguments(self, shown: Callable[[Thing], str]) -> list[str]:
        """The arguments as Python code, with objects as ``shown`` tells them."""
        version = [repr(self.resource_version)] if self.resource_version else []
        process = "failing_process" if self.fails else "process" if self.applies else "ignoring_process"
        match self.name:
            case CallName.REPLACE:
                return [f"[{', '.join(map(shown, self.objects))}]", *version]
            case CallName.POP:
                return [process]
            case CallName.POP_BATCH:
                return [process, process]
            case CallName.BOOKMARK:
                return [repr(self.resource_version)]
        return [] if self.thing is None else [shown(self.thing)]


add = partial(Operation, CallName.ADD)
"""``queue.add(thing)``."""
update = partial(Operation, CallName.UPDATE)
"""``queue.update(thing)``."""
delete = partial(Operation, CallName.DELETE)
"""``queue.delete(thing)``."""
resync = partial(Operation, CallName.RESYNC)
"""``queue.resync()``."""
pop = partial(Operation, CallName.POP)
"""``queue.pop(process)``; takes ``fails`` and ``applies``."""
pop_batch = partial(Operation, CallName.POP_BATCH)
"""``queue.pop_batch(process_batch, process_single)``; takes ``fails``."""
close = partial(Operation, CallName.CLOSE)
"""``queue.close()``."""
is_closed = partial(Operation, CallName.IS_CLOSED)
"""``queue.is_closed()``."""
has_synced = partial(Operation, CallName.HAS_SYNCED)
"""``queue.has_synced()``."""
length = partial(Operation, CallName.LENGTH)
"""``len(queue)``."""
key_of = partial(Operation, CallName.KEY_OF)
"""``queue.key_of(thing)``."""
known = partial(Operation, CallName.KNOWN)
"""Reads what the consumer has stored."""


def replace(*objects: Version, resource_version: str = "") -> Operation:
    """``queue.replace(objects, resource_version)``."""
    return Operation(CallName.REPLACE, objects=objects, resource_version=resource_version)


def bookmark(resource_version: str) -> Operation:
    """``queue.bookmark(resource_version)``."""
    return Operation(CallName.BOOKMARK, resource_version=resource_version)
