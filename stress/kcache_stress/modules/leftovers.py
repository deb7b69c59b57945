"""Leftovers of executions in modules under test: if executions begin in different states, a search proves nothing."""

from __future__ import annotations

import contextlib
import gc
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, GeneratorType, ModuleType

from kcache_model.foreign import own_attributes

from ..instrument.names import HOOK_MARK, PREFIX
from ..knowledge.tables import ITERATORS
from ..runtime.threads.scheduler import Scheduler
from ..runtime.world import PRIVATE_MODULES
from .sandbox import Sandbox
from .state.canonical_state import CanonicalState

_HARNESS = "kcache_stress."


def instrumented_modules(sandbox: Sandbox) -> list[ModuleType]:
    """Return the private, instrumented copies of the modules under test."""
    with sandbox.active():
        modules = list(sys.modules.values())
    return [
        module
        for module in modules
        if HOOK_MARK in own_attributes(module) and own_attributes(module)["__name__"] not in PRIVATE_MODULES
    ]


class Leftovers:
    """Comparison of the globals of modules, and of the attributes of their classes, at the begin of executions.

    Only the 1st, 2nd, 4th, 8th, ... execution is compared: if one execution leaves something, others do so, too.

    Args:
        modules: the instrumented modules.

    Attributes:
        note: a sentence about the first leftover; empty if there is none.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self.note = ""
        self._modules = list(modules)
        self._executions = 0
        self._first: dict[str, list[object]] = {}
        self._state = CanonicalState()  # one for all: it keeps alive the objects whose ids are tokens
        self._state.add_reader(Scheduler, self._state.keep)  # not read: the clock is reset with each execution

    def look(self) -> None:
        """Compare the modules with the first execution; to be called when an execution is set up, before it begins."""
        self._executions += 1
        if self.note or self._executions & (self._executions - 1):
            return
        for name, value in self._values():
            self._state.start()
            self._state.read((value, *_at_hand(value)))
            tokens = [*self._state.tokens, *_position(value)]
            if self._executions == 1:
                self._first[name] = tokens
            elif self._first.get(name) != tokens:
                self.note = f"{name} keeps state from one execution to the next: create it anew in each execution"
                return

    def _values(self) -> Iterator[tuple[str, object]]:
        for module in self._modules:
            for name, value in _entries(module.__name__, own_attributes(module)):
                kind = type(value)
                if kind is FunctionType and str(value.__module__).startswith(_HARNESS):
                    continue  # a function of the sandbox, such as its import_module, refers to the whole sandbox
                if issubclass(kind, type) and value.__module__ == module.__name__:
                    yield from _entries(name, own_attributes(value))
                elif not issubclass(kind, (type, ModuleType)):
                    yield name, value


def _position(value: object) -> Iterator[object]:
    """Yield the position of a generator, random generator, file or iterator: its attributes do not contain it."""
    if type(value) is GeneratorType:
        yield value.gi_frame and value.gi_frame.f_lasti
    elif type(value).__module__ in ("random", "_io"):
        for name in ("getstate", "getvalue", "tell"):
            with contextlib.suppress(AttributeError, NotImplementedError, OSError, ValueError):
                yield getattr(value, name)()
    elif type(value) in ITERATORS:
        yield repr(value)
        with contextlib.suppress(TypeError, AttributeError, ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of itertools: no `__reduce__` since Python 3.14
            yield repr(value.__reduce__())


def _at_hand(value: object) -> Iterator[object]:
    """Yield the lists and tuples that an iterator in C refers to: they contain the hidden part of its position."""
    if type(value) in ITERATORS:
        yield from (part for part in gc.get_referents(value) if type(part) in (list, tuple))


def _entries(owner: str, space: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in list(space.items()):
        if not name.startswith(("__", PREFIX)) and name != "_abc_impl":
            yield f"{owner}.{name}", value
