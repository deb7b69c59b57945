"""Sequential specification of a DeltaFIFO: an entry has all changes of an object since it was last popped."""

from __future__ import annotations

from dataclasses import dataclass

from .operations import CallName, Operation, Tombstone, Version
from .queue_model import DELTA_TYPES, QueueModel, argument_of, deleted, key_of, synced
from .state import Delta, Entry, State


@dataclass(frozen=True)
class DeltaFifoModel(QueueModel):
    """The model of a DeltaFIFO: one entry for each key, at the position of its first change."""

    def write(self, state: State, operation: Operation) -> State:
        """The state with one more change; a deletion of an object that is neither queued nor known is ignored."""
        thing = argument_of(operation)
        if operation.name is CallName.DELETE:
            key = key_of(thing, state)
            state = state.written()
            if state.entry(key) is None and key not in [version.key for version in self._known(state)]:
                return state
        else:
            state = state.written()
            key = key_of(thing, state)
        return _with_delta(state, key, Delta(DELTA_TYPES[operation.name], self.transformed(state, thing)))

    def replace(self, state: State, operation: Operation) -> State:
        """Queue a change for each listed object, then deletions of other queued objects, then of other known ones."""
        replaced = "Replaced" if self.options.emit_delta_type_replaced else "Sync"
        listed: set[str] = set()
        for version in operation.objects:
            key = key_of(version, state)
            state = _with_delta(state, key, Delta(replaced, self.transformed(state, version)))
            listed.add(key)
        unlisted = [entry for entry in state.entries() if entry.key not in listed and entry.newest.type != "Deleted"]
        for entry in unlisted:
            (delta,) = deleted(entry.key or "", entry.newest.thing).deltas
            state = _with_delta(state, entry.key or "", delta)
        queued = {entry.key for entry in state.entries()}
        gone = [version for version in self._known(state) if version.key not in listed | queued]
        state = state.with_group(deleted(str(version.key), version) for version in gone)
        return state.replaced(len(listed) + len(unlisted) + len(gone))

    def resync(self, state: State) -> State:
        """Queue a ``Sync`` for each known object without an entry."""
        return synced(state, self._known(state))

    def _known(self, state: State) -> tuple[Version, ...]:
        return state.known if self.options.known_objects else ()


def _with_delta(state: State, key: str, delta: Delta) -> State:
    """The state with one more delta of a key. Of two deletions in a row, the first is kept unless it is a tombstone."""
    entry = state.entry(key)
    before = () if entry is None else entry.deltas
    if before and before[-1].type == delta.type == "Deleted":
        last = delta if isinstance(before[-1].thing, Tombstone) else before[-1]
        return state.with_entry(Entry(key, (*before[:-1], last)))
    return state.with_entry(Entry(key, (*before, delta)))
