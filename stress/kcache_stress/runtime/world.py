"""Virtual world: private copies of the standard library's modules for threads, time, sockets and sqlite3.

The modules in C (``_thread``, ``time``, ``_socket``, ``select``, ``signal``, ``_sqlite3``) are replaced by modules of
kcache. ``threading``, ``queue`` and ``concurrent.futures`` are executed from the sources of the running Python, on top
of these modules. So a Condition, an Event or a Queue behaves exactly as it does in production.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib.util
import itertools
import os
import sys
import time
from collections.abc import Callable
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from ..instrument.names import hook_name
from .stand_ins.databases import Databases, make_sqlite_module
from .stand_ins.network import Network
from .stand_ins.polling import make_select_module
from .stand_ins.signals import make_signal_module
from .stand_ins.sockets import make_socket_module
from .threads.clock import EPOCH_SECONDS, Clock
from .threads.library import make_queue_accelerator, module_registered_as, no_process_hooks, with_simple_queue
from .threads.opcode_tracer import THREADING_CLASSES
from .threads.refusal import refuse
from .threads.scheduler import Scheduler
from .threads.simple_queue import items_type
from .threads.thread_class import simplify_threads
from .threads.thread_module import make_thread_module
from .threads.uncontrolled import STAND_INS
from .threads.virtual_thread import Aborted

PRIVATE_MODULES = (
    *("_thread", "time", "timeit", "threading", "_threading_local", "queue", "_queue", "functools", "contextlib"),
    *("random", "concurrent", "concurrent.futures", "concurrent.futures._base", "concurrent.futures.thread"),
    *("_socket", "socket", "select", "selectors", "signal", "_pyio", "_sqlite3", "sqlite3", "sqlite3.dbapi2"),
    *("builtins", "importlib", "importlib.util", *STAND_INS),
)
"""The modules of a virtual world."""

_CACHES = ("_make_key", "_HashedSeq", "_CacheInfo", "_lru_cache_wrapper", "lru_cache", "cache", "cached_property")
_PARTS: Final = {
    "functools": (functools, frozenset({*_CACHES, "_NOT_FOUND"})),
    "contextlib": (contextlib, frozenset({"_BaseExitStack", "ExitStack"})),
}
"""Module -> (the real module, the names that are private). Every other name is shared with the real module. The caches
are private because kcache cannot see into the caches in C; ExitStack is private because threads may share one."""

_INTRODUCED_FIRST: Final = 16
"""Threads of programs that `threading` knows from the start; it learns to know further ones when a program has more."""

Compile = Callable[[Callable[[], ast.Module], str, "frozenset[str] | None"], CodeType]
"""(function that parses the file, path of the file, the only classes to instrument or ``None`` for all) -> instrumented
code."""


def make_time_module(scheduler: Scheduler) -> ModuleType:
    """Create the stand-in for ``time``. CPU time of a process or a thread equals the virtual time that has passed."""
    clock = Clock(scheduler)

    def nanoseconds(read: Callable[[], float]) -> Callable[[], int]:
        return lambda: int(read() * 1_000_000_000)

    def wall() -> float:
        return EPOCH_SECONDS + clock.read()

    def of_seconds(real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function of seconds since the epoch: without an argument, it gets the virtual time."""
        return lambda seconds=None: real(wall() if seconds is None else seconds)

    def of_a_time(real: Callable[..., Any], texts: int) -> Callable[..., Any]:
        """Wrap a function of ``texts`` strings and a broken-down time: without the time, it gets the virtual time."""
        return lambda *args: real(*args, *(() if len(args) > texts else (time.localtime(wall()),)))

    def read_by_id(clock_id: int) -> float:
        return wall() if clock_id == getattr(time, "CLOCK_REALTIME", 0) else clock.read()

    module = ModuleType("time")
    module.__dict__.update({name: value for name, value in vars(time).items() if not name.startswith("__")})
    module.__dict__.update(
        sleep=clock.sleep,
        time=wall,
        monotonic=clock.read,
        perf_counter=clock.read,
        process_time=clock.read,
        thread_time=clock.read,
        clock_gettime=read_by_id,
        time_ns=nanoseconds(wall),
        monotonic_ns=nanoseconds(clock.read),
        perf_counter_ns=nanoseconds(clock.read),
        process_time_ns=nanoseconds(clock.read),
        thread_time_ns=nanoseconds(clock.read),
        clock_gettime_ns=lambda clock_id: int(read_by_id(clock_id) * 1_000_000_000),
        **{name: of_seconds(vars(time)[name]) for name in ("localtime", "gmtime", "ctime")},
        asctime=of_a_time(time.asctime, 0),
        strftime=of_a_time(time.strftime, 1),
    )
    return module


