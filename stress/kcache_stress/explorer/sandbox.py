"""A private, instrumented copy of the modules under test, in a virtual world of its own.

Nothing is patched: the copies live beside the real modules, which the rest of the process keeps using. While copies are
imported, and whenever their code imports something, they take the place of the real ones in ``sys.modules``.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .granularity import Granularity
from .instrument.call_sites import note_call_sites
from .instrument.exposure import expose
from .instrument.facts import Facts, collect_facts
from .instrument.hooks import make_hooks
from .instrument.rewriter import rewrite
from .virtual.scheduler import Scheduler
from .virtual.world import PRIVATE_MODULES, World

SHARED_MODULES = ("kcache.errors", "kcache.interfaces", "kcache.transaction", "kcache.keys")
"""What the harness and an implementation exchange: never copied, or an error would not be recognised as what it is."""

_UNCONTROLLED = {
    "asyncio": "its event loop cannot be scheduled",
    "multiprocessing": "other processes cannot be scheduled",
    "gevent": "it has threads of its own",
    "greenlet": "it has threads of its own",
    "ctypes": "it reaches memory that cannot be watched",
}
_STORES = frozenset({"Cache", "ThreadSafeMap", "new_indexer", "new_store", "new_thread_safe_store"})
_STORE_MODULES = frozenset({"kcache.store", "kcache.thread_safe_store"})
_MOST_ATTEMPTS = 20


class CannotExploreError(Exception):
    """The target cannot be put under the explorer; the message says why. Stress still serves."""


@dataclass(frozen=True)
class Roots:
    """Which modules are copied and instrumented.

    Attributes:
        packages: each with all that is below; a dotted name leaves what is above and beside it to the process.
        folder: every top-level module that lies in this folder; ``None`` if there is none.
    """

    packages: frozenset[str] = frozenset()
    folder: Path | None = None

    def contain(self, name: str) -> bool:
        """Whether the module called ``name`` is one of them."""
        if name in SHARED_MODULES:
            return False
        if any(name == root or name.startswith(f"{root}.") for root in self.packages):
            return True
        top = name.partition(".")[0]
        return self.folder is not None and top not in sys.stdlib_module_names and _lies_in(str(self.folder), top)


class Sandbox:
    """Loads modules privately.

    Args:
        roots: which modules are copied and instrumented; whatever else they import is shared with the process.
        granularity: where their threads may be switched.
        expected: modules that will be loaded later: what is known of them from the start needs no second attempt.

    Attributes:
        scheduler: runs their threads.
        granularity: as given.
        sources: path -> source of each instrumented module.
        opaque: modules below the roots that have no Python source: each of their calls counts as one access.
    """

    def __init__(
        self, roots: Roots, granularity: Granularity = Granularity.FREE, expected: Sequence[str | Path] = ()
    ) -> None:
        self.roots = roots
        self.granularity = granularity
        self.scheduler = Scheduler(steps_are_events=granularity is Granularity.FREE)
        self.sources: dict[str, bytes] = {}
        self.opaque: list[str] = []
        self._is_active = self._grown = False
        self._is_scouting = True
        self._expected = expected
        self._facts = Facts()
        self._libraries: dict[str, CodeType] = {}
        self._start_over()

    def load(self, module: str | Path) -> ModuleType:
        """A private copy of a module, by name or file, and of everything below the roots that it imports.

        Raises:
            CannotExploreError: it uses something that cannot be scheduled.
            Exception: whatever the module raises while it is imported.
        """
        for _ in range(_MOST_ATTEMPTS):
            known, was_scouting = self._facts, self._is_scouting
            with self.active():
                for other in self._expected if was_scouting else ():
                    self._load(other)
                loaded = self._load(module)
            if not was_scouting and self._facts == known and not self._grown:
                return loaded
            # Later modules write what earlier ones were taken to leave alone: once more, knowing that.
            self._is_scouting, self._grown = self._grown, False
            self._start_over()
        raise CannotExploreError("its modules never read the same twice")

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """While this is entered, imports find the private copies."""
        if self._is_active:
            yield
            return
        self._is_active = True
        self._swap_in()
        try:
            yield
        finally:
            self._swap_out()
            self._is_active = False

    def reset(self, program_threads: int = 0) -> None:
        """Unwind what is left of an execution, and get ready for a program with that many threads."""
        self.scheduler.reset(program_threads)
        self._world.forget_threads()

    def _start_over(self) -> None:
        self._real: dict[str, ModuleType] = {}
        self._private: dict[str, ModuleType] = {}
        self.sources.clear()
        self.opaque.clear()
        scheduler = self.scheduler
        self._hooks = {
            Granularity.FREE: lambda: make_hooks(scheduler.access),
            Granularity.GIL: lambda: make_hooks(scheduler.note, scheduler.pause),
            Granularity.SYNC: lambda: make_hooks(scheduler.note),
        }[self.granularity]()
        self._world = World(self.scheduler, self._compile_library, self._hooks)
        self._finder = _Finder(self)

    def _compile_library(self, tree: ast.Module, path: str, only: frozenset[str] | None) -> CodeType:
        if path not in self._libraries:
            self._libraries[path] = compile(self._rewrite(tree, collect_facts(tree), only), path, "exec")
        return self._libraries[path]

    def _rewrite(self, tree: ast.Module, facts: Facts, only: frozenset[str] | None = None) -> ast.Module:
        rewritten = rewrite(tree, facts, pauses=self.granularity is Granularity.GIL, only_classes=only)
        return note_call_sites(expose(rewritten), facts) if self.granularity is Granularity.SYNC else rewritten

    def compile(self, source: bytes, path: str) -> CodeType:
        """The code of a module, instrumented; as it is while only the facts are collected, which is much quicker."""
        tree = ast.parse(source, path)
        _refuse_uncontrolled(tree, path)
        if _builds_on_the_reference(tree) and "kcache" not in self.roots.packages:
            self.roots = replace(self.roots, packages=self.roots.packages | {"kcache"})
            self._grown = True
        self.sources[path] = source
        self._facts = self._facts.merge(collect_facts(tree))
        return compile(tree if self._is_scouting else self._rewrite(tree, self._facts), path, "exec")

    def prepare(self, module: ModuleType) -> None:
        """Give a private module what its instrumented code needs."""
        module.__dict__.update(self._hooks)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}

    def _import(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        with self.active():
            return builtins.__import__(name, globals, locals, fromlist or (), level)

    def _load(self, module: str | Path) -> ModuleType:
        return self._load_file(module) if isinstance(module, Path) else importlib.import_module(module)

    def _load_file(self, path: Path) -> ModuleType:
        name = f"kcache_target_{path.stem}"
        found = sys.modules.get(name)
        if found is not None:
            return found
        spec = importlib.util.spec_from_file_location(name, path, loader=_Loader(name, str(path), self))
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        assert spec.loader is not None
        spec.loader.exec_module(module)
        return module

    def is_private(self, name: str) -> bool:
        """Whether code in the sandbox sees a copy of its own of that module."""
        return name in PRIVATE_MODULES or name.startswith("kcache_target_") or self.roots.contain(name)

    def world_module(self, name: str) -> ModuleType:
        """The virtual ``threading`` and its like."""
        return self._world.module(name)

    @contextlib.contextmanager
    def outside(self) -> Iterator[None]:
        """While this is entered, imports find the real modules again."""
        self._swap_out()
        try:
            yield
        finally:
            self._swap_in()

    def _swap_in(self) -> None:
        self._real = dict(sys.modules)
        for name in filter(self.is_private, self._real):
            del sys.modules[name]
        self._covered = list(self._cover())
        sys.modules.update(self._private)
        sys.meta_path.insert(0, self._finder)

    def _cover(self) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
        """A shared package names the private module below it: yields its dict, the name, and what to restore there."""
        for root in self.roots.packages:
            parent, _, child = root.rpartition(".")
            if parent in sys.modules:
                holder = vars(sys.modules[parent])
                yield holder, child, {child: holder.pop(child)} if child in holder else {}
                holder.update({child: self._private[root]} if root in self._private else {})

    def _swap_out(self) -> None:
        sys.meta_path.remove(self._finder)
        self._private = {name: module for name, module in sys.modules.items() if self.is_private(name)}
        for name in self._private:
            del sys.modules[name]
        # What is private may have become more meanwhile, see `compile`.
        sys.modules.update({name: module for name, module in self._real.items() if self.is_private(name)})
        for holder, child, real in self._covered:
            holder.pop(child, None)
            holder.update(real)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds private copies, and lets everything else be imported as if there were no sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def find_spec(
        self, name: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in PRIVATE_MODULES:
            return importlib.machinery.ModuleSpec(name, _Ready(self._sandbox.world_module(name)))
        if not self._sandbox.is_private(name):
            with self._sandbox.outside():
                real = importlib.import_module(name)
            sys.modules.pop(name, None)  # or it would be taken for an import to be done once more
            return importlib.machinery.ModuleSpec(name, _Ready(real))
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.origin is None:
            return spec
        if not spec.origin.endswith(".py"):
            self._sandbox.opaque.append(name)
            return spec
        spec.loader = _Loader(name, spec.origin, self._sandbox)
        return spec


class _Ready(importlib.abc.Loader):
    """Hands out a module that exists already, and leaves it as it is."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:  # noqa: ARG002
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module from its source, instrumented; never from or into a cache of byte code."""

    def __init__(self, name: str, path: str, sandbox: Sandbox) -> None:
        super().__init__(name, path)
        self._sandbox = sandbox

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return self._sandbox.compile(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        self._sandbox.prepare(module)
        exec(self.get_code(module.__name__), module.__dict__)


def _builds_on_the_reference(tree: ast.Module) -> bool:
    """Whether a module uses the reference's stores: then they are part of the implementation."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "kcache" and not node.level:
            if any(alias.name in _STORES for alias in node.names) or node.module in _STORE_MODULES:
                return True
        elif isinstance(node, ast.Attribute) and node.attr in _STORES:
            return True
    return False


@functools.cache
def _lies_in(folder: str, name: str) -> bool:
    return importlib.machinery.PathFinder.find_spec(name, [folder]) is not None


def _refuse_uncontrolled(tree: ast.Module, path: str) -> None:
    for node in ast.walk(tree):
        for name in _imported(node):
            why = _UNCONTROLLED.get(name.partition(".")[0])
            if why is not None:
                raise CannotExploreError(f"{path} imports {name}: {why}")


def _imported(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
