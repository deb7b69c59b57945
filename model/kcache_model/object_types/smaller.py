"""Minimiser of failing programs: removes threads and steps, then simplifies the configuration and the operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..call_program import CallProgram
from ..greedy import smallest
from .object_type import ObjectType
from .specification import may_wait_for_ever

_ATTEMPTS = 1000


def smaller(
    object_type: ObjectType,
    program: Any,
    fails: Callable[[Any], bool],
    *,
    seconds: float = 5.0,
    attempts: int = _ATTEMPTS,
) -> Any:
    """Minimise a failing program: return a program that still fails and is not larger than ``program``.

    A concurrent program stays concurrent, and a smaller one that may wait for ever is not accepted.
    """

    def is_wanted(candidate: CallProgram[Any]) -> bool:
        if program.threads and not candidate.threads:
            return False
        if not object_type.is_valid(candidate):
            return False
        return not candidate.threads or not may_wait_for_ever(object_type.specification(candidate), candidate)

    return smallest(
        program,
        lambda found: _simpler(object_type, found),
        lambda candidate: is_wanted(candidate) and fails(candidate),
        seconds=seconds,
        attempts=attempts,
    )


def _simpler(object_type: ObjectType, program: CallProgram[Any]) -> Iterator[Any]:
    prefix, threads = program.prefix, program.threads
    for number in range(len(threads)):
        yield program.with_calls(prefix, threads[:number] + threads[number + 1 :])
    # Remove chunks from the end first, so that a step is removed before the steps that it depends on.
    for size in (16, 8, 4, 2, 1):
        for start in range(len(prefix) - size, -1, -1):
            yield program.with_calls(prefix[:start] + prefix[start + size :], threads)
    for number, thread in enumerate(threads):
        for position in range(len(thread)):
            yield _with_thread(program, number, (*thread[:position], *thread[position + 1 :]))
        if thread:
            yield _with_thread(program.with_calls((*prefix, thread[0]), threads), number, thread[1:])
    yield from object_type.simpler_ways(program)
    for position, operation in enumerate(prefix):
        for simpler in object_type.simpler(operation):
            yield program.with_calls((*prefix[:position], simpler, *prefix[position + 1 :]), threads)
    for number, thread in enumerate(threads):
        for position, operation in enumerate(thread):
            for simpler in object_type.simpler(operation):
                yield _with_thread(program, number, (*thread[:position], simpler, *thread[position + 1 :]))


def _with_thread(program: CallProgram[Any], number: int, operations: Sequence[Any]) -> Any:
    threads = (*program.threads[:number], tuple(operations), *program.threads[number + 1 :])
    return program.with_calls(program.prefix, tuple(thread for thread in threads if thread))
