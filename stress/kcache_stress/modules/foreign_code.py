"""Foreign code: events for code that is not instrumented when a controlled thread runs it.

Instrumented code reports its own accesses; the monitor reports code that does not. A trace function is called for each
Python frame of a controlled thread. When unknown code is entered from known code, or goes on after it has called known
code, a stretch of unknown accesses begins. It is reported as one :class:`UnknownAccess` to :data:`UNKNOWN` and to all
objects that the frame can reach. No thread is switched within a stretch, only at its begin, and in locks and callbacks.

Watching costs time. A rehearsal watches once, without reporting; if it met no unknown code, the search watches only
some executions.
"""

from __future__ import annotations

import collections
import gc
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

import kcache
from kcache_model.foreign import class_attribute, is_a
from kcache_model.places import file_name

from ..engine.events import READ, UNKNOWN, WRITE, UnknownAccess
from ..engine.weak_objects import weakly
from ..instrument.facts import Facts
from ..instrument.names import HOOK_MARK
from ..knowledge.code_in_c import ANY_STATE, OUTSIDE, ModuleState, state_of
from ..knowledge.python_code import (
    asks_outside,
    checks_protocols,
    draws,
    is_transparent,
    only_reads,
    replaces,
    touches_arguments_only,
)
from ..knowledge.tables import PLAIN
from ..runtime.threads.opcode_tracer import is_machinery, is_of_a_hook, serves_pytest
from .private_packages import parts_in_c

if TYPE_CHECKING:
    from ..runtime.threads.scheduler import Scheduler

_KNOWN: Final = 0
"""The harness, the virtual runtime, and code that only calls its arguments."""
_OWN: Final = 1
_OPAQUE: Final = 2

_IN_C: Final = compile("", "_asyncio", "exec")
"""Stands for the functions in C of asyncio."""

_USED_BY_LOOPS: Final = frozenset(
    {"os", "weakref", "_weakrefset", "collections.abc", "threading", "signal", "enum", "reprlib"}
)
"""Modules with functions that asyncio calls for its own, such as its sets of tasks."""

_MOST_REACHED: Final = 3_000
_MOST_WALKS: Final = 8
"""Number of walks from one place that may exceed :data:`_MOST_REACHED`. Then walks from it stop, as each is slow."""
_BLIND: Final = (type, types.ModuleType, types.CodeType, types.FrameType, types.BuiltinFunctionType)
_FIXED: Final = PLAIN | {type(None)}
_CONTAINERS: Final = (dict, list, set, collections.deque, collections.OrderedDict)
"""Types of module variables that code of a module reaches without its arguments."""
_NEVER_CHANGED: Final = (tuple, frozenset)
_RUNTIME_MODULES: Final = ("kcache_stress", "greenlet")
"""Modules whose objects report their own events."""
_REFERENCE: Final = os.path.dirname(kcache.__file__) + os.sep


