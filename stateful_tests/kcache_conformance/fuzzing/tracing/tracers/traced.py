"""Objects with tracers in them."""

from __future__ import annotations

from typing import Any

from .mapping import TracingDict
from .notes import Notes, Path
from .number import TracingNumber
from .text import TracingText


def traced(tree: Any, notes: Notes, path: Path = ()) -> Any:
    """A copy of the tree whose texts, numbers and plain dicts are tracers; it can be decoded as any other."""
    if isinstance(tree, str):
        return TracingText(tree, notes, path, tree)
    if isinstance(tree, int) and not isinstance(tree, bool):
        return TracingNumber(tree, notes, {path: (1, tree)})
    if isinstance(tree, list):
        return [traced(item, notes, (*path, number)) for number, item in enumerate(tree)]
    if isinstance(tree, dict):
        if "$" not in tree:
            return {key: traced(value, notes, (*path, key)) for key, value in tree.items()}
        if "fields" in tree:
            fields = tree["fields"]
            inner = {key: traced(value, notes, (*path, "fields", key)) for key, value in fields.items()}
            return {**tree, "fields": inner}
    return tree


def watched(obj: Any, notes: Notes, path: Path = ()) -> Any:
    """The decoded object with its plain dicts exchanged for :class:`TracingDict`, where they can be."""
    if type(obj) is dict:
        return TracingDict({key: watched(value, notes, (*path, key)) for key, value in obj.items()}, notes, path)
    if type(obj) is list:
        return [watched(item, notes, (*path, number)) for number, item in enumerate(obj)]
    fields = None if isinstance(obj, (str, int, type)) else getattr(obj, "__dict__", None)
    if isinstance(fields, dict):
        for name, value in list(fields.items()):
            if type(value) in (dict, list) or (hasattr(value, "__dict__") and not isinstance(value, (str, int))):
                try:
                    object.__setattr__(obj, name, watched(value, notes, (*path, "fields", name)))
                except (AttributeError, TypeError):
                    continue
    return obj
