"""Excerpt of a long history: the calls that explain a violation, and a short program that may repeat it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..history import Call
from . import operations as op
from .indexer_model import IndexerModel
from .operations import Operation
from .program import History, Program

_MOST_CALLS = 14
"""Most calls that are shown; the core of a violation and the writes that it saw are shown even if they are more."""

_LARGEST_PROGRAM = 24
"""Programs with more calls are cut down to the calls that are shown."""


def excerpt(program: Program, calls: Sequence[Call], core: Sequence[Call]) -> tuple[Program, Sequence[Call]]:
    """Return the program, cut down if it is large, and the calls to show.

    Args:
        program: the program.
        calls: its history, in the order of the invocations; includes the calls that filled the store before it began.
        core: the calls that contradict each other; if there are none, the last calls are shown.
    """
    history = History(program.indexes, tuple(calls), program.semantics)
    excerpted = calls_to_show(history, core) if core else latest_calls(history)
    return cut_down(program, history, excerpted), excerpted


def calls_to_show(history: History, core: Sequence[Call]) -> list[Call]:
    """Return the calls to show for a violation, in the order of the history.

    These are the core, and the writes of the objects that the calls of the core returned. Other calls are added up to
    ``_MOST_CALLS``: first the calls that overlap the last call of the core, then the calls that ended shortly before.
    """
    in_core = {id(call) for call in core}
    wrong = max(core, key=lambda call: call.returned or call.invoked)
    end = wrong.returned or wrong.invoked
    seen = {stamp for call in core for stamp in _stamps(call)}
    chosen = dict.fromkeys(in_core)
    chosen |= dict.fromkeys(
        id(call) for call in history.calls if any(item.stamp in seen for item in call.operation.written)
    )
    around = [
        call
        for call in history.calls
        if call.invoked <= end and id(call) not in chosen and (call.operation.is_write or not call.precedes(wrong))
    ]
    around.sort(key=lambda call: (call.precedes(wrong), -(call.returned or end)))
    near = [call for call in around if _matters(call, core)]
    chosen |= dict.fromkeys(id(call) for call in near[: max(0, _MOST_CALLS - len(chosen))])
    return [call for call in history.calls if id(call) in chosen]


def latest_calls(history: History) -> list[Call]:
    """Return the last calls of the threads, and all calls that never returned."""
    calls = [call for call in history.calls if call.thread >= 0]
    latest = {id(call) for call in calls[-_MOST_CALLS:]}
    return [call for call in calls if call.returned is None or id(call) in latest]


def cut_down(program: Program, history: History, shown: Sequence[Call]) -> Program:
    """Return the program, cut down if it is large.

    A large program is cut down to the shown calls of its threads. Its prefix then stores the objects that the store
    held when the first of these calls began.
    """
    made = [call for call in shown if call.thread >= 0]
    if len(program) <= _LARGEST_PROGRAM or not made:
        return program
    begin = min(call.invoked for call in made)
    threads = sorted({call.thread for call in made})
    return replace(
        program,
        prefix=_contents_at(history, begin),
        threads=tuple(tuple(call.operation for call in made if call.thread == thread) for thread in threads),
    )


def _matters(call: Call, core: Sequence[Call]) -> bool:
    """Whether a call is a write, or a read by a thread that overlaps a call of the core by a thread."""
    if call.operation.is_write:
        return True
    return call.thread >= 0 and any(
        other.thread >= 0 and not call.precedes(other) and not other.precedes(call) for other in core
    )


def _stamps(call: Call) -> tuple[str, ...]:
    value = None if call.outcome is None else call.outcome.value
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _contents_at(history: History, tick: int) -> tuple[Operation, ...]:
    """Return writes that fill a store with its contents at ``tick``.

    The contents are an assumption: concurrent writes took effect in the order in which they returned.
    """
    model = IndexerModel(history.semantics)
    state = model.initial(history.indexes)
    ended = [call for call in history.calls if call.returned is not None and call.returned < tick]
    for call in sorted(ended, key=lambda call: call.returned or 0):
        if call.operation.is_write:
            state, _ = model.apply(state, call.operation)
    return tuple(op.add(stored.item) for stored in state.stored.values())
