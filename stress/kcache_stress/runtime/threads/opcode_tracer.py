"""Opcode tracer: switches threads at opcodes of any Python frame, also in code that is not instrumented.

The interpreter calls a trace function before each opcode; a preempted thread is paused inside this call. With greenlets
this needs :func:`sys.call_tracing`: it turns tracing on for the thread that goes on. When the paused thread is resumed,
its own call of the trace function ends normally.
"""

from __future__ import annotations

import _weakrefset
import contextlib
import dis
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import greenlet

from ...engine.events import PAUSE
from ...instrument.names import HOOK_MARK
from ...knowledge.loop_code import runs_loops
from ...stacks import OWN_FILES, is_harness

if TYPE_CHECKING:
    from .scheduler import Scheduler

_Trace: TypeAlias = "Callable[[FrameType, str, Any], Any]"

THREADING_CLASSES: Final = frozenset({"Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"})
"""The classes of ``threading`` whose accesses are events. Accesses inside Thread are bookkeeping under its locks."""

_PYTEST: Final = f"{os.sep}_pytest{os.sep}"
_PLUGGY: Final = f"{os.sep}pluggy{os.sep}"
_CALLS_A_FIXTURE: Final = "call_fixture_func"
"""The function of pytest that calls each fixture; hooks call it."""
_USED_BY_TESTS: Final = tuple(
    f"{_PYTEST}{name}"
    for name in ("monkeypatch.", "recwarn.", "capture.", "logging.", "python_api.", "raises.", "pytester.", "assertion")
)
"""Parts of pytest that a test calls while its threads run: their opcodes count."""
_USED_BY_PYTEST: Final = frozenset(
    {"inspect", "enum", "typing", "types", "abc", "collections.abc", "collections", "functools", "dataclasses", "re"}
    | {"pathlib", "pathlib._local", "pathlib._os", "posixpath", "ntpath", "genericpath", "os", "fnmatch", "shutil"}
    | {"tempfile", "random", "warnings", "importlib", "codecs", "weakref"}
)
"""Modules that pytest calls for itself while it sets a test up."""
_USED_BY_HARNESS: Final = frozenset({"abc", "contextlib", "dataclasses", "enum", "typing"})
"""Modules that the harness uses within a call, and that are hardly ever the target."""
_GENERATED: Final = "<string>"
_MACHINERY: Final = (os.path.dirname(greenlet.__file__) + os.sep, "<frozen importlib")


_LOCAL: Final = frozenset(
    """
    CACHE NOP NOT_TAKEN EXTENDED_ARG KW_NAMES PRECALL PUSH_NULL POP_TOP POP_ITER COPY SWAP IS_OP END_FOR END_SEND
    LOAD_CONST LOAD_SMALL_INT LOAD_COMMON_CONSTANT LOAD_CLOSURE LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS LOAD_LOCALS
    LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST
    LOAD_FAST_BORROW_LOAD_FAST_BORROW STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST DELETE_FAST MAKE_CELL
    COPY_FREE_VARS MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE BUILD_TUPLE BUILD_LIST BUILD_SLICE BUILD_STRING
    BUILD_CONST_KEY_MAP BUILD_TEMPLATE BUILD_INTERPOLATION LIST_APPEND LIST_TO_TUPLE
    RETURN_VALUE RETURN_CONST RETURN_GENERATOR ASYNC_GEN_WRAP PUSH_EXC_INFO POP_EXCEPT CHECK_EXC_MATCH RERAISE
    JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_NO_INTERRUPT
    POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE
    POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE MATCH_MAPPING MATCH_SEQUENCE
    """.split()  # noqa: SIM905 (a table)
)
"""Opcodes, of any version, that touch only the frame; every other opcode counts. In some of these an object may die and
its finalizer run: threads are then switched in the finalizer, not before it."""

_CHECKED_AFTERWARDS: Final = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "WITH_EXCEPT_START"})
_CHECKED_BEFORE: Final = ("JUMP_BACKWARD", "POP_JUMP_BACKWARD")


