"""Sequential specification of a FIFO: the newest object of each key, in the order in which the keys arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .operations import CallName, Operation, Version
from .queue_model import Choice, QueueModel, argument_of, key_of
from .state import Delta, Entry, State


@dataclass(frozen=True)
class FifoModel(QueueModel):
    """The model of a FIFO: a deletion leaves the key in the queue without an object, and ``pop`` skips such keys."""

    def write(self, state: State, operation: Operation) -> State:
        """The state after ``add`` or ``update``: the key has the newest object; after ``delete``: it has no object."""
        thing = argument_of(operation)
        key = key_of(thing, state)
        old = state.entry(key)
        state = state.written()
        if operation.name is CallName.DELETE:
            return state if old is None else state.with_entry(Entry(key, ()))
        changed = state.with_entry(Entry(key, (Delta("", thing),)))
        is_new_place = old is not None and not old.deltas
        return changed.with_group([Entry(key, ())]) if is_new_place else changed

    def replace(self, state: State, operation: Operation) -> State:
        """The state with only the listed objects, in any order; of several objects with one key, the last one."""
        last: dict[str, Version] = {key_of(version, state): version for version in operation.objects}
        entries = [Entry(key, (Delta("", version),)) for key, version in last.items()]
        return replace(state.replaced(len(last)), queue=()).with_group(entries)

    def waiting(self, state: State) -> State:
        """The state without leading groups of keys that have no object; these keys count as handed out."""
        while state.queue and not any(entry.deltas for entry in state.queue[0]):
            state = replace(state.handed_out(len(state.queue[0])), queue=state.queue[1:])
        return state

    def choices(self, state: State, operation: Operation) -> Sequence[Choice]:  # noqa: ARG002
        """Any object of the first group, after any number of that group's keys without an object."""
        vacant = [entry for entry in state.queue[0] if not entry.deltas]
        options = []
        for number in range(len(vacant) + 1):
            before = state
            for entry in vacant[:number]:
                before = before.without(entry).handed_out()
            options += [Choice([entry], before, before.without(entry)) for entry in before.queue[0] if entry.deltas]
        return options

    def starts(self, state: State) -> tuple[State, ...]:
        """The state, and if a waiting ``pop`` may have skipped keys without an object, the state without these keys."""
        skipped = self.waiting(state)
        return (state,) if skipped.queue or skipped == state else (state, skipped)
