"""Probe of a function: a call with an object that supports every access, and records the accesses."""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

_TEXT = "web-1"
_MAPPING_METHODS = frozenset({"items", "keys", "values", "get"})
_TEXT_METHODS = frozenset(name for name in dir(str) if not name.startswith("_")) - {"index", "count"}
_MOST_STEPS = 20_000
_MANIFEST = {
    "metadata": {"name": "web-1", "namespace": "default", "labels": {"app": "web"}, "annotations": {"a": "b"}},
    "spec": {},
    "status": {},
}


@dataclass
class Node:
    """The recorded accesses to one part of the object.

    Attributes:
        children: accessed name -> accesses to that part.
        by_attribute: whether a child was accessed as an attribute.
        by_item: whether a child was accessed as an item.
        element: accesses to the elements, if it was iterated over as a list.
        is_map: whether keys and values without fixed names were accessed.
        is_text: whether it was used as a text.
        is_number: whether it was used as a number.
        is_called: whether it was called: then it is a method, which cannot be inferred.
        takes_manifests: whether the function did not raise for a manifest; only set for the whole object.
    """

    children: dict[str, Node] = field(default_factory=dict)
    by_attribute: bool = False
    by_item: bool = False
    element: Node | None = None
    is_map: bool = False
    is_text: bool = False
    is_number: bool = False
    is_called: bool = False
    takes_manifests: bool = False

    def child(self, name: str) -> Node:
        """Return the record of the part called ``name``."""
        return self.children.setdefault(name, Node())


class _Budget(Exception):
    """The function has made too many accesses."""


def probe(function: Callable[[Any], Any]) -> Node:
    """Return the accesses of ``function`` to its argument; its errors, results and changes are ignored."""
    root = Node()
    for is_true in (True, False):
        steps = iter(range(_MOST_STEPS))
        with contextlib.suppress(BaseException), _preserved_recursion_limit():
            result = function(_Agreeable(root, steps, is_true))
            if isinstance(result, (list, tuple)):
                for value in result[:3]:
                    str(value)
    with contextlib.suppress(BaseException), _preserved_recursion_limit():
        function(copy.deepcopy(_MANIFEST))
        root.takes_manifests = True
    return root


@contextlib.contextmanager
def _preserved_recursion_limit() -> Iterator[None]:
    """Restore the recursion limit at the end, because the function may change it."""
    before = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class _Agreeable:
    """An object that supports every access: attributes, items, iteration, comparison, arithmetic and printing."""

    def __init__(self, node: Node, steps: Iterator[int], is_true: bool) -> None:
        self._probe = node, steps, is_true

    def _child(self, name: str) -> _Agreeable:
        node, steps, is_true = self._probe
        if next(steps, None) is None:
            raise _Budget
        return _Agreeable(node.child(name), steps, is_true)

    def __getattr__(self, name: str) -> Any:
        node = self._probe[0]
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "get":
            node.by_item = True
            return lambda key, default=None: self[key]  # noqa: ARG005
        if name in _MAPPING_METHODS:
            return lambda: self._entries(name)
        if name in _TEXT_METHODS and not node.children:
            node.is_text = True
            return getattr(_TEXT, name)
        node.by_attribute = True
        return self._child(name)

    def _entries(self, name: str) -> list[Any]:
        node, steps, is_true = self._probe
        node.is_map = True
        value = Node(is_text=True)
        entry = _Agreeable(value, steps, is_true)
        entries: dict[str, list[Any]] = {"items": [("app", entry)], "keys": ["app"], "values": [entry]}
        return entries[name]

    def __getitem__(self, key: Any) -> Any:
        node = self._probe[0]
        if isinstance(key, str):
            node.by_item = True
            return self._child(key)
        if isinstance(key, slice):
            return _TEXT[key]
        return self._element()

    def _element(self) -> _Agreeable:
        node, steps, is_true = self._probe
        node.element = node.element or Node()
        if next(steps, None) is None:
            raise _Budget
        return _Agreeable(node.element, steps, is_true)

    def __iter__(self) -> Iterator[Any]:
        return iter([self._element()])

    def __contains__(self, item: Any) -> bool:
        if isinstance(item, str):
            self._probe[0].by_item = True
        return self._probe[2]

    def __bool__(self) -> bool:
        return self._probe[2]

    def __len__(self) -> int:
        return 1

    def _as_text(self) -> str:
        self._probe[0].is_text = True
        return _TEXT

    def _as_number(self, *_: Any) -> int:
        self._probe[0].is_number = True
        return 1

    def __call__(self, *_: Any, **__: Any) -> _Agreeable:
        node = self._probe[0]
        node.is_called = True
        return self._child("()")

    def _compared(self, other: Any) -> bool:
        node = self._probe[0]
        if isinstance(other, str):
            node.is_text = True
        elif isinstance(other, (int, float)) and not isinstance(other, bool):
            node.is_number = True
        return self._probe[2]

    def _combined(self, other: Any) -> Any:
        if isinstance(other, str):
            return self._as_text() + other
        return self._as_number()

    def __hash__(self) -> int:
        self._probe[0].is_text = True
        return hash(_TEXT)

    def __format__(self, spec: str) -> str:
        return format(1, spec) if spec else self._as_text()

    __str__ = __repr__ = _as_text
    __int__ = __index__ = _as_number
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __add__ = __radd__ = __mul__ = __rmul__ = _combined
    __sub__ = __rsub__ = __floordiv__ = __rfloordiv__ = __mod__ = __truediv__ = __and__ = __or__ = _as_number
