"""Observer of executions: records what each opcode of the threads touches, and compares it with the reported events.

The observer is the trace function of the threads in a few executions of the instrumented code. It sees the operands of
opcodes (:mod:`~..instrument.operands`), so it also notices accesses that the rewriting overlooks, those of library code
that counts as known, and attributes that only a library stores. What functions in C do within, it does not see.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Iterator
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

from kcache_model.foreign import is_a
from kcache_model.places import file_name

from ..engine.events import READ, UNKNOWN, WHOLE, WRITE, Pending, UnknownAccess, identity, parts_of
from ..engine.observation import ELEMENTS, EVERYTHING, Touch, first_unordered
from ..engine.weak_objects import kind_of, original, weakly
from ..instrument.containment import has_variables
from ..instrument.hooks import Cell
from ..instrument.names import PREFIX
from ..instrument.operands import depths, operands, variable
from ..instrument.touches import CELLS, CONTENTS, GLOBALS, Touched, is_worth_it, of_types, row_of
from ..knowledge.tables import methods_of
from ..runtime.threads.opcode_tracer import is_bookkeeping, serves_others
from ..stacks import is_harness
from .foreign_code import ForeignCodeMonitor, registers_a_thread

if TYPE_CHECKING:
    from ..engine.events import Trace
    from ..runtime.threads.scheduler import Scheduler

_Plan = dict[int, Callable[[FrameType], "list[Touched]"]]
_LAST_EVENTS: Final = 6
"""Number of events of a thread among which the report of an access is looked for: a step has few parts."""
_PER_THREAD: Final = frozenset(
    {"_recursive_repr.<locals>.wrapper", "recursive_repr.<locals>.decorating_function.<locals>.wrapper"}
)
"""Functions of ``dataclasses`` and ``reprlib`` whose set has entries of their own for each thread."""


class Observer:
    """Observer of the threads of one scheduler.

    Args:
        scheduler: runs the threads.
        monitor: watches the threads for code that is not instrumented; the observer calls its trace function.
    """

    def __init__(self, scheduler: Scheduler, monitor: ForeignCodeMonitor) -> None:
        self._scheduler = scheduler
        self._monitor = monitor
        self._plans: dict[int, tuple[CodeType, _Plan | None]] = {}
        self._touches: list[Touch] = []
        self._uses: dict[tuple[int, int, object], tuple[int, object]] = {}

    def begin(self) -> None:
        """Observe the threads of the execution that is about to begin; forget the accesses of the last one."""
        self._touches.clear()
        self._scheduler.watcher = self.watch
        self._uses.clear()

    def gap(self, trace: Trace, actors: int) -> str:
        """Return the first pair of accesses that no event orders, as text: ``FILE:LINE: what``; empty if none."""
        pair = first_unordered(trace, actors, self._touches)
        if pair is None:
            return ""
        first, second = pair
        what = _name(second.obj, second.slot if second.slot is not EVERYTHING else first.slot)
        return (
            f"{_text(second.place)}: {'changes' if second.kind else 'reads'} {what}, which another thread "
            f"{'changes' if first.kind else 'reads'} at {_text(first.place)}; the search did not see both"
        )

    def watch(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        """Observe a frame that begins or is resumed: the trace function of observed threads."""
        watched = self._monitor.watch(frame, event, argument)
        scheduler = self._scheduler
        if not scheduler.live or scheduler.aborting or scheduler.is_choosing:
            return watched
        plan = self._plan(frame.f_code)
        if plan is None or serves_others(frame) or registers_a_thread(frame, frame.f_back) or self._is_for_hook(frame):
            return watched
        self._record([(frame.f_code, EVERYTHING, READ)], frame, is_own=False)  # a function may get other code
        if not plan:
            return watched
        is_own = self._monitor.is_instrumented(frame.f_code)

        def trace(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
            if event == "opcode":
                touched = plan.get(frame.f_lasti)
                if touched is not None and scheduler.live and not scheduler.aborting:
                    self._record(touched(frame), frame, is_own=is_own)
            elif watched is not None:
                watched(frame, event, argument)
            return trace

        frame.f_trace_lines = False
        frame.f_trace = trace  # set first: since Python 3.13, `f_trace_opcodes` needs an existing `f_trace`
        frame.f_trace_opcodes = True
        return trace

    def _is_for_hook(self, frame: FrameType) -> bool:
        """Whether a frame of a library works for the harness, as ``inspect`` does for the hooks."""
        caller: FrameType | None = frame
        while caller is not None and not self._monitor.is_instrumented(caller.f_code):
            if is_harness(caller.f_code.co_filename):
                return True
            caller = caller.f_back
        return False

    def _plan(self, code: CodeType) -> _Plan | None:
        """Return the opcodes of a function that are observed; ``None`` if it is of the harness."""
        known = self._plans.get(id(code))
        if known is None:
            is_machinery = is_bookkeeping(code) or self._monitor.defines_work(code)
            plan = None if is_machinery else {} if code.co_qualname in _PER_THREAD else _plan_of(code)
            known = self._plans[id(code)] = code, plan
        return known[1]

    def _record(self, touched: list[Touched], frame: FrameType, *, is_own: bool) -> None:
        scheduler = self._scheduler
        place = frame.f_code, frame.f_lasti
        for obj, slot, kind in touched:
            reported = self._reported(obj, slot, kind, is_own=is_own)
            if is_own and self._is_used_up(reported, obj, slot, place):
                reported = -1
            if slot is None and type(obj) is not dict and methods_of(type(obj)) is not None and has_variables(obj):
                slot = ELEMENTS
            self._touches.append(Touch(scheduler.current, len(scheduler.trace), reported, obj, slot, kind, place))

    def _reported(self, obj: object, slot: object, kind: int, *, is_own: bool) -> int:
        """Return the position of the last event of the running thread that reports an access; -1 if there is none."""
        trace, running = self._scheduler.trace, self._scheduler.current
        last = _LAST_EVENTS
        for position in range(len(trace) - 1, -1, -1):
            actor, event, of, at = trace[position]
            if actor != running:
                continue
            if event <= WRITE:
                parts = parts_of(event, of, at)
                if last > 0 and any(_covers(part, obj, slot, kind) for part in parts):
                    return position
                # An event stands for all that unknown code does until it calls known code.
                if any(part[1] is UNKNOWN for part in parts) and not is_own:
                    return position if any(_covers(part, obj, slot, kind) for part in parts) else -1
            last -= 1
            if last <= 0 and is_own:
                break
        return -1

    def _is_used_up(self, reported: int, obj: object, slot: object, place: object) -> bool:
        """Whether an event that seems to report a touch has reported the touch of another opcode: it stands for one.

        Without this, a read without a report seems to be reported by the write before it.
        """
        key = self._scheduler.current, id(obj), slot
        last, last_place = self._uses.get(key, (-1, None))
        if reported == last >= 0 and last_place != place:
            return True
        self._uses[key] = reported, place
        return False


def _covers(part: Pending, obj: object, slot: object, kind: int) -> bool:
    """Whether a reported access is the given one, or includes it."""
    how, of, at = part
    if how < kind:
        return False
    if of is UNKNOWN:
        return isinstance(at, UnknownAccess) and (
            at.reach is None or not {id(obj), id(weakly(obj))}.isdisjoint(at.reach)
        )
    if type(of) is Cell:
        return slot is CONTENTS
    if identity(original(of)) != identity(obj):
        return False
    return slot is None or at is None or type(at) is UnknownAccess or slot is at or at == slot or at is WHOLE


@functools.lru_cache(maxsize=4_000)
def _plan_of(code: CodeType) -> _Plan:
    """Return the offsets of the opcodes that touch something, each with a function that returns what.

    It is cached: to disassemble the code of a target takes longer than to observe one execution.
    """
    return dict(_touching(code))


def _touching(code: CodeType) -> Iterator[tuple[int, Callable[[FrameType], list[Touched]]]]:
    reached = depths(code)
    prefix: int | None = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":  # some versions call the tracer here, not at the prefixed opcode
            prefix = instruction.offset if prefix is None else prefix
            continue
        find = _finder(instruction, reached.get(instruction.offset, 0))
        if find is not None and instruction.offset in reached:
            yield instruction.offset, find
            if prefix is not None:
                yield prefix, find
        prefix = None


def _finder(instruction: dis.Instruction, depth: int) -> Callable[[FrameType], list[Touched]] | None:
    """Return a function that finds what an opcode touches; ``None`` if it touches only the frame."""
    name, argument = instruction.opname, instruction.argval
    if name in GLOBALS:
        if str(argument).startswith(PREFIX):
            return None  # a hook of the instrumentation
        return lambda frame: _of_global(frame, argument, GLOBALS[name])
    if name in CELLS:
        index = instruction.arg or 0
        return lambda frame: [(variable(frame, index), CONTENTS, CELLS[name])]
    row = row_of(instruction)
    if row is None:
        return None
    count, touched, argument_of_row = row

    def find(frame: FrameType) -> list[Touched]:
        values = operands(frame, depth, count)
        touches = () if values is None else (*of_types(values), *touched(values, argument_of_row))
        return [touch for touch in touches if is_worth_it(touch[0])]

    return find


def _of_global(frame: FrameType, name: str, kind: int) -> list[Touched]:
    if frame.f_code.co_name != "<module>" and not frame.f_code.co_flags & CO_OPTIMIZED and name in frame.f_locals:
        return []  # a name of the class whose body runs
    own: list[Touched] = [(frame.f_globals, name, kind)]
    return own if kind or name in frame.f_globals else [*own, (frame.f_builtins, name, kind)]


def _name(obj: Any, slot: object) -> str:
    """Return the name of a place for users."""
    if slot is CONTENTS:
        return "a variable of a function"
    if isinstance(slot, str) and is_a(obj, dict):
        return f"the variable {slot}"
    kind = kind_of(obj)
    owner = kind if not issubclass(kind, type) else obj
    return f"{owner.__name__}.{slot}" if isinstance(slot, str) else f"a {kind.__name__}"


def _text(place: Any) -> str:
    """Return ``FILE:LINE`` of a place."""
    code, offset = place
    line = code.co_firstlineno
    for begin, end, number in code.co_lines():
        if begin <= offset < end and number is not None:
            line = number
    return f"{file_name(code.co_filename)}:{line}"
