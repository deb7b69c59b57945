"""Acts of a server, and what an informer made of them, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Version:
    """One state of an object.

    Attributes:
        key: of the object.
        uid: tells an object from one of the same key that came before it.
        resource_version: of the state.
        transformed: how often the transformer was applied to it.
    """

    key: str
    uid: str
    resource_version: int
    transformed: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{self.key} ({self.uid}, version {self.resource_version})"


class ToldKind(enum.StrEnum):
    """What a handler can be told."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Told:
    """One call of a handler.

    Attributes:
        kind: which one.
        obj: the new state; of a deletion, the last one.
        old: what an update says was there before; ``None`` if the informer does not tell.
        is_in_initial_list: as an addition says.
        is_tombstone: whether the deletion came as a tombstone.
        stored: what the store showed under the key at that moment, ``None`` if nothing.
    """

    kind: ToldKind
    obj: Version
    old: Version | None = None
    is_in_initial_list: bool = False
    is_tombstone: bool = False
    stored: Version | None = None

    def __str__(self) -> str:
        match self.kind:
            case ToldKind.ADD:
                return f"on_add({self.obj}{', initial' if self.is_in_initial_list else ''})"
            case ToldKind.UPDATE:
                return f"on_update({self.old} -> {self.obj})"
            case ToldKind.DELETE:
                return f"on_delete({'tombstone of ' if self.is_tombstone else ''}{self.obj})"


@dataclass(frozen=True)
class HandlerStory:
    """What one handler saw.

    Attributes:
        name: how findings call it.
        told: its calls, in order.
        is_first: whether it was there before the start.
        is_complete: whether it was there, and free to work, until everything had settled.
        settled_after: how many of the calls had been made when everything had settled.
        stopped_after: how many had been made when the informer had stopped; ``None`` if it came later.
        most_told: how many calls there may be, since it was removed; ``None`` if it was not.
        synced_after: the number of calls that had ended when its registration first said that it has synced; ``None``
            if that was not asked, or never came.
    """

    name: str
    told: tuple[Told, ...]
    is_first: bool = True
    is_complete: bool = True
    settled_after: int | None = None
    stopped_after: int | None = None
    most_told: int | None = None
    synced_after: int | None = None


@dataclass(frozen=True)
class ServerStory:
    """What really happened.

    Attributes:
        changes: each change, in order: the state after it, and whether it is a deletion.
        content: what there is in the end, by key.
        first_list: what the first answered list showed; ``None`` if there was none.
        went_back: whether the server showed older states after newer ones.
        repeated: whether watches told of the same change more than once.
    """

    changes: tuple[tuple[Version, bool], ...] = ()
    content: Mapping[str, Version] = field(default_factory=dict)
    first_list: tuple[Version, ...] | None = None
    went_back: bool = False
    repeated: bool = False


@dataclass(frozen=True)
class FirstSync:
    """How things were when the informer first said that it has synced.

    Attributes:
        listed: the keys of what the first answered list showed; ``None`` if none had been answered.
        stored: the keys in the store.
        deleted: the keys that had been deleted until then.
        was_watched: whether a watch had been asked for, which may show all objects, too.
    """

    listed: tuple[str, ...] | None
    stored: frozenset[str]
    deleted: frozenset[str] = frozenset()
    was_watched: bool = False


@dataclass
class PipelineStory:
    """A whole run, written down while it goes on.

    Attributes:
        server: what really happened.
        handlers: what each handler saw.
        store: what the store showed when everything had settled, or had not within the patience; ``None`` if it was
            stopped before.
        has_synced: whether the informer said so then.
        unsynced_handlers: the handlers whose registrations had not said so after that, and a while.
        first_sync: how things were when it first said so; ``None`` if it never did.
        unsettled: who had not got to what the server has although nothing happened any more; ``None`` for nobody.
        wrong_indices: what is wrong with indices that were added.
        transforms: whether a transformer was given.
        threads_left: names of the threads that were left behind after it had stopped.
        open_watches: the most watches that were open when everything had settled.
        watches_left: how many watches were open after it had stopped.
    """

    server: ServerStory = ServerStory()
    handlers: tuple[HandlerStory, ...] = ()
    store: Mapping[str, Version] | None = None
    has_synced: bool = True
    first_sync: FirstSync | None = None
    unsynced_handlers: Sequence[str] = ()
    unsettled: str | None = None
    wrong_indices: Sequence[str] = ()
    transforms: bool = False
    threads_left: Sequence[str] = ()
    open_watches: int = 0
    watches_left: int = 0