class ForeignCodeMonitor:
    """Monitor of the frames of controlled threads.

    Args:
        scheduler: runs the threads.
        instrumented: id of a code object -> the code object, for all instrumented code.

    Attributes:
        entered: the unknown code that was entered: ``FILE:LINE: what``.
        disproof: reasons why no execution is part of a proof any more.
        rebound: names of attributes of classes and modules that were bound although the facts exclude it.
        reports: whether unknown code is reported as events, too.
        facts: facts about the names in all instrumented modules.
        is_needed: whether other actors can share what unknown code touches; if not, nothing is recorded.
        is_observed: whether an observer sees all executions. has_seen_doubts: whether it could replace a doubt.
        serves_loop: whether code serves the event loop of the running thread, or none: then it touches nothing that
            other threads do. Its second argument tells whether instrumented code has called it.
        unknown_modules: names of the modules with unknown code in Python that threads ran.
    """

    def __init__(self, scheduler: Scheduler, instrumented: dict[int, CodeType]) -> None:
        self.entered: dict[str, None] = {}
        self.disproof: dict[str, None] = {}
        self.rebound: set[str] = set()
        self.reports = self.is_observed = self.has_seen_doubts = False
        self.is_needed = True
        self.facts = Facts()
        self.serves_loop: Callable[[CodeType, bool], bool] = lambda *_: False
        self.unknown_modules: set[str] = set()
        self._scheduler = scheduler
        self._instrumented = instrumented
        self._kinds: dict[int, tuple[int, CodeType]] = {}
        self._roots: set[str] = set()
        self._resumers: dict[int, int] = {}
        self._fixed: dict[type, bool] = {}
        self._immense: dict[tuple[str, str], int] = {}

    def is_own(self, function: types.FunctionType) -> bool:
        """Whether a function is instrumented."""
        return id(function.__code__) in self._instrumented

    def is_instrumented(self, code: CodeType) -> bool:
        """Whether code is instrumented."""
        return id(code) in self._instrumented

    def defines_work(self, code: CodeType) -> bool:
        """Whether code is of a file that defines the work of the threads."""
        return code.co_filename in self._roots

    def is_understood(self, method: Any) -> bool:
        """Whether a function or a bound method is instrumented or known (see :meth:`is_known`)."""
        function = method.__func__ if is_a(method, types.MethodType) else method
        return is_a(function, types.FunctionType) and (self.is_own(function) or self.is_known(function))

    def is_known(self, function: types.FunctionType) -> bool:
        """Whether a function that is not instrumented is known: it makes no accesses that must be reported."""
        code = function.__code__
        return self._kind(code, function.__globals__) == _KNOWN or self.serves_loop(code, True)

    def is_opaque(self, code: CodeType) -> bool:
        """Whether code of a module that is not private is unknown."""
        return self._kind(code, {}) == _OPAQUE and not touches_arguments_only(code)

    def kind_of(self, frame: FrameType) -> int:
        """Return whether a frame runs known, instrumented or unknown code: one of the three constants."""
        kind = self._kind(frame.f_code, frame.f_globals)
        if kind == _OPAQUE and self.serves_loop(frame.f_code, self._is_called_by_own(frame)):
            return _KNOWN
        if kind == _OPAQUE and replaces(frame.f_code):
            item = next(iter(frame.f_locals.values()))  # its first parameter
            return _KNOWN if self.has_fixed_fields(item) else _OPAQUE
        if kind == _OPAQUE and checks_protocols(frame.f_code):
            protocol = next(iter(frame.f_locals.values()))
            return _OPAQUE if type.__dict__["__dict__"].__get__(protocol).get("_is_protocol") else _KNOWN
        return kind

    def _is_called_by_own(self, frame: FrameType) -> bool:
        return frame.f_back is not None and id(frame.f_back.f_code) in self._instrumented

    def has_fixed_fields(self, item: object) -> bool:
        """Whether an object is of a dataclass whose fields no code changes after the object is created."""
        kind = type(item)
        if kind not in self._fixed:
            fields = class_attribute(kind, "__dataclass_fields__")
            self._fixed[kind] = isinstance(fields, dict) and not any(map(self.facts.is_mutable, fields))
        return self._fixed[kind]

    def know(self, facts: Facts) -> None:
        """Set the facts about the names in all instrumented modules."""
        self.facts = facts
        facts.conclude()  # now: in a watched thread, this call would count as unknown code
        self._fixed.clear()

    def _kind(self, code: CodeType, namespace: dict[str, Any]) -> int:
        entry = self._kinds.get(id(code))
        if entry is None:
            entry = self._kinds[id(code)] = (self._classified(code, namespace), code)  # the reference keeps the id
        return entry[0]

    def note(self, what: str) -> None:
        """Record unknown code that is about to run, as a reason to watch; the trace function will meet its frames."""
        if not self.reports and self._scheduler.live and self.is_needed:
            self.entered[f"{self.where(sys._getframe(1))}: {what}"] = None

    def is_shared(self, generator: object) -> bool:
        """Whether another thread was the first to resume a generator in this execution; record the first thread."""
        running = self._scheduler.current
        return self._resumers.setdefault(id(generator), running) != running

    def forget(self) -> None:
        """Forget which threads have resumed generators, because an execution begins."""
        self._resumers.clear()

    def doubt(self, what: str, *, lasts: bool = False, is_seen: bool = False) -> None:
        """Record that the execution is no part of a proof, in any order; with ``lasts``, nor are all later executions.

        The reason is ``what``, at the innermost instrumented line. It is no reason if an observer sees all executions,
        and the accesses that it is about: the observer reports them if no event orders them.
        """
        self.has_seen_doubts = self.has_seen_doubts or is_seen
        if (is_seen and self.is_observed) or not self.is_needed:
            return
        frame = self._innermost(sys._getframe(1))
        if lasts:
            self.disproof[f"{self.where(frame)}: {what}"] = None
        if self._scheduler.live and not (frame is not None and _is_of_runtime(frame)):
            self._scheduler.proof_obstacles[f"{self.where(frame)}: {what}"] = None

    def _innermost(self, frame: FrameType | None) -> FrameType | None:
        """Return the innermost instrumented frame, from ``frame`` outwards."""
        while frame is not None and id(frame.f_code) not in self._instrumented:
            frame = frame.f_back
        return frame

    def is_patient(self) -> bool:
        """Whether unknown code begins a wait with a timeout: it is not cut short, as the effect is not known."""
        frame: FrameType | None = sys._getframe(1) if self.is_needed else None
        while frame is not None and ((kind := self.kind_of(frame)) != _OWN or _is_of_runtime(frame)):
            if kind == _OPAQUE:
                doubt = f"{self.where(frame)}: {_name(frame)} waits with a timeout, which is not cut short"
                self._scheduler.proof_obstacles[doubt] = None
                return True
            frame = frame.f_back
        return False

    def rebinds(self, name: str) -> None:
        """Record that a name of a class or module is about to be bound. If the facts exclude it, nothing is proved."""
        if self._scheduler.live and not self.facts.is_class_level(name):
            self.rebound.add(name)
            self.doubt(f"binds {name} of a class or module")

    def trust(self, function: object) -> None:
        """Treat the file of a function as part of the harness: the function defines the work of the threads."""
        function = function.__func__ if is_a(function, types.MethodType) else function
        if is_a(function, types.FunctionType) and id(function.__code__) not in self._instrumented:
            self._roots.add(function.__code__.co_filename)

    def enter(self, frame: FrameType | None, what: str, reach: Sequence[object], *, is_contained: bool = False) -> None:
        """Record that unknown code is about to run, and report it as an event if :attr:`reports` is set.

        Args:
            frame: the frame of the unknown code, or of its caller.
            what: the unknown part, as text.
            reach: the objects from which the code can reach others.
            is_contained: whether the code touches nothing else.
        """
        if not self._scheduler.live or not self.is_needed:
            return
        where = self.where(frame)
        is_contained = is_contained or (frame is not None and touches_arguments_only(frame.f_code))
        ids = self._reached(where, what, reach)
        if not (is_contained or ids is None):
            is_foreign = frame is not None and id(frame.f_code) not in self._instrumented
            namespace = frame.f_globals if frame is not None and is_foreign else {}
            ids |= {id(ANY_STATE), *(id(value) for value in namespace.values() if type(value) in _CONTAINERS)}
        roots = tuple(map(weakly, reach)) if self._scheduler.lets_die else tuple(reach)
        slot = UnknownAccess(where, what, ids, is_contained=is_contained, roots=roots)
        self.entered[str(slot)] = None
        if self.reports:
            reads = frame is not None and only_reads(frame.f_code)
            self._scheduler.touch(UNKNOWN, slot, READ if reads else WRITE)

    def enter_c(self, frame: FrameType, what: str, module: str, reach: Sequence[object]) -> None:
        """Record that a function in C runs of which no row of the table says what it touches.

        A function of the standard library touches what its arguments reach, and state of its module: two calls of it
        are tried in both orders. Any other function may share state with all unknown code.
        """
        if module == "_asyncio" and self.serves_loop(_IN_C, True):
            return
        state = state_of(module)
        if state is not None:
            self._touch_state(state, WRITE)
        self.enter(frame, what, reach, is_contained=state is not None)

    def _touch_state(self, state: ModuleState, kind: int) -> None:
        if self.reports and self._scheduler.live:
            self._scheduler.touch(ANY_STATE, None, READ)
            self._scheduler.touch(state, None, kind)

    def _reached(self, where: str, what: str, roots: Iterable[object]) -> frozenset[int] | None:
        """Return the ids of all objects that unknown code can reach; ``None`` if they are too many or not reported."""
        if not self.reports or self._immense.get((where, what)) == _MOST_WALKS:
            return None
        ids = reached(roots)
        if ids is None:
            self._immense[where, what] = self._immense.get((where, what), 0) + 1
        return ids

    def where(self, frame: FrameType | None) -> str:
        """Return ``FILE:LINE`` of the innermost instrumented frame; of ``frame`` itself if there is none."""
        itself = frame
        while (frame := self._innermost(frame)) is not None and _is_of_runtime(frame):
            frame = frame.f_back
        frame = frame or itself
        return "?" if frame is None else f"{file_name(frame.f_code.co_filename)}:{frame.f_lineno}"

    def watch(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        """Check a frame that begins or is resumed: the trace function of controlled threads."""
        scheduler = self._scheduler
        back = frame.f_back
        if back is None or not (scheduler.live and self.is_needed) or scheduler.aborting or scheduler.is_choosing:
            return None
        inner, outer = self._kind(frame.f_code, frame.f_globals), self._kind(back.f_code, back.f_globals)
        if _OPAQUE not in (inner, outer):
            return None  # mostly: this runs for each call
        inner, outer = self.kind_of(frame), self.kind_of(back)
        if inner == _OPAQUE:
            self.unknown_modules.add(frame.f_globals.get("__name__") or "")
        if inner == _OPAQUE and outer != _OPAQUE:
            self._begin_stretch(frame, back)
        elif outer == _OPAQUE and inner != _OPAQUE:
            frame.f_trace_lines = False
            return self._watch_end
        return None

    def _watch_end(self, frame: FrameType, event: str, _argument: object) -> None:
        """Begin a stretch when a known frame returns to unknown code: the trace function of the known frame."""
        back, scheduler = frame.f_back, self._scheduler
        if event == "return" and back is not None and back.f_back is not None and not scheduler.aborting:
            self._begin_stretch(back, back.f_back)

    def _begin_stretch(self, frame: FrameType, back: FrameType) -> None:
        if not self._scheduler.live or _is_bookkeeping(frame, back):
            return
        if not self._is_of_a_loop(frame):
            sys.call_tracing(self._enter_python, (frame,))

    def _is_of_a_loop(self, frame: FrameType) -> bool:
        """Whether asyncio calls a function of the library for its own."""
        if frame.f_globals.get("__name__") not in _USED_BY_LOOPS:
            return False
        caller: FrameType | None = frame
        while caller is not None and caller.f_globals.get("__name__") in _USED_BY_LOOPS:
            caller = caller.f_back
        return caller is not None and self.serves_loop(caller.f_code, False)

    def _enter_python(self, frame: FrameType) -> None:
        asks, is_drawing = asks_outside(frame.f_code), draws(frame.f_code)
        reach = list(frame.f_locals.values())
        if asks:
            self._touch_state(OUTSIDE, READ)
        elif is_drawing:
            # The call counts as one step, although another thread may draw between its numbers: any number may come.
            common = frame.f_globals.get("_inst")
            if self.reports and any(value is common for value in reach):
                self._scheduler.touch(common, None, WRITE)
            reach = [value for value in reach if value is not common and type(value).__name__ != "SystemRandom"]
        what = f"runs {_name(frame)}, {_why_unseen(frame)}"
        self.enter(frame, what, reach, is_contained=asks or is_drawing)

    def _classified(self, code: CodeType, namespace: dict[str, Any]) -> int:
        if id(code) in self._instrumented:
            return _OWN
        file = code.co_filename
        if file in self._roots or file.startswith(_REFERENCE) or is_machinery(file):
            return _KNOWN
        if any(is_a(callback, types.FunctionType) and callback.__code__ is code for callback in gc.callbacks):
            return _KNOWN  # a callback of the harness: the target has called `gc.collect`
        if HOOK_MARK in namespace and namespace.get("__name__") in _RUNTIME:
            return _KNOWN
        return _KNOWN if is_transparent(code) else _OPAQUE


_RUNTIME: Final = frozenset(
    {"threading", "_threading_local", "queue", "functools", "contextlib", "socket", "selectors", "_pyio"}
    | {"concurrent.futures._base", "concurrent.futures.thread"}
)


def _is_of_runtime(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in _RUNTIME and HOOK_MARK in frame.f_globals


def _is_bookkeeping(frame: FrameType, back: FrameType) -> bool:
    """Whether ``threading`` or a thread pool registers a thread in a weak container, or pytest sets a test up."""
    return registers_a_thread(frame, back) or serves_pytest(frame) or is_of_a_hook(frame)


def registers_a_thread(frame: FrameType, back: FrameType | None) -> bool:
    """Whether ``threading`` or a thread pool, whose frame is ``back``, registers a thread in a weak container."""
    is_weak = frame.f_globals.get("__name__") in {"weakref", "_weakrefset"}
    return is_weak and back is not None and _is_of_runtime(back)


def reached(roots: Iterable[object]) -> frozenset[int] | None:
    """Return the ids of all objects reachable from ``roots``; ``None`` if they are more than :data:`_MOST_REACHED`.

    Immutable values, types, modules and objects of the runtime are left out.
    """
    visited: set[int] = set()
    fixed: set[int] = set()
    stood_for: dict[int, int] = {}
    todo = list(roots)
    while todo:
        obj = todo.pop()
        if id(obj) in visited:
            continue
        visited.add(id(obj))
        if len(visited) > _MOST_REACHED:
            return None
        kind = type(obj)  # `isinstance` reads `__class__`, which may be a property of the watched code
        if kind in _FIXED or issubclass(kind, _BLIND) or kind.__module__.startswith(_RUNTIME_MODULES):
            fixed.add(id(obj))
        else:
            if kind in _NEVER_CHANGED:
                fixed.add(id(obj))  # only what it holds may change
            todo += _referents(obj)
            if (by := weakly(obj)) is not obj:
                stood_for[id(obj)] = id(by)
    return frozenset(stood_for.get(key, key) for key in visited - fixed)


def _referents(item: object) -> list[object]:
    if type(item) is types.FunctionType:
        return [*(item.__closure__ or ()), *(item.__defaults__ or ()), *(item.__kwdefaults__ or {}).values()]
    return gc.get_referents(item)


def _name(frame: FrameType) -> str:
    module = frame.f_globals.get("__name__", "?")
    return f"{module}.{frame.f_code.co_qualname}"


def _why_unseen(frame: FrameType) -> str:
    module = frame.f_globals.get("__name__", "?")
    advice = f": its package has parts in C; to instrument this module, add --instrument {module}"
    return f"which is not instrumented{advice if parts_in_c(module.partition('.')[0]) else ''}"


def codes_within(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects in it, except annotations that are evaluated later."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name != "__annotate__":
            yield from codes_within(constant)
