"""Common base of the models of all queues: closing, waiting, processing, counting the first replacement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

from ..outcomes import Outcome, raised, returned
from .operations import POPS, WRITES, CallName, ErrorKind, Operation, Thing, Tombstone, Version
from .program import Deviation, QueueOptions, QueueProgram
from .state import Delta, Entry, State

_Given = TypeVar("_Given", Version, Tombstone, Thing)


class CallFails(Exception):
    """The exception that ends a call of the model with an error.

    Attributes:
        error: the kind of the error.
        state: the state after the failed call, with the part of its effect that remains.
    """

    def __init__(self, error: ErrorKind, state: State) -> None:
        self.error = error
        self.state = state


@dataclass(frozen=True)
class QueueModel:
    """Base of the specifications. It is pure: methods never change a state, but return a new one.

    The specification leaves some things open, such as the order of the deletions that a replacement queues: then there
    are several effects. It is a :class:`~kcache_model.object_types.specification.Specification`.

    Args:
        options: the options of the queue.
        deviations: the declared deviations of the queue.
    """

    options: QueueOptions = field(default_factory=QueueOptions)
    deviations: frozenset[Deviation] = frozenset()

    def initial(self, program: QueueProgram) -> State:
        """The state of a new queue whose consumer has already stored the ``known`` objects of a program."""
        return State(known=tuple(sorted(program.known, key=lambda version: str(version.key))))

    def effects(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        """The possible pairs of next state and outcome; none if the call waits."""
        return [choice for start in self.starts(state) for choice in self.outcomes(start, operation)]

    def starts(self, state: State) -> tuple[State, ...]:
        """The states into which the state may change without a call of the program, the unchanged state first."""
        return (state,)

    def outcomes(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        """The possible pairs of next state and outcome of a call in exactly this state; none if the call waits."""
        if operation.name in POPS:
            return self._popped(self.waiting(state), operation)
        try:
            effects = [self._called(state, operation)]
        except CallFails as failure:
            effects = [(failure.state, raised(failure.error))]
        if state.is_closed and operation.name in WRITES and Deviation.WRITES_AFTER_CLOSE in self.deviations:
            effects += [(state, returned()), (state, raised(ErrorKind.CLOSED))]
        return effects

    def _called(self, state: State, operation: Operation) -> tuple[State, Outcome]:
        match operation.name:
            case CallName.CLOSE:
                return replace(state, is_closed=True), returned()
            case CallName.IS_CLOSED:
                return state, returned(state.is_closed)
            case CallName.HAS_SYNCED:
                return state, returned(state.has_synced)
            case CallName.LENGTH:
                return state, returned(sum(bool(entry.deltas) for entry in state.entries()))
            case CallName.KNOWN:
                return state, returned(tuple(map(str, state.known)))
            case CallName.KEY_OF:
                return state, returned(key_of(argument_of(operation), state))
            case CallName.REPLACE:
                return self.replace(state, operation), returned()
            case CallName.RESYNC:
                return self.resync(state), returned()
            case CallName.BOOKMARK:
                return self.bookmark(state, operation.resource_version), returned()
        return self.write(state, operation), returned()

    def write(self, state: State, operation: Operation) -> State:
        """The state after ``add``, ``update`` or ``delete``."""
        raise NotImplementedError

    def replace(self, state: State, operation: Operation) -> State:
        """The state after ``replace``."""
        raise NotImplementedError

    def resync(self, state: State) -> State:
        """The state after ``resync``."""
        return state

    def bookmark(self, state: State, resource_version: str) -> State:  # noqa: ARG002
        """The state after ``bookmark``."""
        return state

    def waiting(self, state: State) -> State:
        """The state in which a ``pop`` takes the next entry."""
        return state

    def transformed(self, state: State, thing: _Given) -> _Given:
        """The object as the transformer returns it, before it is queued. Tombstones are not transformed.

        Raises:
            CallFails: the transformer rejects the object.
        """
        if not self.options.transformer or isinstance(thing, Tombstone):
            return thing
        if thing.is_rejected:
            raise CallFails(ErrorKind.TRANSFORMER, state)
        return replace(thing, transformed=thing.transformed + 1)

    def _popped(self, state: State, operation: Operation) -> Sequence[tuple[State, Outcome]]:
        if not state.queue:
            return [(state, raised(ErrorKind.CLOSED))] if state.is_closed else []
        effects = []
        for choice in self.choices(state, operation):
            after = choice.after.handed_out(len(choice.batch))
            if operation.applies and not operation.fails:
                after = after.applied(delta for entry in choice.batch for delta in entry.deltas)
            effects.append((after, self._handed_out(choice, operation)))
        return effects

    def _handed_out(self, choice: Choice, operation: Operation) -> Outcome:
        texts = [str(delta) for entry in choice.batch for delta in entry.deltas]
        if operation.name is CallName.POP_BATCH:
            texts.insert(0, "batch" if len(texts) > 1 else "single")
        is_told = Deviation.INITIAL_LIST not in self.deviations
        first = ["initial"] if is_told and not choice.before.has_synced else []
        return returned((*first, *texts, *(["raised"] if operation.fails else [])))

    def choices(self, state: State, operation: Operation) -> Sequence[Choice]:  # noqa: ARG002
        """The entries, or batches of entries, that a queue with entries may hand out next."""
        return [Choice([entry], state, state.without(entry)) for entry in state.queue[0]]


class Choice(NamedTuple):
    """A batch of entries that a ``pop`` may hand out.

    Attributes:
        batch: the entries.
        before: the state right before they leave the queue.
        after: the state after they have left the queue.
    """

    batch: Sequence[Entry]
    before: State
    after: State


def argument_of(operation: Operation) -> Thing:
    """The object that is the argument of an operation."""
    assert operation.thing is not None, f"{operation.name} needs an object"
    return operation.thing


def key_of(thing: Thing, state: State) -> str:
    """The key of an object or a tombstone.

    Raises:
        CallFails: the object has no key; the call leaves ``state``.
    """
    if thing.key is None:
        raise CallFails(ErrorKind.KEY_FUNC, state)
    return thing.key


DELTA_TYPES: Final = {CallName.ADD: "Added", CallName.UPDATE: "Updated", CallName.DELETE: "Deleted"}
"""The types of the deltas of single writes."""


def deleted(key: str, last: object) -> Entry:
    """The entry for the deletion of an object that a replacement lacks.

    Its tombstone contains the last version of the object, never another tombstone.
    """
    version = last.obj if isinstance(last, Tombstone) else last
    return Entry(key, (Delta("Deleted", Tombstone(key, version if isinstance(version, Version) else None)),))


def synced(state: State, known: Iterable[Version]) -> State:
    """The state after a resync: a ``Sync`` is queued for each known object that has no entry in the queue."""
    queued = {entry.key for entry in state.entries()}
    unqueued = [version for version in known if version.key not in queued]
    return state.with_group(Entry(version.key, (Delta("Sync", version),)) for version in unqueued)
