"""One generated object, which can be copied repeatedly."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kcache_model.errors import TargetError

from .trees import NotPlainError, Tree, decode, encode


@dataclass(frozen=True)
class FuzzedObject:
    """The state of an object before it was passed to any function.

    Attributes:
        tree: the object as plain data; ``None`` if that is impossible.
        original: for an object that is no plain data, a deep copy that is never passed on.
    """

    tree: Tree
    original: Any = field(default=None, compare=False)

    @property
    def is_plain(self) -> bool:
        """Whether the object can be passed to other processes."""
        return self.original is None

    def fresh(self) -> Any:
        """Return a new, equal object."""
        return decode(self.tree) if self.is_plain else copy.deepcopy(self.original)

    def reordered(self) -> Any:
        """Return a new, equal object whose dicts have the opposite order."""
        return decode(_reversed(self.tree)) if self.is_plain else copy.deepcopy(self.original)

    @cached_property
    def canonical(self) -> Tree:
        """Return the tree of a new copy: a constructor may change its fields, and a minimised set may be unsorted."""
        return encode(self.fresh())

    @cached_property
    def size(self) -> int:
        """The number of characters and nodes, for the limit of the number of values."""
        return _size(self.tree)

    @cached_property
    def identity(self) -> str:
        """A text that is equal for equal fuzzed objects."""
        return json.dumps(self.tree, sort_keys=True) if self.is_plain else repr(self.original)


def fuzzed_object_of(obj: Any) -> FuzzedObject:
    """Return the fuzzed object of ``obj``, which must not have been passed to any function before.

    Raises:
        TargetError: the object cannot be copied.
    """
    try:
        tree = encode(obj)
        decode(tree)
        return FuzzedObject(tree)
    except NotPlainError:
        try:
            return FuzzedObject(None, copy.deepcopy(obj))
        except Exception as error:
            raise TargetError(f"objects must be copyable: {type(error).__name__}: {error}") from error


def difference(before: Tree, after: Tree, path: str = "obj") -> str | None:
    """Describe the first difference of two trees; ``None`` if they are equal. The order of dicts does not count."""
    if type(before) is not type(after):
        return f"{path} was {_limited(before)}, now {_limited(after)}"
    if isinstance(before, dict):
        is_tagged = "$" in before
        if is_tagged and "fields" in before and "fields" in after and before.get("class") == after.get("class"):
            return difference(before["fields"], after["fields"], path)
        for key in (*before, *(key for key in after if key not in before)):
            place = f"{path}.{key}" if not is_tagged else path
            if key not in after:
                return f"{place} was {_limited(before[key])}, now it is gone"
            if key not in before:
                return f"{place} is new: {_limited(after[key])}"
            inner = difference(before[key], after[key], place)
            if inner is not None:
                return inner
        return None
    if isinstance(before, list):
        for number, (one, other) in enumerate(zip(before, after, strict=False)):
            inner = difference(one, other, f"{path}[{number}]")
            if inner is not None:
                return inner
        if len(before) != len(after):
            return f"{path} had {len(before)} elements, now {len(after)}"
        return None
    return None if before == after else f"{path} was {_limited(before)}, now {_limited(after)}"


def _limited(tree: Tree) -> str:
    text = repr(tree)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _size(tree: Tree) -> int:
    if isinstance(tree, str):
        return 1 + len(tree)
    if isinstance(tree, list):
        return 1 + sum(map(_size, tree))
    if isinstance(tree, dict):
        return 1 + sum(len(key) + _size(value) for key, value in tree.items())
    return 1


def _reversed(tree: Tree) -> Tree:
    if isinstance(tree, list):
        return [_reversed(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.get("$") == "dict":
        return {**tree, "items": [[key, _reversed(value)] for key, value in reversed(tree["items"])]}
    return {key: _reversed(value) for key, value in reversed(tree.items())}