class World:
    """The private modules; each is created when it is first requested.

    Args:
        scheduler: runs the threads.
        compile: compiles and instruments a module; with ``None``, modules are not instrumented.
        hooks: the names that instrumented code needs.
        modules: modules that exist already, by name.
    """

    def __init__(
        self, scheduler: Scheduler, compile: Compile | None, hooks: dict[str, object], modules: dict[str, ModuleType]
    ) -> None:
        self.scheduler = scheduler
        self._compile = compile
        self._hooks = hooks
        self._hashes = itertools.count(1)
        self._introduced: dict[int, Any] = {}
        self._original: dict[str, object] = {}
        self.network = Network(scheduler)
        self.databases = Databases(self.network)
        self._modules: dict[str, Any] = {
            "_thread": make_thread_module(scheduler),
            "time": make_time_module(scheduler),
            **modules,
        }

    def module(self, name: str) -> ModuleType:
        """Return the private copy of one of :data:`PRIVATE_MODULES`."""
        module: ModuleType | None = self._modules.get(name)
        return module if module is not None else self._make(name)

    def replaced(self) -> str:
        """Return the first public name of ``threading`` that code has replaced; empty if no name is replaced."""
        threading = self._modules.get("threading")
        return next(
            (name for name, original in self._original.items() if getattr(threading, name, None) is not original), ""
        )

    def forget_threads(self, program_actors: int, random_seed: int = 0) -> None:
        """Drop the threads of the last execution from the copy of ``threading``, and reset the other private modules.

        Afterwards ``threading`` knows the main thread and the threads of the next program: ``program_actors`` of them,
        or all that were introduced so far if the number is not known (0). The random generator is seeded again.
        """
        self.network.start_over()
        self.databases.start_over()
        if "signal" in self._modules:
            self._modules["signal"]._start_over()
        if "random" in self._modules:
            self._modules["random"].seed(random_seed)
        threading = self._modules.get("threading")
        if threading is not None:
            # All entries are cleared, not only the leftovers: a thread that a setup starts while the number of program
            # threads is not known takes the entry of a program thread.
            threading._active.clear()
            if program_actors >= len(self._introduced):  # the main thread is one of them
                self._introduce_program_threads(threading, program_actors)
                threading._active.clear()
            introduced = self._introduced.items()
            threading._active.update(itertools.islice(introduced, 1 + program_actors if program_actors else None))
            threading._limbo.clear()
            threading._counter = itertools.count(1).__next__
            self._hashes = itertools.count(1)

    def _make(self, name: str) -> ModuleType:
        created: ModuleType
        if name in _MAKERS:
            created = self._modules[name] = _MAKERS[name](self)
            return created
        parent, _, child = name.rpartition(".")
        spec = PathFinder.find_spec(name, self.module(parent).__path__ if parent else None)
        assert spec is not None
        module = self._modules[name] = importlib.util.module_from_spec(spec)
        if parent:
            setattr(self.module(parent), child, module)
        if name == "concurrent":
            return module
        assert spec.origin is not None
        if name in _PARTS:
            shared = vars(_PARTS[name][0])
            module.__dict__.update({key: value for key, value in shared.items() if not key.startswith("__")})
        if name == "functools":
            module.__dict__["RLock"] = self.module("_thread").RLock
        if self._compile is None or name in ("_threading_local", "random", "timeit", "sqlite3", "sqlite3.dbapi2"):
            code = _code(name, spec.origin)
        else:
            parse = functools.partial(_parse, name, spec.origin)
            code = self._compile(parse, spec.origin, THREADING_CLASSES if name == "threading" else None)
        module.__dict__.update(self._hooks)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        with no_process_hooks(), module_registered_as(name, module) if name == "socket" else contextlib.nullcontext():
            exec(code, module.__dict__)
        if name == "threading":
            report_call: Any = self._hooks.get(hook_name("call"), lambda *_: None)
            simplify_threads(module, self.module("_thread"), self.scheduler, report_call)
            self._original = {own: module.__dict__[own] for own in module.__all__ if own != "excepthook"}
            if "_DeleteDummyThreadOnDel" in module.__dict__:
                module.__dict__["_DeleteDummyThreadOnDel"] = lambda _: None
            self._introduce_program_threads(module, _INTRODUCED_FIRST)
            module._DummyThread.join = lambda thread, timeout=None: self._join_program_thread(thread, timeout)
            module.__dict__["excepthook"] = self._note_failure
            module.Thread.__hash__ = lambda thread: self._hash_of(thread)
        if name == "concurrent.futures._base":
            module.Future.__hash__ = lambda future: self._hash_of(future)
            module.__dict__["id"] = self._hash_of  # it sorts futures by their ids
        if name == "concurrent.futures":
            _ = module.ThreadPoolExecutor  # imported lazily: import it here, so that no execution contains the import
        if name == "random":
            _make_repeatable(module)
        if name == "queue":
            module.__dict__.update(SimpleQueue=module.__dict__["_PySimpleQueue"], _items=items_type(self.scheduler))
        return module

    def _hash_of(self, item: Any) -> int:
        """Return a hash that is equal in each execution: pools and ``as_completed`` iterate over sets of objects."""
        number: int | None = item.__dict__.get("_kcache_hash")
        if number is None:
            number = item.__dict__["_kcache_hash"] = next(self._hashes)
        return number

    def _introduce_program_threads(self, threading: Any, count: int) -> None:
        """Register threads of programs with ``current_thread`` once, so that all executions behave the same."""
        scheduler = self.scheduler
        before = scheduler.current, scheduler.program_actors
        scheduler.program_actors = 0  # identities and names do not depend on when this happens
        for number in range(max(0, len(self._introduced) - 1), count):
            threading._counter = itertools.count(number + 1).__next__
            scheduler.current = number
            threading.current_thread()
        scheduler.current, scheduler.program_actors = before
        self._introduced.update(threading._active)

    def _join_program_thread(self, joined: Any, timeout: float | None = None) -> None:  # noqa: ARG002
        """Refuse ``Thread.join`` of a program thread: its end is no event, as the harness waits for it."""
        if joined.ident == self.module("_thread").get_ident():
            raise RuntimeError("cannot join current thread")
        why = "joins a thread of the program, whose end is no event: start it with threading.Thread in the test"
        refuse(self.scheduler, why, sys._getframe(1))

    def _note_failure(self, failed: Any) -> None:
        """Stand in for ``threading.excepthook``: record the exception that ended a thread as a failure."""
        if not isinstance(failed.exc_value, (Aborted, SystemExit)):
            self.scheduler.failures.append(failed.exc_value)

    def _import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        if name == "io" and (globals or {}).get("__name__") == "socket":
            return self.module("_pyio")  # file objects of the C module `io` have real locks
        package = (globals or {}).get("__package__") or ""
        full = f"{package}.{name}".rstrip(".") if level else name
        if full not in PRIVATE_MODULES or full in ("_queue", "builtins", "importlib"):
            return builtins.__import__(name, globals, locals, fromlist, level)
        module = self.module(full)
        for child in fromlist or ():
            if f"{full}.{child}" in PRIVATE_MODULES:
                self.module(f"{full}.{child}")
        return module if fromlist else self.module(full.partition(".")[0])


