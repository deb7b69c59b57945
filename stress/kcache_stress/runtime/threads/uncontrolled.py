"""Stand-ins for modules that cannot be scheduled: their objects may be created, but not used by controlled threads."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from ...engine.scheduling import HUB
from .refusal import refuse
from .scheduler import Scheduler

NOT_SCHEDULED: Final = "its loop cannot be scheduled"
WHY: Final = {
    "asyncio": "a loop that is created so cannot be scheduled; use asyncio.run or asyncio.new_event_loop",
    "uvloop": f"{NOT_SCHEDULED}; use asyncio.run or uvloop.run",
    "trio": f"{NOT_SCHEDULED}; run the test in a loop of asyncio",
    "multiprocessing": "other processes cannot be scheduled",
    "ctypes": "it reaches memory that cannot be watched",
}
"""Module with a stand-in -> the reason, for the message."""

ABSENT: Final = frozenset({"gevent", "eventlet", "greenlet"})
"""Packages with their own kind of threads. For the code under test, they are not installed."""

LOOP_ENTRIES: Final = ("new_event_loop", "set_event_loop", "get_event_loop")
"""Functions of asyncio by which code comes to an event loop."""
FUTURE_BRIDGES: Final = {
    "wrap_future": "asyncio.futures",
    "run_coroutine_threadsafe": "asyncio.tasks",
    "as_completed": "asyncio.tasks",
}
"""Function of asyncio that connects futures of loops with others, or makes a set of coroutines -> its module."""
OTHER_LOOPS: Final = {
    "uvloop": ("new_event_loop", "Loop"),
    "trio": ("run",),
    "trio.lowlevel": ("start_guest_run",),
}
"""Module -> its functions that create or run a loop of another kind."""
_PROCESSES: Final = ("Pool", "Manager")
_SYNCHRONISED: Final = (
    *("Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"),
    *("Queue", "SimpleQueue", "JoinableQueue", "Value", "Array", "Pipe"),
)
_MEMORY: Final = ("memmove", "memset", "string_at", "wstring_at")


def stand_in(real: ModuleType, scheduler: Scheduler) -> ModuleType:
    """Create the module that the code under test imports in place of one of :data:`STAND_INS`."""
    name = real.__name__
    module = ModuleType(name)
    module.__dict__.update(vars(real))
    _MAKERS[name](module, _Guard(name.partition(".")[0], scheduler))
    return module


class _Guard:
    """Guard of one module: only the harness may use it, because the harness creates the objects under test."""

    def __init__(self, name: str, scheduler: Scheduler) -> None:
        self._name = name
        self._scheduler = scheduler

    def refuse(self, used: str) -> None:
        """End the execution, because the code under test uses ``used``."""
        refuse(self._scheduler, f"uses {self._name}.{used}: {WHY[self._name]}", sys._getframe(1))

    def check(self, used: str) -> None:
        """End the execution if a controlled thread uses ``used``; the harness may use it."""
        if self._scheduler.current != HUB:
            self.refuse(used)

    def function(self, used: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that only the harness may call it."""

        @functools.wraps(real)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            self.check(used)
            return real(*args, **kwargs)

        return guarded

    def never(self, used: str) -> Callable[..., Any]:
        """Create a function whose calls are always refused."""

        def refused(*_: Any, **__: Any) -> Any:
            self.refuse(used)

        return refused


