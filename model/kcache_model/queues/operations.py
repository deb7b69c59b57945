"""Operations on a queue, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias


class CallName(enum.StrEnum):
    """The names of the calls."""

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
    """Not a call on the queue: reads the objects that its consumer has stored."""


class ErrorKind(enum.StrEnum):
    """The reason why a call failed."""

    KEY_FUNC = "key_func"
    TRANSFORMER = "transformer"
    CLOSED = "closed"
    OTHER = "other"
    """Any other exception; the message names it."""


READS = frozenset({CallName.IS_CLOSED, CallName.HAS_SYNCED, CallName.LENGTH, CallName.KEY_OF, CallName.KNOWN})
"""The calls that change nothing."""

WRITES = frozenset(
    {CallName.ADD, CallName.UPDATE, CallName.DELETE, CallName.REPLACE, CallName.RESYNC, CallName.BOOKMARK}
)
"""The calls that may add entries to the queue."""

POPS = frozenset({CallName.POP, CallName.POP_BATCH})
"""The calls that wait while the queue is empty."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one object.

    Attributes:
        key: the result of the key function; ``None`` if the key function fails for the object.
        stamp: the unique name of this version.
        is_rejected: whether the transformer fails for this version.
        transformed: how often the transformer was applied to it.
    """

    key: str | None
    stamp: str
    is_rejected: bool = False
    transformed: int = 0

    def __str__(self) -> str:
        return self.stamp + "'" * self.transformed


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A placeholder for an object whose deletion was not observed.

    Attributes:
        key: the key of the object.
        obj: the last known version of the object, if there is one.
    """

    key: str
    obj: Version | None = None

    def __str__(self) -> str:
        return f"tombstone({self.key}, {self.obj})"


Thing: TypeAlias = Version | Tombstone
"""An argument of ``delete``."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call with its arguments.

    Attributes:
        name: the name of the call.
        thing: the argument of ``add``, ``update``, ``delete`` and ``key_of``.
        objects: the argument of ``replace``.
        resource_version: the argument of ``replace`` and ``bookmark``.
        fails: whether the process function of a ``pop`` raises.
        applies: whether the consumer stores the changes that it is handed, if the process function does not raise.
    """

    name: CallName
    thing: Thing | None = None
    objects: tuple[Version, ...] = ()
    resource_version: str = ""
    fails: bool = False
    applies: bool = True

    @property
    def is_write(self) -> bool:
        """Whether the call may change anything."""
        return self.name not in READS

    def __str__(self) -> str:
        if self.name is CallName.LENGTH:
            return "len(queue)"
        if self.name is CallName.KNOWN:
            return "objects stored by the consumer"
        return f"queue.{self.name.value}({', '.join(self.arguments(str))})"

    def arguments(self, text_of: Callable[[Thing], str]) -> list[str]:
        """The arguments as Python code; ``text_of`` converts an object to text."""
        version = [repr(self.resource_version)] if self.resource_version else []
        process = "failing_process" if self.fails else "process" if self.applies else "ignoring_process"
        match self.name:
            case CallName.REPLACE:
                return [f"[{', '.join(map(text_of, self.objects))}]", *version]
            case CallName.POP:
                return [process]
            case CallName.POP_BATCH:
                return [process, process]
            case CallName.BOOKMARK:
                return [repr(self.resource_version)]
        return [] if self.thing is None else [text_of(self.thing)]


add = partial(Operation, CallName.ADD)
"""Create ``queue.add(thing)``."""
update = partial(Operation, CallName.UPDATE)
"""Create ``queue.update(thing)``."""
delete = partial(Operation, CallName.DELETE)
"""Create ``queue.delete(thing)``."""
resync = partial(Operation, CallName.RESYNC)
"""Create ``queue.resync()``."""
pop = partial(Operation, CallName.POP)
"""Create ``queue.pop(process)``; takes ``fails`` and ``applies``."""
pop_batch = partial(Operation, CallName.POP_BATCH)
"""Create ``queue.pop_batch(process_batch, process_single)``; takes ``fails`` and ``applies``."""
close = partial(Operation, CallName.CLOSE)
"""Create ``queue.close()``."""
is_closed = partial(Operation, CallName.IS_CLOSED)
"""Create ``queue.is_closed()``."""
has_synced = partial(Operation, CallName.HAS_SYNCED)
"""Create ``queue.has_synced()``."""
length = partial(Operation, CallName.LENGTH)
"""Create ``len(queue)``."""
key_of = partial(Operation, CallName.KEY_OF)
"""Create ``queue.key_of(thing)``."""
known = partial(Operation, CallName.KNOWN)
"""Create a read of the objects that the consumer has stored."""


def replace(*objects: Version, resource_version: str = "") -> Operation:
    """Create ``queue.replace(objects, resource_version)``."""
    return Operation(CallName.REPLACE, objects=objects, resource_version=resource_version)


def bookmark(resource_version: str) -> Operation:
    """Create ``queue.bookmark(resource_version)``."""
    return Operation(CallName.BOOKMARK, resource_version=resource_version)
