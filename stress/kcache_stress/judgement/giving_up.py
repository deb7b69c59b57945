"""Calls of an execution that have given up because another call was slow: they may have had no effect.

A slow thread is no fault of a class. If a call waits for a lock of a slow call until its timeout ends, or tries once to
acquire the lock and does not wait, the call keeps its contract. No order of whole calls explains its outcome.

Two cases are faults all the same. If a call ignores that it did not acquire a lock, it goes on to write, or to read
places that it has not read before. If a call gives up at once, it must report this: if its outcome is
the same as without other calls, its caller assumes that it is done.

:class:`~kcache_model.linearizability.waiting.WaitingMonitor` judges the orders of such calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from kcache_model.outcomes import Outcome

from ..engine.events import READ, TRY, WRITE, Trace
from ..engine.execution import Execution
from ..modules.held_locks import HeldLocks
from ..runtime.threads.scheduler import Scheduler


@dataclass(frozen=True)
class GaveUp:
    """Call that has given up.

    Attributes:
        call: its position among all calls, one thread after another.
        slow: the positions of the calls that may have been so slow that this call had no effect.
        tells: whether the call has given up without waiting. It then counts as given up only if its outcome differs
            from its outcome without other calls.
    """

    call: int
    slow: tuple[int, ...]
    tells: bool


def given_up_in(execution: Execution[Outcome]) -> tuple[GaveUp, ...]:
    """Return the calls that have given up, each with the calls that may have been slow.

    A call that waited has given up if it raises an error, or if it returns, writes nothing after its wait, and reads
    only what it has read before: it checks again whether it has to wait. If a call leaves the queue of a condition,
    this is no effect: ``threading.Semaphore`` and ``queue.Queue`` do so, too. If the timeout was early, any other call
    may have been slow; otherwise, the calls that had ended before it. Calls that ended before it may have been slow
    because the search tries only one of two orders of independent steps.

    A call that did not wait has given up if it writes nothing after it has failed to acquire a lock; the calls that are
    open at that moment have been slow.
    """
    calls: dict[int, GaveUp] = {}
    all_spans = list(itertools.chain.from_iterable(execution.spans))
    tries = [at for at, event in enumerate(execution.trace) if event[1] == TRY and not event[3]]
    position = 0
    for thread, (spans, outcomes) in enumerate(zip(execution.spans, execution.outcomes, strict=False)):
        for call, (span, outcome) in enumerate(zip(spans, outcomes, strict=False), position):
            own = [timeout for timeout in execution.timeouts if timeout.actor == thread]
            own = [timeout for timeout in own if span[0] < timeout.position <= span[1]]
            in_vain = any(span[0] <= at < span[1] and execution.trace[at][0] == thread for at in tries)
            tried = _failed_try(execution.trace, thread, span) if in_vain and not own and not outcome.waits else None
            if own and not outcome.waits:
                wait, queues = own[0].position, {id(timeout.waiters) for timeout in own}
                if outcome.error is not None or not _goes_on(execution, thread, span, wait, queues, outcome):
                    slow = (other for other, (_, end) in enumerate(all_spans) if own[0].is_early or end <= wait)
                    calls[call] = GaveUp(call, tuple(slow), tells=False)
            elif tried is not None and not _goes_on(execution, thread, span, tried, set(), outcome):
                slow = (other for other, (begin, end) in enumerate(all_spans) if begin < tried < end)
                calls[call] = GaveUp(call, tuple(slow), tells=True)
        position += len(outcomes)
    return tuple(
        GaveUp(one.call, tuple(other for other in one.slow if other not in calls), one.tells) for one in calls.values()
    )


def _failed_try(trace: Trace, thread: int, span: tuple[int, int]) -> int | None:
    """Return the position of the first TRY in the span that fails on a lock the thread does not hold; else ``None``."""
    held = HeldLocks()
    for position, event in enumerate(itertools.islice(trace, span[1])):
        who, kind, lock, slot = event
        is_in_vain = who == thread and kind == TRY and not slot and hasattr(lock, "owner")
        if is_in_vain and position >= span[0] and id(lock) not in held.of(thread):
            return position
        held.see(event)
    return None


def _goes_on(
    execution: Execution[Outcome],
    thread: int,
    span: tuple[int, int],
    wait: int,
    queues: set[int],
    outcome: Outcome,
) -> bool:
    """Whether a call has effects after its wait: it writes, or it reads new objects and returns a value.

    An error, ``None`` and ``False`` are no value here. ``queues`` are ids of objects that do not count.
    """
    before, after = (_touched(execution, thread, *part) for part in ((span[0], wait), (wait, span[1])))
    writes, reads = after[WRITE] - queues, after[READ] - before[READ] - queues
    says_nothing = outcome.error is not None or outcome.value is None or outcome.value is False
    return bool(writes or (reads and not says_nothing))


def _touched(execution: Execution[Outcome], thread: int, begin: int, end: int) -> Mapping[int, set[int]]:
    """Return kind of access -> ids of the objects, except the clock, that a thread touches in a part of the trace."""
    touched: dict[int, set[int]] = {READ: set(), WRITE: set()}
    for who, kind, obj, _ in itertools.islice(execution.trace, begin, end):
        if who == thread and kind in touched and not isinstance(obj, Scheduler):
            touched[kind].add(id(obj))
    return touched
