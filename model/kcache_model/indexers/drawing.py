"""Texts of the states of an Indexer between the calls of a history, for pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .indexer_model import State, Stored


def facts(state: State) -> Mapping[str, str]:
    """Return name -> text of the properties of an Indexer that are not objects: its indices, its resource version."""
    texts = {"indexes": ", ".join(sorted(state.indexes))} if state.indexes else {}
    if state.resource_version:
        texts["resource version"] = state.resource_version
    return texts


def changed_items(before: State, after: State) -> Iterator[tuple[str, str | None]]:
    """Yield the keys whose objects differ, each with the text of its object now; ``None`` if it has none."""
    if before.stored is after.stored and before.mutated is after.mutated:
        return
    for key in sorted({*before.stored, *after.stored}):
        old, new = before.stored.get(key), after.stored.get(key)
        was_changed = new is not None and _mutated(before, new) is not _mutated(after, new)
        if old is not new or was_changed:
            yield key, None if new is None else _stored_text(after, new)


def _mutated(state: State, stored: Stored) -> object:
    return state.mutated.get(stored.item.stamp)


def _stored_text(state: State, stored: Stored) -> str:
    text = str(stored.item)
    return text if _mutated(state, stored) is None else f"{text}, later changed in place"
