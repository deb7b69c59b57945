"""Litmus tests of queues: small concurrent programs for faults that queues are known to have."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Final

from kcache_model.queues import operations as op
from kcache_model.queues.operations import Operation, Version
from kcache_model.queues.program import QueueKind, QueueOptions, QueueProgram

from .target import QueueTarget


def litmus_tests(target: QueueTarget) -> Iterator[QueueProgram]:
    """Yield all litmus tests, in each of the usual configurations of a queue."""
    for way in usual_ways(target):
        for prefix, *threads in _LITMUS_TESTS:
            yield way.with_calls(prefix, tuple(threads))


def usual_ways(target: QueueTarget) -> list[QueueProgram]:
    """The configurations of a queue in which most programs run, as far as the target supports them."""
    return [replace(way, deviations=target.deviations) for way in _USUAL[target.kind] if target.allows(way)]


def ways(target: QueueTarget) -> list[QueueProgram]:
    """All configurations of a queue that the target supports; if it knows its consumer, with 0, 1 and 2 objects."""
    names = [field.name for field in fields(QueueOptions)]
    chosen = [
        QueueOptions(**dict(zip(names, flags, strict=True)))
        for flags in itertools.product((False, True), repeat=len(names))
    ]
    configurations = []
    for options in chosen:
        transformed = int(options.transformer)
        stored = tuple(Version(key, f"{key}0", transformed=transformed) for key in "ab")
        for known in ((), stored[:1], stored) if options.known_objects else ((),):
            way = QueueProgram(target.kind, options, known, deviations=target.deviations)
            if way.is_coherent and target.allows(way):
                configurations.append(way)
    return configurations


_KNOWN: Final = (Version("k", "k0"),)

_USUAL: Final[Mapping[QueueKind, list[QueueProgram]]] = {
    QueueKind.FIFO: [QueueProgram(QueueKind.FIFO)],
    QueueKind.DELTA_FIFO: [
        QueueProgram(QueueKind.DELTA_FIFO, QueueOptions(known_objects=True, emit_delta_type_replaced=True), _KNOWN),
        QueueProgram(QueueKind.DELTA_FIFO),
    ],
    QueueKind.REAL_FIFO: [
        QueueProgram(QueueKind.REAL_FIFO, QueueOptions(known_objects=True), _KNOWN),
        QueueProgram(QueueKind.REAL_FIFO, QueueOptions(atomic_events=True)),
    ],
}

_A1, _A2, _B1, _K1 = Version("a", "a1"), Version("a", "a2"), Version("b", "b1"), Version("k", "k1")

_LITMUS_TESTS: tuple[tuple[tuple[Operation, ...], ...], ...] = (
    # Waiting and waking.
    ((), (op.pop(),), (op.add(_A1),)),
    ((), (op.pop(),), (op.close(),)),
    ((), (op.pop(),), (op.pop(),), (op.close(),)),
    ((), (op.pop(),), (op.pop(),), (op.add(_A1), op.add(_B1))),
    ((), (op.pop(),), (op.replace(_A1),)),
    ((), (op.pop(), op.pop()), (op.replace(_A1, _B1),)),
    ((), (op.pop(),), (op.pop(),), (op.replace(_A1, _B1),)),
    ((), (op.pop(),), (op.resync(), op.close())),
    ((op.add(_A1),), (op.pop(),), (op.pop(),), (op.close(),)),
    ((), (op.pop(), op.pop()), (op.add(_A1), op.close())),
    # Two writers, one writer and one reader.
    ((), (op.add(_A1),), (op.add(_B1),)),
    ((), (op.add(_A1),), (op.update(_A2),)),
    ((op.add(_A1),), (op.pop(),), (op.update(_A2),)),
    ((op.add(_A1),), (op.pop(),), (op.delete(_A2),)),
    ((op.add(_A1), op.add(_B1)), (op.pop(),), (op.pop(),)),
    ((op.add(_A1), op.add(_B1)), (op.pop(), op.pop()), (op.delete(_A2),)),
    # A replacement and a resync must see the items that are being processed.
    ((op.add(_A1),), (op.pop(),), (op.replace(),)),
    ((op.add(_A1),), (op.pop(),), (op.resync(),)),
    ((op.update(_K1),), (op.pop(),), (op.resync(),)),
    ((op.delete(_K1),), (op.pop(),), (op.replace(),)),
    ((op.delete(_K1),), (op.pop(),), (op.resync(),)),
    ((op.add(_A1),), (op.pop(fails=True),), (op.replace(),)),
    # Synced means processed.
    ((op.replace(_A1),), (op.pop(),), (op.has_synced(), op.known())),
    ((op.replace(_A1, _B1),), (op.pop(), op.pop()), (op.has_synced(), op.known())),
    ((op.replace(_A1),), (op.pop(), op.has_synced()), (op.update(_A2),)),
    ((), (op.replace(_A1),), (op.add(_B1), op.has_synced())),
    ((op.replace(_A1),), (op.pop(),), (op.replace(_A2),)),
    ((op.add(_A1),), (op.replace(_A2),), (op.delete(_B1),)),
    ((), (op.close(),), (op.is_closed(), op.add(_A1))),
)
"""Each test: the prefix, then the calls of each thread."""
