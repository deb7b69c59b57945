"""States of the model before and after each call of an order, as differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .picture import DrawnHistory
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


def initial_facts(history: DrawnHistory) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of the object's properties before the first call."""
    return tuple((name, limited_text(text)) for name, text in history.facts(history.initial()).items())


def differences(history: DrawnHistory, order: Sequence[int]) -> Iterator[Difference]:
    """Yield the difference made by each call of ``order``."""
    model, state = history.model(), history.initial()
    for position in order:
        call = history.calls[position]
        after, _ = model.respond(state, call.operation, call.outcome)
        yield _difference(history, state, after)
        state = after


def _difference(history: DrawnHistory, before: Any, after: Any) -> Difference:
    if before is after:
        return Difference()
    items = (
        (limited_text(key), None if text is None else limited_text(text))
        for key, text in history.changed_items(before, after)
    )
    old, new = history.facts(before), history.facts(after)
    names = [*old, *(name for name in new if name not in old)]
    facts = ((name, limited_text(new[name]) if name in new else "") for name in names if old.get(name) != new.get(name))
    return Difference(tuple(items), tuple(facts))
