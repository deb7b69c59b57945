"""Makes a failing program of a queue smaller: steps are left out, then objects, then options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

from ..greedy import smallest
from .operations import CallName, Operation, Version
from .program import QueueOptions, QueueProgram

_ATTEMPTS = 1000


def minimise(
    program: QueueProgram, fails: Callable[[QueueProgram], bool], *, seconds: float = 5.0, attempts: int = _ATTEMPTS
) -> QueueProgram:
    """A program that fails still and is no larger; each step is the first simpler program that fails."""
    return smallest(
        program,
        _simpler,
        lambda candidate: candidate.is_coherent and fails(candidate),
        seconds=seconds,
        attempts=attempts,
    )


def _simpler(program: QueueProgram) -> Iterator[QueueProgram]:
    for number in range(len(program.threads)):
        yield replace(program, threads=program.threads[:number] + program.threads[number + 1 :])
    # Chunks from the end, so that a step is gone before what it rests on.
    for size in (16, 8, 4, 2, 1):
        for start in range(len(program.prefix) - size, -1, -1):
            yield replace(program, prefix=program.prefix[:start] + program.prefix[start + size :])
    for number, thread in enumerate(program.threads):
        for position in range(len(thread)):
            yield _with_thread(program, number, (*thread[:position], *thread[position + 1 :]))
        if thread and thread[0].name is not CallName.POP:
            earlier = replace(program, prefix=(*program.prefix, thread[0]))
            yield _with_thread(earlier, number, thread[1:])
    for position in range(len(program.known)):
        yield replace(program, known=program.known[:position] + program.known[position + 1 :])
    for position, operation in enumerate(program.prefix):
        for simpler in _simpler_operations(operation):
            prefix = (*program.prefix[:position], simpler, *program.prefix[position + 1 :])
            yield replace(program, prefix=prefix)
    for number, thread in enumerate(program.threads):
        for position, operation in enumerate(thread):
            for simpler in _simpler_operations(operation):
                yield _with_thread(program, number, (*thread[:position], simpler, *thread[position + 1 :]))
    for field in fields(QueueOptions):
        if getattr(program.options, field.name):
            yield replace(program, options=replace(program.options, **{field.name: False}))


def _with_thread(program: QueueProgram, number: int, operations: tuple[Operation, ...]) -> QueueProgram:
    threads = (*program.threads[:number], operations, *program.threads[number + 1 :])
    return replace(program, threads=tuple(thread for thread in threads if thread))


def _simpler_operations(operation: Operation) -> Iterator[Operation]:
    for position in range(len(operation.objects)):
        yield replace(operation, objects=operation.objects[:position] + operation.objects[position + 1 :])
    if operation.resource_version and operation.name is CallName.REPLACE:
        yield replace(operation, resource_version="")
    if operation.fails:
        yield replace(operation, fails=False)
    if isinstance(operation.thing, Version) and operation.thing.is_rejected:
        yield replace(operation, thing=replace(operation.thing, is_rejected=False))
