"""Minimiser of failing programs: removes threads and calls, then simplifies the calls and the configuration."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from ..call_program import CallProgram
from ..greedy import from_the_start, shrink
from .object_type import ObjectType
from .specification import may_wait_for_ever

_ATTEMPTS = 1000

_Proposals: TypeAlias = Generator[Any, bool, None]


def smaller(
    object_type: ObjectType,
    program: Any,
    fails: Callable[[Any], bool],
    *,
    seconds: float = 5.0,
    attempts: int = _ATTEMPTS,
    stays_concurrent: bool = True,
) -> Any:
    """Minimise a failing program: return a program that still fails and is not larger than ``program``.

    A smaller program that may wait for ever is not accepted, unless the failing program may wait for ever itself.

    Args:
        object_type: of the object.
        program: the failing program.
        fails: whether a smaller program fails in the same way.
        seconds: the limit in seconds of wall-clock time.
        attempts: the maximum number of programs that are tried.
        stays_concurrent: whether a program with threads must keep some.
    """
    program = program.with_calls(program.prefix, tuple(thread for thread in program.threads if thread))

    @functools.cache
    def may_wait(some: CallProgram[Any]) -> bool:
        return may_wait_for_ever(object_type.specification(some), some)

    def is_wanted(candidate: CallProgram[Any]) -> bool:
        if stays_concurrent and program.threads and not candidate.threads:
            return False
        if not object_type.is_valid(candidate):
            return False
        return not candidate.threads or not may_wait(candidate) or may_wait(program)

    passes = (
        from_the_start(_fewer_threads),
        _fewer_calls,
        _later_threads,
        partial(_simpler_calls, object_type),
        from_the_start(object_type.simpler_ways),
    )
    return shrink(
        program, passes, lambda candidate: is_wanted(candidate) and fails(candidate), seconds=seconds, attempts=attempts
    )


def _fewer_threads(program: CallProgram[Any]) -> Sequence[Any]:
    threads = program.threads
    return [
        program.with_calls(program.prefix, threads[:number] + threads[number + 1 :]) for number in range(len(threads))
    ]


def _fewer_calls(program: CallProgram[Any]) -> _Proposals:
    """Leave out calls: all calls of a thread at once, then fewer and fewer; the last first, which depend on others."""
    for part in range(-1, len(program.threads)):
        chunk = len(_calls(program, part))
        while chunk:
            start = len(_calls(program, part)) - chunk
            while start > -chunk:
                calls = _calls(program, part)
                fewer = (*calls[: max(start, 0)], *calls[start + chunk :])
                if fewer or part < 0:  # no thread is left without calls
                    candidate = _with(program, part, fewer)
                    if (yield candidate):
                        program = candidate
                start -= chunk
            chunk //= 2


def _later_threads(program: CallProgram[Any]) -> _Proposals:
    """Move first calls of threads before the threads, where they are easier to follow."""
    part = 0
    while part < len(program.threads):
        first, *rest = program.threads[part]
        threads = (*program.threads[:part], *([tuple(rest)] if rest else []), *program.threads[part + 1 :])
        candidate = program.with_calls((*program.prefix, first), threads)
        if (yield candidate):
            program = candidate
        else:
            part += 1


def _simpler_calls(object_type: ObjectType, program: CallProgram[Any]) -> _Proposals:
    for part in range(-1, len(program.threads)):
        for position in range(len(_calls(program, part))):
            program = yield from from_the_start(partial(_with_simpler_call, object_type, part, position))(program)


def _with_simpler_call(
    object_type: ObjectType, part: int, position: int, program: CallProgram[Any]
) -> Iterator[CallProgram[Any]]:
    calls = _calls(program, part)
    for simpler in object_type.simpler(calls[position]):
        yield _with(program, part, (*calls[:position], simpler, *calls[position + 1 :]))


def _calls(program: CallProgram[Any], part: int) -> Sequence[Any]:
    """Return the calls of a thread; those before the threads if ``part`` is negative."""
    return program.prefix if part < 0 else program.threads[part]


def _with(program: CallProgram[Any], part: int, calls: Sequence[Any]) -> Any:
    if part < 0:
        return program.with_calls(tuple(calls), program.threads)
    return program.with_calls(program.prefix, (*program.threads[:part], tuple(calls), *program.threads[part + 1 :]))
