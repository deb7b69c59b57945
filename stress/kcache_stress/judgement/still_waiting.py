"""Executions at whose end some calls wait: what was called, and the orders in which calls began and ended.

Waiting is right if the specification allows it: some order of the calls explains the outcomes of those that have ended,
and the others wait after it. If each order lets one of the others return, its wake-up was lost, or calls wait for each
other. :meth:`~kcache_model.linearizability.monitor.Monitor.may_all_wait` decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from kcache_model.call_program import CallProgram
from kcache_model.outcomes import WAITS, Outcome

from ..engine.execution import Execution, Mark
from ..engine.orders import Marks, Shape


@dataclass(frozen=True)
class Standstill:
    """The calls that were made in an execution that ended while some of them waited.

    Attributes:
        program: the program without the calls that no thread has reached.
        execution: the execution, in which a call that waits lasts to the end; its outcome is ``WAITS``.
        waiting: the positions of the calls that wait, among the calls of the threads.
    """

    program: CallProgram[Any]
    execution: Execution[Outcome]
    waiting: frozenset[int]

    @property
    def ended(self) -> dict[int, int]:
        """The position of each call that has ended -> its position among these calls alone."""
        calls = sum(map(len, self.program.threads))
        return {call: number for number, call in enumerate(call for call in range(calls) if call not in self.waiting)}


def standstill_of(program: CallProgram[Any], execution: Execution[Outcome]) -> Standstill:
    """Return what was called in an execution that ended while calls of a program waited."""
    called = [own[: len(ended) + 1] for own, ended in zip(program.threads, execution.outcomes, strict=True)]
    lasts = itertools.accumulate(map(len, called))
    open_threads = [len(own) > len(ended) for own, ended in zip(called, execution.outcomes, strict=True)]
    spans = [
        [*own, (own[-1][1] if own else 0, len(execution.trace))] if is_open else own
        for own, is_open in zip(execution.spans, open_threads, strict=False)
    ]
    outcomes = [
        [*own, WAITS] if is_open else own for own, is_open in zip(execution.outcomes, open_threads, strict=True)
    ]
    return Standstill(
        program.with_calls(program.prefix, tuple(called)),
        replace(execution, spans=spans, outcomes=outcomes),
        frozenset(last - 1 for last, is_open in zip(lasts, open_threads, strict=True) if is_open),
    )


def without_ends(shape: Shape, calls: Collection[int]) -> Shape:
    """Return the orders without the ends of calls that have not ended; these are the last calls of their threads."""
    if not isinstance(shape, Marks):
        return tuple(mark for mark in shape if -mark - 1 not in calls)
    threads = tuple(tuple(mark for mark in own if -mark - 1 not in calls) for own in shape.threads)
    most = [len(own) for own in threads]
    needs = (
        tuple(tuple(map(min, row, most)) for row in rows[:length])
        for rows, length in zip(shape.needs, most, strict=True)
    )
    return Marks(threads, tuple(needs))


def of_ended_calls(order: tuple[Mark, ...], standstill: Standstill) -> tuple[Mark, ...]:
    """Return an order of beginnings and ends as one of the calls that have ended, by their own positions."""
    ended = standstill.ended
    marks = ((mark, ended.get(abs(mark) - 1)) for mark in order)
    return tuple(number + 1 if mark > 0 else -number - 1 for mark, number in marks if number is not None)
