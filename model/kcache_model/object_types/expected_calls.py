"""Calls whose outcomes are asked for soon: one replay of all of them answers many questions about their orders.

A judge asks for the outcome of each call after each sequence of other calls: for ``a``, for ``b`` after ``a``, then for
``c`` after both. Each answer needs a new object, which takes longer than the calls. The replay that answers the first
question goes on with the other calls of the program, and so answers the next ones as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ..outcomes import Outcome
from .replay_steps import CalledBy, Calls


class ExpectedCalls:
    """The calls of one program.

    Args:
        calls: the calls of its threads, those of each thread in order.
        afterwards: the calls after the threads.
    """

    def __init__(self, calls: Sequence[CalledBy], afterwards: Sequence[Any]) -> None:
        self._writes: dict[int, list[CalledBy]] = {}
        for call in calls:
            if call.is_write:
                self._writes.setdefault(call.thread, []).append(call)
        self._afterwards = tuple(afterwards)

    def after(self, calls: Calls) -> Calls:
        """Return further calls of the program that may follow a sequence of calls; empty if this is not known."""
        last = calls[-1]
        if not isinstance(last, CalledBy) or not last.is_write:
            return ()  # the next questions are about sequences without it: by its name, it changes nothing
        earlier: dict[int, list[CalledBy]] = {}
        for call in calls:
            if isinstance(call, CalledBy):
                earlier.setdefault(call.thread, []).append(call)
        if any(own != self._writes.get(thread, [])[: len(own)] for thread, own in earlier.items()):
            return ()
        begun = Counter({thread: len(own) for thread, own in earlier.items()})
        threads = sorted(self._writes, key=lambda thread: thread != last.thread)
        rest = (call for thread in threads for call in self._writes[thread][begun[thread] :])
        return (*rest, *self._afterwards[:1])  # it may change something in spite of its name, so nothing follows it


def answered(calls: Calls, further: Calls, outcomes: Sequence[Outcome]) -> Iterator[tuple[Calls, Outcome]]:
    """Yield the sequences whose last outcome is known after a replay of calls and further calls, each with the outcome.

    Args:
        calls: the calls that were asked for.
        further: calls after them, each of which begins where the one before it has changed something.
        outcomes: the outcomes of the first of all these calls.
    """
    if len(outcomes) >= len(calls):
        yield calls, outcomes[len(calls) - 1]
    for count, outcome in enumerate(outcomes[len(calls) :], start=1):
        yield (*calls, *further[:count]), outcome
