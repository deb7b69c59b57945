"""Sequential specification of a RealFIFO: each change is an entry of its own, in the order of arrival."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .operations import CallName, Operation
from .queue_model import DELTA_TYPES, Choice, QueueModel, argument_of, deleted, key_of, synced
from .state import Delta, Entry, Listing, State

_BATCH = 1000


@dataclass(frozen=True)
class RealFifoModel(QueueModel):
    """The model of a RealFIFO: changes are neither merged nor left out."""

    def write(self, state: State, operation: Operation) -> State:
        """The state with one more change."""
        state = state.written()
        key = key_of(argument_of(operation), state)
        thing = self.transformed(state, argument_of(operation))
        return state.with_group([Entry(key, (Delta(DELTA_TYPES[operation.name], thing),))])

    def replace(self, state: State, operation: Operation) -> State:
        """Queue deletions of queued objects, then of known objects, then the listed objects.

        Only objects that are not listed are deleted. With ``atomic_events``, queue one event for all instead.
        """
        if self.options.atomic_events:
            objects = tuple(self.transformed(state, version) for version in operation.objects)
            listing = Listing(objects, operation.resource_version)
            state = state.with_group([Entry(None, (Delta("ReplacedAll", listing),))])
            return state.replaced(len(state.queue))
        listed = {key_of(version, state) for version in operation.objects}
        last = {entry.key: entry.newest for entry in state.entries()}
        unlisted = [
            deleted(key, newest.thing)
            for key, newest in last.items()
            if key is not None and key not in listed and newest.type != "Deleted"
        ]
        state = state.with_group(unlisted)
        gone = [version for version in state.known if version.key not in listed and version.key not in last]
        state = state.with_group(deleted(str(version.key), version) for version in gone)
        for version in operation.objects:
            delta = Delta("Replaced", self.transformed(state, version))
            state = state.with_group([Entry(version.key, (delta,))])
        return state.replaced(sum(map(len, state.queue)))

    def resync(self, state: State) -> State:
        """Queue a ``Sync`` for each known object without an entry; with ``atomic_events``, queue one event for all."""
        if self.options.atomic_events:
            return state.with_group([Entry(None, (Delta("SyncAll", None),))])
        return synced(state, state.known)

    def bookmark(self, state: State, resource_version: str) -> State:
        """Queue one event if ``emit_delta_type_bookmark`` is set."""
        if not self.options.emit_delta_type_bookmark:
            return state
        return state.with_group([Entry(None, (Delta("Bookmark", resource_version),))])

    def choices(self, state: State, operation: Operation) -> Sequence[Choice]:
        """The batches that may be handed out: entries with distinct keys.

        A batch ends at an event for all objects, and at the end of the first replacement.
        """
        if operation.name is CallName.POP:
            return super().choices(state, operation)
        options = []
        for order in _orders(state):
            batch, rest = _batch(order, state.remaining or _BATCH), state
            for entry in batch:
                rest = rest.without(entry)
            options.append(Choice(batch, state, rest))
        return options


def _orders(state: State) -> Iterator[Sequence[Entry]]:
    """All orders in which the entries may be handed out."""
    for groups in itertools.product(*map(itertools.permutations, state.queue)):
        yield [entry for group in groups for entry in group]


def _batch(order: Sequence[Entry], most: int) -> list[Entry]:
    batch: list[Entry] = []
    for entry in order[: min(most, _BATCH)]:
        if batch and (entry.key is None or entry.key in {taken.key for taken in batch}):
            break
        batch.append(entry)
        if entry.key is None:
            break
    return batch