def is_machinery(file: str) -> bool:
    """Whether a file belongs to the machinery (greenlet, import system, harness, test setup), not to the target."""
    return file.startswith(_MACHINERY) or is_harness(file) or sets_tests_up(file)


def sets_tests_up(file: str) -> bool:
    """Whether a file is code of pytest or pluggy that calls fixtures and tests: it touches none of their objects."""
    return (_PYTEST in file and not any(part in file for part in _USED_BY_TESTS)) or _PLUGGY in file


def is_of_a_hook(frame: FrameType | None) -> bool:
    """Whether a frame runs below a hook of a pytest plugin, such as anyio's, and not below a fixture of the test."""
    while frame is not None and not is_harness(frame.f_code.co_filename) and HOOK_MARK not in frame.f_globals:
        if frame.f_code.co_name == _CALLS_A_FIXTURE:
            return False
        caller = frame.f_back
        if _PLUGGY in frame.f_code.co_filename and caller is not None and _PYTEST in caller.f_code.co_filename:
            return True  # called by pytest: other programs use pluggy as well
        frame = caller
    return False


def serves_pytest(frame: FrameType | None) -> bool:
    """Whether a frame of the standard library works for the code of pytest that sets tests up."""
    while frame is not None and frame.f_globals.get("__name__") in _USED_BY_PYTEST:
        frame = frame.f_back
    return frame is not None and sets_tests_up(frame.f_code.co_filename)


def _serves_harness(frame: FrameType | None) -> bool:
    """Whether a frame of the standard library works for code of the harness.

    The harness checks arguments and results within a call. If a thread were interrupted there, the call would seem to
    begin later than it did: a call begins with its first event.
    """
    if frame is None or frame.f_globals.get("__name__") not in _USED_BY_HARNESS:
        return False
    enters = False
    while frame is not None and (name := frame.f_globals.get("__name__")) in _USED_BY_HARNESS:
        enters = enters or name == "contextlib"
        frame = frame.f_back
    file = "" if frame is None else frame.f_code.co_filename
    # The explorer enters contexts of its own; the drivers in the rest of the harness enter those of the target.
    return file.startswith(OWN_FILES) if enters else is_harness(file)


def _is_generated_by_harness(frame: FrameType) -> bool:
    """Whether a frame runs a method that ``dataclasses`` has generated for a class of the harness."""
    return frame.f_code.co_filename == _GENERATED and is_harness(frame.f_globals.get("__file__") or "")


