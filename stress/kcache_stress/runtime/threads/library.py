"""Standard library modules of which a sandbox has its own copy, and special cases when they are loaded again."""

from __future__ import annotations

import _queue
import ast
import atexit
import builtins
import contextlib
import dataclasses
import functools
import importlib
import importlib.util
import logging
import os
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import greenlet

if TYPE_CHECKING:
    from .scheduler import Scheduler


def make_builtins(importer: Callable[..., ModuleType], hooks: Mapping[str, object], scheduler: Scheduler) -> ModuleType:
    """Create a ``builtins`` whose ``__import__`` is ``importer``; all code of the sandbox shares it.

    A real thread that a stress run has left behind imports as usual, although it finds this module in ``sys.modules``:
    during an execution, only virtual threads are greenlets with a parent.

    It contains the hooks of instrumented code. So the globals of a module contain only names that the module defines.
    """
    module = ModuleType("builtins")
    module.__dict__.update({**vars(builtins), **hooks})

    def imported(*args: Any, **named: Any) -> ModuleType:
        is_foreign = scheduler.live and greenlet.getcurrent().parent is None
        return builtins.__import__(*args, **named) if is_foreign else importer(*args, **named)

    module.__dict__["__import__"] = imported
    return module


def make_importlib(
    meet: Callable[[str], object], active: Callable[[], AbstractContextManager[None]], report: Callable[[str], object]
) -> ModuleType:
    """Create an ``importlib`` whose ``import_module`` and ``util.find_spec`` find the same modules as imports.

    Args:
        meet: called with the full name of each module before the lookup; raises ModuleNotFoundError if the
            module counts as not installed.
        active: returns the context in which the imports of the sandbox are in effect.
        report: called with the full name of each module before ``import_module`` looks it up.
    """

    def full_name_of(name: str, package: str | None) -> str:
        return importlib.util.resolve_name(name, package) if name.startswith(".") else name

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        full_name = full_name_of(name, package)
        try:
            meet(full_name)
        except ModuleNotFoundError:  # the package counts as not installed
            if "." in full_name:
                raise
            return None
        with active():
            return importlib.util.find_spec(name, package)

    def import_module(name: str, package: str | None = None) -> ModuleType:
        full_name = full_name_of(name, package)
        report(full_name)
        module = sys.modules.get(full_name)
        if module is not None:  # without a call of importlib, whose code is not visible
            return module
        meet(full_name)
        with active():
            return importlib.import_module(name, package)

    module, util = ModuleType("importlib"), ModuleType("importlib.util")
    util.__dict__.update({**vars(importlib.util), "find_spec": find_spec})
    module.__dict__.update({**vars(importlib), "import_module": import_module, "util": util})
    return module


def make_plain_functools(private: ModuleType) -> ModuleType:
    """Create the ``functools`` of code that is not instrumented: caches in C, but ``cached_property`` of ``private``.

    The lock of ``cached_property`` (until Python 3.11) is then virtual.
    """
    module = ModuleType("functools")
    module.__dict__.update(vars(functools))
    module.__dict__["cached_property"] = private.__dict__["cached_property"]
    return module


_SIMPLE_QUEUE: Final = """
class _PySimpleQueue:
    def __init__(self):
        self._queue = deque()
        self._items = _items(self._queue)

    def put(self, item, block=True, timeout=None):
        self._items.append(self._queue, item)

    def get(self, block=True, timeout=None):
        return self._items.take(self._queue, block, timeout)

    def put_nowait(self, item):
        self._items.append(self._queue, item)

    def get_nowait(self):
        return self._items.take(self._queue, False)

    def empty(self):
        return not self._items.count(self._queue)

    def qsize(self):
        return self._items.count(self._queue)

    __class_getitem__ = classmethod(types.GenericAlias)
"""