class _Guarded:
    """Proxy of an object: any code may hold a reference to it, but no controlled thread may use it."""

    def __init__(self, guard: _Guard, used: str, real: Any) -> None:
        self.__dict__.update(_kcache_guard=guard, _kcache_used=used, _kcache_real=real)

    def __getattr__(self, name: str) -> Any:
        self._kcache_guard.check(f"{self._kcache_used}.{name}")
        return getattr(self._kcache_real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._kcache_guard.check(f"{self._kcache_used}.{name}")
        setattr(self._kcache_real, name, value)

    def __enter__(self) -> Any:
        self._kcache_guard.check(self._kcache_used)
        return self._kcache_real.__enter__()

    def __exit__(self, *error: Any) -> Any:
        return self._kcache_real.__exit__(*error)


def _make_asyncio(module: ModuleType, guard: _Guard) -> None:
    """Let the module find the loops of the execution, also through names that code has imported before it."""

    def entry(owner: str, name: str) -> Callable[..., Any]:
        return lambda *args, **named: vars(sys.modules[owner])[name](*args, **named)

    entries = {**dict.fromkeys(LOOP_ENTRIES, "asyncio.events"), **FUTURE_BRIDGES}
    module.__dict__.update({name: entry(owner, name) for name, owner in entries.items()})
    for name in ("SelectorEventLoop", "ProactorEventLoop"):
        if name in module.__dict__:
            module.__dict__[name] = guard.function(name, module.__dict__[name])


def _make_uvloop(module: ModuleType, guard: _Guard) -> None:
    """Let its loop be the one of the execution, where code leaves the choice open; it keeps the same contract."""
    for name in OTHER_LOOPS["uvloop"]:
        module.__dict__[name] = guard.function(name, module.__dict__[name])
    module.__dict__["run"] = lambda main, **options: sys.modules["asyncio"].run(
        main, **{name: value for name, value in options.items() if name == "debug"}
    )


def _make_trio(module: ModuleType, guard: _Guard) -> None:
    for name in OTHER_LOOPS[module.__name__]:
        module.__dict__[name] = guard.function(name, module.__dict__[name])


def _make_multiprocessing(module: ModuleType, guard: _Guard) -> None:
    def guarded_factory(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: _Guarded(guard, name, real(*args, **kwargs))

    process: Any = module.__dict__["Process"]
    own = {"start": guard.never("Process.start"), "__module__": "multiprocessing"}
    module.__dict__["Process"] = type("Process", (process,), own)
    module.__dict__.update({name: guard.never(name) for name in _PROCESSES})
    module.__dict__.update({name: guarded_factory(name, module.__dict__[name]) for name in _SYNCHRONISED})
    module.__dict__["get_context"] = guarded_factory("get_context()", module.__dict__["get_context"])


def _make_pools(module: ModuleType, guard: _Guard) -> None:
    module.__dict__.update({name: guard.never(f"pool.{name}") for name in ("Pool", "ThreadPool")})


def _make_ctypes(module: ModuleType, guard: _Guard) -> None:
    for name in _MEMORY:
        module.__dict__[name] = guard.function(name, module.__dict__[name])
    for name in ("CDLL", "PyDLL", "WinDLL", "OleDLL"):
        if name in module.__dict__:
            module.__dict__[name] = _library_class(module.__dict__[name], guard)
    module.__dict__["cdll"] = type(module.__dict__["cdll"])(module.__dict__["CDLL"])
    module.__dict__["pydll"] = type(module.__dict__["pydll"])(module.__dict__["PyDLL"])
    module.__dict__["pythonapi"] = _Guarded(guard, "pythonapi", module.__dict__["pythonapi"])


def _library_class(real: Any, guard: _Guard) -> type:
    def load(self: Any, *args: Any, **kwargs: Any) -> None:
        real.__init__(self, *args, **kwargs)
        kind = self._FuncPtr

        def call(function: Any, *args: Any) -> Any:
            guard.check(getattr(function, "__name__", "a function"))
            return kind.__call__(function, *args)

        self._FuncPtr = type(
            "_FuncPtr", (kind,), {"__call__": call, "_flags_": kind._flags_, "_restype_": kind._restype_}
        )

    return type(real.__name__, (real,), {"__init__": load})


_MAKERS: Final[dict[str, Callable[[ModuleType, _Guard], None]]] = {
    "asyncio": _make_asyncio,
    "uvloop": _make_uvloop,
    "trio": _make_trio,
    "trio.lowlevel": _make_trio,
    "multiprocessing": _make_multiprocessing,
    "multiprocessing.pool": _make_pools,
    "multiprocessing.dummy": _make_pools,
    "ctypes": _make_ctypes,
}
STAND_INS: Final = frozenset(_MAKERS)
"""Names of the modules for which :func:`stand_in` creates a stand-in."""
