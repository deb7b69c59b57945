"""Consumer of a queue: it stores the changes that it is handed. The explorer loads an observed copy of this module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Consumer:
    """A consumer with its stored objects; it is the ``known_objects`` of a queue.

    Args:
        objects: the initial objects by key.
    """

    def __init__(self, objects: Mapping[str, Any]) -> None:
        self.objects = dict(objects)

    def list_keys(self) -> list[str]:
        """All keys."""
        return list(self.objects)

    def get_by_key(self, key: str) -> Any:
        """The object under ``key``, or ``None``."""
        return self.objects.get(key)

    def read(self) -> Mapping[str, Any]:
        """All objects by key."""
        return self.objects

    def apply(self, changes: Iterable[tuple[str, str | None, Any]]) -> None:
        """Store changes in one step.

        A change is a tuple of its type, the key, and the object; for ``ReplacedAll``, of all objects by key.
        """
        objects = dict(self.objects)
        for change, key, obj in changes:
            if change == "ReplacedAll":
                objects = dict(obj)
            elif key is not None and change == "Deleted":
                objects.pop(key, None)
            elif key is not None:
                objects[key] = obj
        self.objects = objects