def with_simple_queue(tree: ast.Module) -> ast.Module:
    """Replace ``_PySimpleQueue`` in the tree of ``queue``: each call of a method is one step, as in C.

    In the standard library's Python version, a queue may contain an item that no thread can get yet.
    """
    (class_def,) = ast.parse(_SIMPLE_QUEUE).body
    assert isinstance(class_def, ast.ClassDef)
    for position, statement in enumerate(tree.body):
        if isinstance(statement, ast.ClassDef) and statement.name == class_def.name:
            tree.body[position] = ast.increment_lineno(class_def, statement.lineno - class_def.lineno)
    return tree


def make_queue_accelerator(queue: Callable[[], ModuleType]) -> ModuleType:
    """Create the ``_queue`` of a private ``queue``. While ``queue`` is being executed, it has no ``SimpleQueue``."""

    def simple_queue(name: str) -> Any:
        if name == "SimpleQueue" and name in vars(queue()):
            return vars(queue())[name]
        raise AttributeError(name)

    module = ModuleType("_queue")
    module.__dict__.update(Empty=_queue.Empty, __getattr__=simple_queue)
    return module


class Replaced:
    """Context in which names of real modules have other values; names that a module does not have are ignored.

    It is entered in each execution. It is a class and updates whole dicts because a generator is several times slower.
    """

    __slots__ = ("_real", "_replacing")

    def __init__(self, *names: tuple[ModuleType, str, object]) -> None:
        replacing: dict[int, tuple[dict[str, object], dict[str, object]]] = {}
        for module, name, value in names:
            if name in vars(module):
                replacing.setdefault(id(module), (vars(module), {}))[1][name] = value
        self._replacing = list(replacing.values())

    def __enter__(self) -> None:
        self._real = [
            dict(zip(values, map(names.__getitem__, values), strict=True)) for names, values in self._replacing
        ]
        for names, values in self._replacing:
            names.update(values)

    def __exit__(self, *_: object) -> None:
        for (names, _values), before in zip(self._replacing, self._real, strict=True):
            names.update(before)


def no_process_hooks() -> AbstractContextManager[None]:
    """Context in which fork and exit handlers of the copies are ignored: they must not run in the real process."""
    return Replaced((os, "register_at_fork", _ignored), (atexit, "register", _ignored))


@contextlib.contextmanager
def module_registered_as(name: str, module: ModuleType) -> Iterator[None]:
    """Context in which ``sys.modules[name]`` is ``module``: enumerations look their own module up there."""
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        yield
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before


@contextlib.contextmanager
def import_settings_restored() -> Iterator[None]:
    """Context that restores ``sys.path`` and ``sys.meta_path`` at its end."""
    path, finders = sys.path[:], sys.meta_path[:]
    try:
        yield
    finally:
        sys.path[:], sys.meta_path[:] = path, finders


def own_idents(get_ident: Callable[[], int]) -> AbstractContextManager[None]:
    """Context in which ``reprlib`` and ``dataclasses`` distinguish virtual threads.

    They stop an endless ``repr`` by the identity of the thread. With one identity for all virtual threads, an object
    whose ``repr`` runs in another thread would seem to contain itself.
    """
    copied = SimpleNamespace(get_ident=get_ident)  # until Python 3.12, dataclasses have a copy of the code of reprlib
    return Replaced((reprlib, "get_ident", get_ident), (dataclasses, "_thread", copied))


def settle_module(module: ModuleType, *, instrumented: bool) -> None:
    """Change a copy that was just loaded so that it behaves the same in each execution; affects only ``logging``."""
    if module.__name__ != "logging":
        return
    for registers in ("_addHandlerRef", "_register_at_fork_reinit_lock"):  # for the exit and for forks of the process
        module.__dict__[registers] = _ignored
    if not instrumented:
        _settle_logging(module)


def _settle_logging(copy: Any) -> None:
    """Use the process's ``logging.disable`` level, and do not cache ``isEnabledFor``: a lock guards the cache."""

    def is_enabled_for(self: Any, level: int) -> bool:
        return not self.disabled and logging.root.manager.disable < level >= self.getEffectiveLevel()

    copy.Logger.isEnabledFor = is_enabled_for
    copy.Manager.disable = property(lambda _: logging.root.manager.disable, lambda _, level: logging.disable(level))


def _ignored(function: Any = None, *_: Any, **__: Any) -> Any:
    return function
