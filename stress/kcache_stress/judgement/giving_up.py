"""Calls of an execution that have given up, because another one was slow: they may have had no effect.

A slow thread is no fault of a class. If a call waits for what a slow one holds until its timeout ends, or looks once
whether that is free and does not wait, it has done what it promises. No order of whole calls explains that.

What is a fault all the same. A call that ignores that it did not get a lock goes on to write, or to read what it has
not read before. And one that gives up at once must say so: if it gives what it also gives where nobody else works, its
caller takes it for done.

The order of what is judged: :class:`~kcache_model.linearizability.waiting.WaitingMonitor`.
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
    """A call that has given up.

    Attributes:
        call: its position among all calls, one thread after another.
        slow: the positions of the calls that may have been so slow that this one had no effect.
        tells: whether it counts only where it gives something else than it would alone: it has not waited.
    """

    call: int
    slow: tuple[int, ...]
    tells: bool


def given_up_in(execution: Execution[Outcome]) -> tuple[GaveUp, ...]:
    """The calls that have given up, and which calls may have been so slow that these had no effect.

    One that waited raises an error; or it returns, writes nothing after its wait, and reads only what it has read
    before: it looks again whether it has to wait. That a call leaves the queue of a condition is no effect:
    ``threading.Semaphore`` and ``queue.Queue`` do that, too. Calls that go on after the timeout have been slow. So may
    those be that have ended before it: the search tries only one of two orders of steps that do not depend on each
    other.

    One that did not wait writes nothing after it has found a lock taken; the calls that are open then have been slow.
    """
    found: dict[int, GaveUp] = {}
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
                    found[call] = GaveUp(call, tuple(slow), tells=False)
            elif tried is not None and not _goes_on(execution, thread, span, tried, set(), outcome):
                slow = (other for other, (begin, end) in enumerate(all_spans) if begin < tried < end)
                found[call] = GaveUp(call, tuple(slow), tells=True)
        position += len(outcomes)
    return tuple(
        GaveUp(one.call, tuple(other for other in one.slow if other not in found), one.tells) for one in found.values()
    )


def _failed_try(trace: Trace, thread: int, span: tuple[int, int]) -> int | None:
    """The position at which a thread first finds a lock taken that another one holds, and does not wait for it."""
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
    """Whether a call does more after its wait than to look again and say what it has found."""
    before, after = (_touched(execution, thread, *part) for part in ((span[0], wait), (wait, span[1])))
    writes, reads = after[WRITE] - queues, after[READ] - before[READ] - queues
    says_nothing = outcome.error is not None or outcome.value is None or outcome.value is False
    return bool(writes or (reads and not says_nothing))


def _touched(execution: Execution[Outcome], thread: int, begin: int, end: int) -> Mapping[int, set[int]]:
    """Kind of access -> ids of the objects that a thread touches in a part of the trace; the clock is none of them."""
    found: dict[int, set[int]] = {READ: set(), WRITE: set()}
    for who, kind, obj, _ in itertools.islice(execution.trace, begin, end):
        if who == thread and kind in found and not isinstance(obj, Scheduler):
            found[kind].add(id(obj))
    return found
