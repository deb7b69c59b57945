"""Frames of a paused thread: what it is going to do, as part of a canonical state.

A frame goes on from where it is, with its local variables. What it has on its evaluation stack besides must follow from
these: instrumented code is prepared for that (:mod:`..instrument.exposure`), and has a table of the calls where it
holds (:mod:`..instrument.call_sites`). Between a frame and the one that it called there must be no C function that
keeps something to itself, as `sorted` does with a key function.
"""

from __future__ import annotations

import contextlib
import gc
from enum import Enum, auto
from pathlib import Path
from types import CodeType, FrameType, GeneratorType, TracebackType
from typing import Any, Final

from kcache_model.foreign import is_a
from kcache_model.places import file_name

from ..instrument.names import CONTEXT, HOOK_MARK, ITERATOR
from ..virtual.locks import VirtualLock, VirtualRLock, wait_for_lock
from ..virtual.scheduler import Scheduler
from ..virtual.virtual_thread import Timed, VirtualThread
from .callees import calls_code, find_callee, special_method
from .canonical_state import CanonicalState
from .closures import has_shared_variables
from .positions import Position, position_of

_FOLDER: Final = Path(__file__).parent.parent
_EXPLORER: Final = str(_FOLDER)
_HARNESS: Final = str(_FOLDER.parent)
_UNSEEN_FILES: Final = tuple(str(_FOLDER / part) for part in ("virtual/scheduler.py", "strategies", "state"))
_MANAGER: Final = contextlib._GeneratorContextManager
_MANAGER_CODES: Final = (_MANAGER.__enter__.__code__, _MANAGER.__exit__.__code__)
_STACK_CODES: Final = (contextlib.ExitStack.enter_context.__code__, contextlib.ExitStack.__exit__.__code__)
_LOCK_CODES: Final = tuple(
    method.__code__
    for method in (VirtualLock.acquire, VirtualLock.release, VirtualRLock.acquire, VirtualRLock.release, wait_for_lock)
)
_SEQUENCES: Final[tuple[Any, ...]] = ([], (), range(0), range(1 << 99))
_ITERATORS: Final[tuple[Any, ...]] = (
    *(type(iter(sequence)) for sequence in _SEQUENCES),
    type(reversed(_SEQUENCES[0])),
    enumerate,
    zip,
)
_TABLES: Final[tuple[Any, ...]] = ({}, {}.values(), {}.items(), set())
_ENTRY_ITERATORS: Final = tuple(type(iter(table)) for table in _TABLES)
_RUNNING: Final = object()


def _is_runner(frame: FrameType) -> bool:
    """Whether a frame is of who makes the calls of the program: of the harness, but not of the explorer."""
    file = frame.f_code.co_filename
    return file.startswith(_HARNESS) and not file.startswith(_EXPLORER)


class _Role(Enum):
    """What a frame is there for, as far as its code tells."""

    LOCK = auto()
    """A virtual lock: what the thread waits for tells all, unless it waits for a time."""
    UNSEEN = auto()
    """None of the target's business."""
    HARMLESS = auto()
    """Ours, or of the library: it keeps nothing to itself."""
    MANAGER = auto()
    """A context manager that resumes its generator."""
    ENTANGLED = auto()
    """It shares variables that change with closures."""
    CALLER = auto()
    """Any other: it has to be where it seems to call the next inner one."""