_MAKERS: Final[dict[str, Callable[[World], ModuleType]]] = {
    "_queue": lambda world: make_queue_accelerator(lambda: world.module("queue")),
    "_socket": lambda world: make_socket_module(world.network),
    "_sqlite3": lambda world: make_sqlite_module(world.databases),
    "select": lambda world: make_select_module(world.network),
    "signal": lambda world: make_signal_module(world.scheduler),
}
"""Private module -> function that creates it: the modules that replace modules in C."""


def _make_repeatable(random: Any) -> None:
    """Seed random generators without a seed with 0, so that they yield the same numbers in each execution."""
    original = random.Random.seed

    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        original(self, 0 if a is None else a, version)

    seed.__code__ = seed.__code__.replace(co_filename=random.__file__)  # not harness code: its writes are visible
    random.Random.seed = seed
    random._urandom = lambda size: os.urandom(size)  # looked up at each call: executions replace `os.urandom`
    random.seed = random._inst.seed  # the module's function was bound to the method before it was replaced
    random.seed()


def _parse(name: str, path: str) -> ast.Module:
    """Parse a module of the standard library. Of a module in :data:`_PARTS`, keep only the private definitions."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    if name in _PARTS:
        tree.body = [statement for statement in tree.body if not _PARTS[name][1].isdisjoint(_defined(statement))]
    return with_simple_queue(tree) if name == "queue" else tree


@functools.cache
def _code(name: str, path: str) -> CodeType:
    """Return the code of a module without instrumentation; of most modules, Python has stored it."""
    stored = None if name in _PARTS or name == "queue" else SourceFileLoader(name, path).get_code(name)
    return stored or compile(_parse(name, path), path, "exec", dont_inherit=True)


def _defined(statement: ast.stmt) -> set[str]:
    """Return the names that a function, class or assignment statement defines."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}
