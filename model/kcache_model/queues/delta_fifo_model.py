"""The sequential specification of a DeltaFIFO: everything that happened to an object since it was last popped."""

from __future__ import annotations

from dataclasses import dataclass

from .operations import CallName, Operation, Tombstone, Version
from .queue_model import QueueModel, deleted, given, key_of
from .state import Delta, Entry, State

_TYPES = {CallName.ADD: "Added", CallName.UPDATE: "Updated", CallName.DELETE: "Deleted"}


@dataclass(frozen=True)
class DeltaFifoModel(QueueModel):
    """One entry for each key, in the place of its first change."""

    def write(self, state: State, operation: Operation) -> State:
        """One more change; a deletion of what is neither queued nor known is none."""
        thing = given(operation)
        if operation.name is CallName.DELETE:
            key = key_of(thing, state)
            state = state.written()
            if state.entry(key) is None and not self._knows(state, key):
                return state
        else:
            state = state.written()
            key = key_of(thing, state)
        return _with_delta(state, key, Delta(_TYPES[operation.name], self.transformed(state, thing)))

    def replace(self, state: State, operation: Operation) -> State:
        """A change for each listed object, then a deletion for each other one that is queued, then known."""
        replaced = "Replaced" if self.options.emit_delta_type_replaced else "Sync"
        listed: set[str] = set()
        for version in operation.objects:
            key = key_of(version, state)
            state = _with_delta(state, key, Delta(replaced, self.transformed(state, version)))
            listed.add(key)
        unlisted = [entry for entry in state.entries() if entry.key not in listed and not _is_deleted(entry)]
        for entry in unlisted:
            state = _with_delta(state, entry.key or "", deleted(entry.key or "", _last_state(entry.newest.thing)))
        queued = {entry.key for entry in state.entries()}
        known = state.known if self.options.known_objects else ()
        gone = [(str(version.key), version) for version in known if version.key not in listed | queued]
        state = state.with_group(Entry(key, (deleted(key, version),)) for key, version in gone)
        return state.replaced(len(listed) + len(unlisted) + len(gone))

    def resync(self, state: State) -> State:
        """Shows each known object for which nothing is queued."""
        known = state.known if self.options.known_objects else ()
        queued = {entry.key for entry in state.entries()}
        shown = [version for version in known if version.key not in queued]
        return state.with_group(Entry(version.key, (Delta("Sync", version),)) for version in shown)

    def _knows(self, state: State, key: str) -> bool:
        return self.options.known_objects and state.known_version(key) is not None


def _with_delta(state: State, key: str, delta: Delta) -> State:
    """Of two deletions in a row one is kept: the first, unless it is a tombstone."""
    entry = state.entry(key)
    before = () if entry is None else entry.deltas
    if before and before[-1].type == delta.type == "Deleted":
        kept = delta if isinstance(before[-1].thing, Tombstone) else before[-1]
        return state.with_entry(Entry(key, (*before[:-1], kept)))
    return state.with_entry(Entry(key, (*before, delta)))


def _is_deleted(entry: Entry) -> bool:
    return entry.newest.type == "Deleted"


def _last_state(thing: object) -> Version | None:
    """What a tombstone is to hold: no other tombstone."""
    return thing.obj if isinstance(thing, Tombstone) else thing if isinstance(thing, Version) else None