class FrameReader:
    """Reads frames into a canonical state.

    Args:
        canonical: where the tokens go; it learns to read iterators and generators.
    """

    def __init__(self, canonical: CanonicalState) -> None:
        self._canonical = canonical
        self._roles: dict[int, _Role] = {}
        self._shared: int | None = None
        canonical.add_reader(GeneratorType, self._generator)
        canonical.add_reader(Scheduler, lambda _: None)  # its part in the state is known
        canonical.add_reader(TracebackType, lambda _: None)
        for kind in _ENTRY_ITERATORS:
            canonical.add_reader(kind, self._entry_iterator)
        for kind in _ITERATORS:
            canonical.add_reader(kind, self._iterator)

    def start(self) -> None:
        """The shared state comes next."""
        self._shared = None

    def turn_to_threads(self) -> None:
        """The shared state has been read; frames come next."""
        self._shared = len(self._canonical.objects)

    def read(self, thread: VirtualThread, top: FrameType | None) -> None:
        """Add what a thread is going to do.

        Args:
            thread: the thread.
            top: its innermost frame.
        """
        frame, inner = top, None
        while frame is not None and not _is_runner(frame):
            role = self._roles.get(id(frame.f_code)) or self._learn(frame.f_code)
            if role is _Role.LOCK and not isinstance(thread.waits_for, Timed):
                inner = frame  # what the thread waits for tells all
            elif role is not _Role.UNSEEN:
                if not _can_be_read(role, frame, inner):
                    self._refuse(frame)
                    return
                self._read(frame)
                inner = frame
            frame = frame.f_back
        if thread.pending is not None:
            self._canonical.tokens.append(thread.pending[0])
            self._canonical.read(thread.pending[1:2])
        if thread.handled is not None:
            self._canonical.read((thread.handled,))

    def _read(self, frame: FrameType) -> None:
        canonical, variables = self._canonical, frame.f_locals
        names = sorted(variables)  # until Python 3.12 their order tells who looked at them before
        canonical.tokens += (id(frame.f_code), frame.f_lasti, len(names))
        canonical.read(names)
        canonical.read([variables[name] for name in names])

    def _refuse(self, frame: FrameType) -> None:
        place = f"{file_name(frame.f_code.co_filename)}:{frame.f_lineno} in {frame.f_code.co_name}"
        where = "within a C function, or half-way through an expression"
        self._canonical.opaque = f"{place} waits while a value is where it cannot be read ({where})"

    def _learn(self, code: CodeType) -> _Role:
        """What there is to do with frames of this code."""
        self._canonical.keep(code)
        found = self._roles[id(code)] = _role_of(code)
        return found

    def _generator(self, item: GeneratorType[Any, Any, Any]) -> None:
        canonical, frame = self._canonical, item.gi_frame
        canonical.number(item)
        if frame is None:
            canonical.tokens.append(None)
        elif item.gi_running:
            canonical.tokens.append(_RUNNING)  # its frame is one of those that are read
        elif self._can_resume(item, frame):
            self._read(frame)
        else:
            self._refuse(frame)

    def _can_resume(self, item: GeneratorType[Any, Any, Any], frame: FrameType) -> bool:
        if item.gi_yieldfrom is not None:
            return False
        if frame.f_code.co_filename.startswith(_EXPLORER):
            return True
        if HOOK_MARK not in frame.f_globals or has_shared_variables(frame.f_code):
            return False
        position = position_of(frame)
        return position.operation == "RETURN_GENERATOR" or (position.is_yield and position.site(frame) is not None)

    def _iterator(self, item: Any) -> None:
        canonical = self._canonical
        canonical.number(item)
        canonical.read(item.__reduce__()[1:])

    def _entry_iterator(self, item: Any) -> None:
        """It knows a place among the entries of its table, which can be told if nobody else can change the table."""
        canonical = self._canonical
        canonical.number(item)
        remaining = gc.get_referents(item)
        if not remaining:
            return
        if self._shared is None or canonical.numbers.get(id(remaining[0]), self._shared) < self._shared:
            canonical.opaque = "a loop over a dict or set that others can change"
            return
        try:
            canonical.read((remaining[0], *item.__reduce__()[1]))
        except RuntimeError:
            canonical.opaque = "a loop over a dict or set that has changed meanwhile"


def _role_of(code: CodeType) -> _Role:
    if code in _LOCK_CODES:
        return _Role.LOCK
    if code.co_filename.startswith(_UNSEEN_FILES):
        return _Role.UNSEEN
    if code.co_filename.startswith(_EXPLORER) or code in _STACK_CODES:
        return _Role.HARMLESS
    if code in _MANAGER_CODES:
        return _Role.MANAGER
    return _Role.ENTANGLED if has_shared_variables(code) else _Role.CALLER


def _can_be_read(role: _Role, frame: FrameType, inner: FrameType | None) -> bool:
    """Whether the local variables of a frame tell all, given the next inner one that counts."""
    match role:
        case _Role.CALLER:
            return _calls_what_it_seems_to(frame, inner)
        case _Role.MANAGER:
            return inner is not None and frame.f_locals["self"].gen.gi_frame is inner
        case _:
            return role is not _Role.ENTANGLED


def _calls_what_it_seems_to(frame: FrameType, inner: FrameType | None) -> bool:
    """Whether `inner` was called by an instrumented frame directly, with nothing hidden on the stack."""
    if inner is None or HOOK_MARK not in frame.f_globals:
        return False
    position, code = position_of(frame), inner.f_code
    if position.operation == "FOR_ITER":
        return any(
            (is_a(iterator, GeneratorType) and iterator.gi_frame is inner)
            or calls_code(special_method(iterator, "__next__"), code)
            for iterator in _bound(frame, ITERATOR)
        )
    if position.enters_context:
        return any(calls_code(special_method(manager, "__enter__"), code) for manager in _bound(frame, CONTEXT))
    if not position.is_call and position.operation != "WITH_EXCEPT_START":
        return False
    if any(calls_code(special_method(manager, "__exit__"), code) for manager in _bound(frame, CONTEXT)):
        return True
    return _is_called(frame, position, code)


def _is_called(frame: FrameType, position: Position, code: CodeType) -> bool:
    path = position.site(frame)
    if path is None:
        return False
    if not path:
        return code.co_name == "<lambda>" and code.co_filename == frame.f_code.co_filename
    return calls_code(find_callee(path, frame), code)


def _bound(frame: FrameType, prefix: str) -> list[object]:
    return [value for name, value in frame.f_locals.items() if name.startswith(prefix) and value is not None]
