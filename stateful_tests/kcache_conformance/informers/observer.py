"""A handler that writes down what it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ADD, UPDATE, DELETE = "add", "update", "delete"


@dataclass(frozen=True)
class Noted:
    """A call of a handler, as it came.

    Attributes:
        kind: ``add``, ``update`` or ``delete``.
        obj: the new object, or the deleted one, or a tombstone.
        old: the old object of an update.
        is_in_initial_list: as an addition says.
        stored: what the store showed under the key.
    """

    kind: str
    obj: Any
    old: Any
    is_in_initial_list: bool
    stored: Any


class HandlerFailedError(Exception):
    """What a handler raises that was told to fail."""


class Observer:
    """Notes each call, and can be made to wait in its calls.

    Args:
        name: how findings call it.
        stored: object or tombstone -> what the store shows under its key.
        is_first: whether it is there before the start.
    """

    def __init__(self, name: str, stored: Callable[[Any], Any], is_first: bool) -> None:
        self.name = name
        self.is_first = is_first
        self.noted: list[Noted] = []
        self.ended = 0
        self.registration: Any = None
        self.is_removed = False
        self.most_told: int | None = None
        self.synced_after: int | None = None
        self._stored = stored
        self._fails = False
        self._free = threading.Event()
        self._free.set()

    def block(self) -> None:
        """Do not return from calls until :meth:`release`."""
        self._free.clear()

    def release(self) -> None:
        """Go on."""
        self._free.set()

    def fail_once(self) -> None:
        """Raise at the end of the next call."""
        self._fails = True

    @property
    def is_blocked(self) -> bool:
        """Whether its calls do not return."""
        return not self._free.is_set()

    def on_add(self, obj: Any, is_in_initial_list: bool = False) -> None:
        """Note an addition."""
        self._note(Noted(ADD, obj, None, is_in_initial_list, self._stored(obj)))

    def on_update(self, old: Any, new: Any) -> None:
        """Note an update."""
        self._note(Noted(UPDATE, new, old, False, self._stored(new)))

    def on_delete(self, obj: Any) -> None:
        """Note a deletion."""
        self._note(Noted(DELETE, obj, None, False, self._stored(obj)))

    def _note(self, noted: Noted) -> None:
        self.noted.append(noted)
        self._free.wait()
        self.ended += 1
        if self._fails:
            self._fails = False
            raise HandlerFailedError("a handler raises, as it was told to; the informer has to go on")
