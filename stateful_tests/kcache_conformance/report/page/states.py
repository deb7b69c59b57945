"""States of the model before and after each call of an order, as differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kcache_model.indexers.eviction import model_of
from kcache_model.indexers.indexer_model import State, Stored
from kcache_model.indexers.program import History

from .texts import limited_text


@dataclass(frozen=True)
class Difference:
    """The changes made by one or several calls.

    Attributes:
        items: (key, the item stored there now); ``None`` if the item was removed.
        facts: (name, text) of other changed properties; an empty text if the property is gone.
    """

    items: tuple[tuple[str, str | None], ...] = ()
    facts: tuple[tuple[str, str], ...] = ()

    def then(self, later: Difference) -> Difference:
        """Return both differences, one after the other, as one."""
        return Difference(
            tuple((dict(self.items) | dict(later.items)).items()), tuple((dict(self.facts) | dict(later.facts)).items())
        )


def initial_facts(history: History) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of the Indexer's properties before the first call."""
    return tuple(_facts(model_of(history).initial(history.indexes)).items())


def differences(history: History, order: Sequence[int]) -> Iterator[Difference]:
    """Yield the difference made by each call of ``order``."""
    model = model_of(history)
    state = model.initial(history.indexes)
    for position in order:
        call = history.calls[position]
        after, _ = model.respond(state, call.operation, call.outcome)
        yield _difference(state, after)
        state = after


def _difference(before: State, after: State) -> Difference:
    if before is after:
        return Difference()
    items: list[tuple[str, str | None]] = []
    if before.stored is not after.stored or before.mutated is not after.mutated:
        for key in sorted({*before.stored, *after.stored}):
            old, new = before.stored.get(key), after.stored.get(key)
            was_changed = new is not None and _mutated(before, new) is not _mutated(after, new)
            if old is not new or was_changed:
                items.append((limited_text(key), None if new is None else _stored_text(after, new)))
    old_facts, new_facts = _facts(before), _facts(after)
    names = [*old_facts, *(name for name in new_facts if name not in old_facts)]
    facts = [(name, new_facts.get(name, "")) for name in names if old_facts.get(name) != new_facts.get(name)]
    return Difference(tuple(items), tuple(facts))


def _mutated(state: State, stored: Stored) -> object:
    return state.mutated.get(stored.item.stamp)


def _stored_text(state: State, stored: Stored) -> str:
    text = str(stored.item)
    return limited_text(text if _mutated(state, stored) is None else f"{text}, changed in place since")


def _facts(state: State) -> dict[str, str]:
    facts = {"indexes": ", ".join(sorted(state.indexes))} if state.indexes else {}
    if state.resource_version:
        facts["resource version"] = state.resource_version
    return {name: limited_text(text) for name, text in facts.items()}