class OpcodeTracer:
    """The trace function of the threads of one scheduler.

    Args:
        scheduler: runs the threads. Each opcode that counts is a PAUSE event; its object is the code, its slot the
            offset.
        with_gil: whether only opcodes count at which an interpreter with a GIL can switch threads.

    Attributes:
        pauses: number of active :meth:`paused` contexts; if it is not 0, new frames are not traced.
    """

    def __init__(self, scheduler: Scheduler, *, with_gil: bool) -> None:
        self.pauses = 0
        self._scheduler = scheduler
        self._with_gil = with_gil
        self._tracers: dict[int, tuple[CodeType, _Trace | None]] = {}

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Context in which threads that call :meth:`enter` are traced; afterwards restore the previous tracer."""
        before = sys.gettrace()
        sys._getframe().f_trace_opcodes = True  # some versions trace opcodes only if a frame has requested it before
        sys.settrace(self._begin)
        try:
            yield
        finally:
            sys.settrace(before)

    def enter(self) -> None:
        """Trace the running greenlet from now on: in some versions each greenlet has its own trace setting."""
        sys.settrace(self._begin)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Context in which new frames are not traced, such as for an import: it runs once, in one execution only."""
        self.pauses += 1
        try:
            yield
        finally:
            self.pauses -= 1

    def _begin(self, frame: FrameType, event: str, arg: object) -> _Trace | None:  # noqa: ARG002
        if self.pauses or self._scheduler.current < 0:
            return None
        code = frame.f_code
        known = self._tracers.get(id(code))
        if known is None:
            known = self._tracers[id(code)] = code, self._tracer(code)
        if known[1] is not None and serves_others(frame):
            return None
        if known[1] is not None:
            frame.f_trace_lines = False
            frame.f_trace = known[1]  # set first: since Python 3.13, `f_trace_opcodes` needs an existing `f_trace`
            frame.f_trace_opcodes = True
        return known[1]

    def _tracer(self, code: CodeType) -> _Trace | None:
        """Return the local trace function for frames of ``code``; ``None`` if no opcode in it counts."""
        if is_bookkeeping(code):
            return None
        points = switch_points(code, with_gil=self._with_gil)
        if not points:
            return None
        scheduler = self._scheduler
        has_cells = bool(code.co_freevars or code.co_cellvars)

        def opcode(frame: FrameType, event: str, arg: object) -> _Trace:  # noqa: ARG001
            if event == "opcode" and (offset := frame.f_lasti) in points and scheduler.live:
                remaining = scheduler.left = scheduler.left - 1
                if remaining <= 0:
                    scheduler.pause_in_tracer(code, offset)
                    if has_cells:
                        # Until Python 3.12, the interpreter restores the variables after the trace function to their
                        # values before it. Reading `f_locals` refreshes the saved values.
                        _ = frame.f_locals
                scheduler.trace.append((scheduler.current, PAUSE, code, offset))
            return opcode

        return opcode


def serves_others(frame: FrameType) -> bool:
    """Whether a frame works for the harness, sets tests up for pytest, or runs an event loop: it has no places."""
    if runs_loops(frame.f_code.co_filename):
        return True
    return serves_pytest(frame) or _serves_harness(frame) or _is_generated_by_harness(frame)


def is_bookkeeping(code: CodeType) -> bool:
    """Whether code belongs to the machinery, or to the part of ``threading`` that keeps lists of threads."""
    file = code.co_filename
    if file == _weakrefset.__file__ and code.co_name == "_remove":
        return True  # `threading` keeps its threads in a WeakSet, and a trace of its callback keeps them alive longer
    if file == threading.__file__:
        return code.co_qualname.partition(".")[0] not in THREADING_CLASSES
    return is_machinery(file)


def switch_points(code: CodeType, *, with_gil: bool) -> frozenset[int]:
    """Return the offsets of the opcodes of ``code`` before which a thread may be preempted."""
    return frozenset(_under_the_gil(code) if with_gil else _anywhere(code))


def _anywhere(code: CodeType) -> set[int]:
    """Return the offsets of the opcodes that touch more than the frame; if there are none, of the first opcode.

    A function that touches nothing may be called in the middle of an operation in C, by ``map`` for instance.
    """
    points = set()
    prefix: int | None = None
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if name == "EXTENDED_ARG":  # some versions call the tracer here, not at the prefixed opcode
            prefix = instruction.offset if prefix is None else prefix
            continue
        if name not in _LOCAL and name != "RESUME":  # the tracer is called on entry, not at RESUME
            points.add(instruction.offset)
            if prefix is not None:
                points.add(prefix)
        prefix = None
    return points or _entry(code)


def _entry(code: CodeType) -> set[int]:
    """Return the offset of the opcode after the first RESUME, before which the tracer is called first."""
    before = ""
    for instruction in dis.get_instructions(code):
        if before == "RESUME":
            return {instruction.offset}
        before = instruction.opname
    return set()


def _under_the_gil(code: CodeType) -> set[int]:
    """Return the offsets at which the interpreter checks whether another thread requests the GIL."""
    points = set()
    before = ""
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        is_jump = name.startswith(_CHECKED_BEFORE) and not name.endswith("NO_INTERRUPT")
        if before in _CHECKED_AFTERWARDS or is_jump:
            points.add(instruction.offset)
        before = name
    return points
