"""Rounds of a stress run on Indexers: short programs on new Indexers, and sessions on one Indexer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from kcache_model.indexers.program import Program
from kcache_model.indexers.target import Target

from ..objects.findings import Setting
from ..objects.threads import ObjectStress, Round
from .session import Session
from .workload import Length, Shape, random_program, stretches

_ROUNDS_AT_ONCE = 20
_SHARE_OF_SHORT = 0.7
"""Share of the turns that run short programs; such a turn takes about as long as a turn of stretches."""


def stress_rounds(
    stress: ObjectStress,
    target: Target,
    setting: Setting,
    seed: int,
    threads: int | None = None,
    shape: Shape | None = None,
    length: Length | None = None,
) -> Iterator[tuple[Program, Round]]:
    """Run random programs and sessions, without end; yield each program with its round.

    Args:
        stress: runs the threads.
        target: the implementation. If it may evict objects, no sessions run, because their monitor needs to know which
            objects are still stored.
        setting: the data that all findings share.
        seed: determines the programs. It cannot determine the schedule, which the operating system chooses.
        threads: exact number of threads; by default two to four.
        shape: size of the programs on new Indexers.
        length: length of the stretches of calls on one Indexer.
    """
    seeds = random.Random(seed)
    shape, length = shape or Shape(), length or Length()
    if threads is not None:
        number = (threads, threads)
        shape, length = replace(shape, threads=number), replace(length, threads=number)
    while True:
        if target.may_evict or seeds.random() < _SHARE_OF_SHORT:
            for _ in range(_ROUNDS_AT_ONCE):
                program = random_program(seeds.getrandbits(48), target, target.semantics, shape)
                yield program, stress.run(program)
        else:
            yield from _session(stress, target, setting, seeds.getrandbits(48), length)


def _session(
    stress: ObjectStress, target: Target, setting: Setting, seed: int, length: Length
) -> Iterator[tuple[Program, Round]]:
    """Run stretches on one Indexer, until one fails, no verdict is possible, or its time is up."""
    session = Session(stress, target, setting)
    has_hung = False
    try:
        for stretch in stretches(seed, target, target.semantics, length, strict_errors=setting.strict_errors):
            program, result = session.play(stretch)
            has_hung = bool(result.hung)
            yield program, result
            if not result.is_fine or not session.can_go_on:
                break
    finally:
        if not has_hung:
            session.close()
