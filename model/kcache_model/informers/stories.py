"""Records of a run: the changes of the server, and the reactions of the informer, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Version:
    """One state of an object.

    Attributes:
        key: the key of the object.
        uid: distinguishes the object from earlier objects with the same key.
        resource_version: the resource version of the state.
        transformed: how often the transformer was applied to it.
    """

    key: str
    uid: str
    resource_version: int
    transformed: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return f"{self.key} ({self.uid}, version {self.resource_version})"


class ToldKind(enum.StrEnum):
    """The kind of a call of a handler."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Told:
    """One call of a handler.

    Attributes:
        kind: the kind of the call.
        obj: the new state; for a deletion, the last state.
        old: the previous state according to an update; ``None`` if the informer does not pass it.
        is_in_initial_list: the flag that an addition passes.
        is_tombstone: whether the deletion passes a tombstone.
        stored: the state in the store under the key at that moment; ``None`` if there is none.
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
    """The calls of one handler in a run.

    Attributes:
        name: the name of the handler in findings.
        calls: its calls, in order.
        is_first: whether it was added before the start.
        is_complete: whether it was registered, and not blocked, until everything had settled.
        settled_after: the number of its calls when everything had settled.
        stopped_after: the number of its calls when the informer had stopped; ``None`` if it was added later.
        most_calls: the maximum number of calls, because the handler was removed; ``None`` if it was not removed.
        synced_after: the number of calls that had ended when its registration first said that it has synced; ``None``
            if it was not asked, or never said so.
    """

    name: str
    calls: tuple[Told, ...]
    is_first: bool = True
    is_complete: bool = True
    settled_after: int | None = None
    stopped_after: int | None = None
    most_calls: int | None = None
    synced_after: int | None = None


@dataclass(frozen=True)
class ServerStory:
    """The changes on the server in a run.

    Attributes:
        changes: each change, in order: the state after it, and whether it is a deletion.
        content: the objects at the end, by key.
        first_list: the objects in the first answered list; ``None`` if no list was answered.
        went_back: whether the server showed older states after newer ones.
        repeated: whether watches got the same change more than once.
    """

    changes: tuple[tuple[Version, bool], ...] = ()
    content: Mapping[str, Version] = field(default_factory=dict)
    first_list: tuple[Version, ...] | None = None
    went_back: bool = False
    repeated: bool = False


@dataclass(frozen=True)
class FirstSync:
    """The situation when the informer first said that it has synced.

    Attributes:
        listed: the keys of the objects in the first answered list; ``None`` if no list had been answered.
        stored: the keys in the store.
        deleted: the keys of the objects that had been deleted until then.
        was_watched: whether the informer had requested a watch, which may send all objects as well.
    """

    listed: tuple[str, ...] | None
    stored: frozenset[str]
    deleted: frozenset[str] = frozenset()
    was_watched: bool = False


@dataclass
class PipelineStory:
    """The record of a whole run, written during the run.

    Attributes:
        server: the changes on the server.
        handlers: the calls of each handler.
        store: the content of the store when everything had settled, or the patience had ended; ``None`` if the informer
            was stopped before.
        has_synced: the result of ``has_synced()`` of the informer at that moment.
        unsynced_handlers: the handlers whose registrations had not synced a while after that moment.
        first_sync: the situation when the informer first said that it has synced; ``None`` if it never did.
        unsettled: the store or handler that differed from the server although nothing happened any more; ``None`` if
            there was none.
        wrong_indices: the faults of indices that were added.
        transforms: whether the informer had a transformer.
        threads_left: the names of threads that still ran after the informer had stopped.
        open_watches: the maximum number of watches open at once when everything had settled.
        watches_left: the number of watches open after the informer had stopped.
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
