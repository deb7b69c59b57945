"""State that modules under test keep outside of any object: globals and attributes of classes."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType, ModuleType
from typing import Any

from kcache_model.foreign import is_a, is_any, own_attributes

from ..instrument.names import HOOK_MARK, PREFIX
from ..sandbox import Sandbox
from ..virtual.world import PRIVATE_MODULES
from .canonical_state import CanonicalState
from .closures import rebindings


def instrumented_modules(sandbox: Sandbox) -> list[ModuleType]:
    """The private copies of the modules under test."""
    with sandbox.active():
        modules = list(sys.modules.values())
    return [
        module
        for module in modules
        if HOOK_MARK in own_attributes(module) and own_attributes(module)["__name__"] not in PRIVATE_MODULES
    ]


class Namespaces:
    """The modules under test and their classes.

    Args:
        modules: the instrumented modules.

    Attributes:
        roots: what is kept there that can change.
        opaque: the first thing kept there that cannot be read; ``None`` if there was none.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self.roots: list[object] = []
        self.opaque: str | None = None
        self._spaces: dict[int, tuple[str, Any, list[object]]] = {}
        for module in modules:
            space = own_attributes(module)
            self._add(str(space["__name__"]), module, space)

    def name_of(self, space: object) -> str | None:
        """The name of a class, or of the module that has these globals; ``None`` for anything else."""
        found = self._spaces.get(id(space))
        return None if found is None else found[0]

    def is_known(self, identity: int) -> bool:
        """Whether ``identity`` is the id of a class or of the globals of a module."""
        return identity in self._spaces

    def changed(self) -> str | None:
        """Where a name means something else now than it did when this was made."""
        for name, space, values in self._spaces.values():
            now = space if type(space) is dict else vars(space)
            if len(now) != len(values) or not all(map(operator.is_, now.values(), values)):
                return name
        return None

    def _add(self, name: str, owner: Any, space: Any) -> None:
        key = space if is_a(owner, ModuleType) else owner
        self._spaces[id(key)] = (name, key, list(space.values()))
        for attribute, value in list(space.items()):
            if attribute.startswith(("__", PREFIX)) or attribute == "_abc_impl":
                continue
            for part in _unwrapped(value):
                if is_a(part, type):
                    if part.__module__ == getattr(owner, "__module__", name) and id(part) not in self._spaces:
                        self._add(f"{part.__module__}.{part.__qualname__}", part, vars(part))
                else:
                    self._consider(f"{name}.{attribute}", part)

    def _consider(self, name: str, value: object) -> None:
        state = CanonicalState()
        state.read((value,))
        if state.opaque is not None and self.opaque is None:
            self.opaque = f"{name} ({state.opaque})"
        if not all(map(_is_constant, state.objects)):
            self.roots.append(value)


def _unwrapped(value: Any) -> Iterator[object]:
    """What is behind the wrappers that classes have."""
    if is_any(value, (staticmethod, classmethod)):
        yield value.__func__
    elif is_a(value, property):
        yield from filter(None, (value.fget, value.fset, value.fdel))
    elif is_a(value, functools.cached_property):
        yield value.func
    else:
        yield value


def _is_constant(item: object) -> bool:
    """Whether it is a function, or belongs to one, and the function leaves alone what it closes over."""
    if type(item) is FunctionType:
        rebound = rebindings(item.__code__, item.__code__.co_freevars)
        return not rebound and not (item.__dict__.keys() - {"__wrapped__", "__isabstractmethod__"})
    return type(item) is CellType or (type(item) is dict and item.keys() <= {"__wrapped__", "__isabstractmethod__"})
