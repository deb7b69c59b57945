"""Leftovers of executions in modules under test: each is to begin as the first did, or a search proves nothing."""

from __future__ import annotations

import contextlib
import gc
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, GeneratorType, ModuleType

from kcache_model.foreign import own_attributes

from ..instrument.names import HOOK_MARK, PREFIX
from ..instrument.tables import ITERATORS
from ..runtime.threads.scheduler import Scheduler
from ..runtime.world import PRIVATE_MODULES
from .sandbox import Sandbox
from .state.canonical_state import CanonicalState

_HARNESS = "kcache_stress."


def instrumented_modules(sandbox: Sandbox) -> list[ModuleType]:
    """The private copies of the modules under test."""
    with sandbox.active():
        modules = list(sys.modules.values())
    return [
        module
        for module in modules
        if HOOK_MARK in own_attributes(module) and own_attributes(module)["__name__"] not in PRIVATE_MODULES
    ]


class Leftovers:
    """Compares the globals of modules, and the attributes of their classes, as executions begin.

    Only the first two executions and then ever fewer are looked at: what one leaves, others leave, too.

    Args:
        modules: the instrumented modules.

    Attributes:
        note: what the first one found is; empty if nothing was left.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self.note = ""
        self._modules = list(modules)
        self._executions = 0
        self._first: dict[str, list[object]] = {}
        self._kept: list[CanonicalState] = []

    def look(self) -> None:
        """An execution has been set up, and is about to begin."""
        self._executions += 1
        if self.note or self._executions & (self._executions - 1):
            return
        for name, value in self._values():
            state = CanonicalState()
            state.add_reader(Scheduler, state.keep)  # a clock that a module keeps is no older than the execution
            state.read((value, *_at_hand(value)))
            self._kept.append(state)  # tokens may be the ids of what it keeps alive
            tokens = [*state.tokens, *_position(value)]
            if self._executions == 1:
                self._first[name] = tokens
            elif self._first.get(name) != tokens:
                self.note = (
                    f"{name} keeps what an execution left, and the next one starts from it: make it anew each time"
                )
                return

    def _values(self) -> Iterator[tuple[str, object]]:
        for module in self._modules:
            for name, value in _entries(module.__name__, own_attributes(module)):
                kind = type(value)
                if kind is FunctionType and str(value.__module__).startswith(_HARNESS):
                    continue  # a function of the sandbox, such as its import_module, has the sandbox behind it
                if issubclass(kind, type) and value.__module__ == module.__name__:
                    yield from _entries(name, own_attributes(value))
                elif not issubclass(kind, (type, ModuleType)):
                    yield name, value


def _position(value: object) -> Iterator[object]:
    """How far something has come that goes on when it is used, which its attributes do not tell."""
    if type(value) is GeneratorType:
        yield value.gi_frame and value.gi_frame.f_lasti
    elif type(value).__module__ in ("random", "_io"):
        for name in ("getstate", "getvalue", "tell"):
            with contextlib.suppress(AttributeError, NotImplementedError, OSError, ValueError):
                yield getattr(value, name)()
    elif type(value) in ITERATORS:
        yield repr(value)
        with contextlib.suppress(TypeError, AttributeError, ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of itertools: from Python 3.14 on they cannot do it
            yield repr(value.__reduce__())


def _at_hand(value: object) -> Iterator[object]:
    """What an iterator of C has taken from others, which tells of its position what it does not tell itself."""
    if type(value) in ITERATORS:
        yield from (part for part in gc.get_referents(value) if type(part) in (list, tuple))


def _entries(owner: str, space: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in list(space.items()):
        if not name.startswith(("__", PREFIX)) and name != "_abc_impl":
            yield f"{owner}.{name}", value
