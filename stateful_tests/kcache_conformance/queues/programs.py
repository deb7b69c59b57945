"""Small programs for several threads on one queue, in which no thread may have to wait for ever."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kcache_model.queues import operations as op
from kcache_model.queues.models import model_of
from kcache_model.queues.operations import POPS, Operation, Tombstone, Version
from kcache_model.queues.program import QueueKind, QueueOptions, QueueProgram
from kcache_model.queues.queue_model import States

from .target import TOMBSTONES, QueueTarget

_KEYS = ("a", "b")
_SHAPES = ((1, 1), (1, 1), (2, 1), (1, 2), (2, 2), (1, 1, 1))
_LARGER_SHAPES = ((3, 1), (2, 3), (1, 1, 2), (2, 1, 1))


def may_wait_for_ever(program: QueueProgram) -> bool:
    """Whether there is an order of the calls after which all threads that are not done wait."""
    model = model_of(program.kind, program.options)
    states = model.initial(program.known)
    for operation in program.prefix:
        states, outcome = model.apply(states, operation)
        if outcome.waits:
            return True
    seen: set[tuple[tuple[int, ...], States]] = set()

    def is_stuck(done: tuple[int, ...], states: States) -> bool:
        if (done, states) in seen:
            return False
        seen.add((done, states))
        is_over = may_go_on = False
        for number, thread in enumerate(program.threads):
            if done[number] == len(thread):
                continue
            is_over = True
            after, outcome = model.apply(states, thread[done[number]])
            if outcome.waits:
                continue
            may_go_on = True
            if is_stuck((*done[:number], done[number] + 1, *done[number + 1 :]), after):
                return True
        return is_over and not may_go_on

    return is_stuck((0,) * len(program.threads), states)


def telling_programs(target: QueueTarget) -> Iterator[QueueProgram]:
    """Programs around what goes wrong in queues, as far as the target offers what they need."""
    for options, known in _ways(target):
        for prefix, *threads in _TELLING:
            program = QueueProgram(target.kind, options, known, prefix, tuple(threads))
            if target.allows(program) and not may_wait_for_ever(program):
                yield program


def random_program(seed: int, target: QueueTarget, *, is_large: bool = False) -> QueueProgram:
    """A random program; the queue is closed in it if it might wait for ever otherwise."""
    rng = random.Random(seed)
    while True:
        program = _drawn(rng, target, is_large=is_large)
        if not any(operation.name in POPS for operation in program.operations()):
            continue
        if may_wait_for_ever(program):
            position = rng.randrange(len(program.threads))
            closing = (*program.threads[position], op.close())
            threads = (*program.threads[:position], closing, *program.threads[position + 1 :])
            program = replace(program, threads=threads)
        if not may_wait_for_ever(program):
            return program


def _ways(target: QueueTarget) -> list[tuple[QueueOptions, tuple[Version, ...]]]:
    """The ways in which queues of the telling programs are made."""
    known = (Version("k", "k0"),)
    ways: Mapping[QueueKind, list[tuple[QueueOptions, tuple[Version, ...]]]] = {
        QueueKind.FIFO: [(QueueOptions(), ())],
        QueueKind.DELTA_FIFO: [
            (QueueOptions(known_objects=True, emit_delta_type_replaced=True), known),
            (QueueOptions(), ()),
        ],
        QueueKind.REAL_FIFO: [(QueueOptions(known_objects=True), known), (QueueOptions(atomic_events=True), ())],
    }
    return [way for way in ways[target.kind] if target.allows(QueueProgram(target.kind, way[0]))]


_A1, _A2, _B1, _K1 = Version("a", "a1"), Version("a", "a2"), Version("b", "b1"), Version("k", "k1")

_TELLING: tuple[tuple[tuple[Operation, ...], ...], ...] = (
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
    # What is processed must be seen by a replacement and by a resync.
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
"""A prefix, then what each thread does."""


def _drawn(rng: random.Random, target: QueueTarget, *, is_large: bool) -> QueueProgram:
    options, known = rng.choice(_ways(target))
    draw = _Draw(rng, target)
    prefix = tuple(draw.write() for _ in range(rng.choice((0, 1, 1, 2))))
    shape = rng.choice(_LARGER_SHAPES if is_large else _SHAPES)
    threads = tuple(tuple(draw.operation() for _ in range(size)) for size in shape)
    program = QueueProgram(target.kind, options, known, prefix, threads)
    if target.supports("transformer") and rng.random() < 0.15:
        program = replace(program, options=replace(options, transformer=True))
    return program


class _Draw:
    """Random operations."""

    def __init__(self, rng: random.Random, target: QueueTarget) -> None:
        self._rng = rng
        self._target = target
        self._made = 0

    def version(self) -> Version:
        key = self._rng.choice((*_KEYS, "k"))
        self._made += 1
        return Version(key, f"{key}{self._made}")

    def write(self) -> Operation:
        rng = self._rng
        made = rng.choice(
            (self._replace, self._delete, lambda: op.add(self.version()), lambda: op.update(self.version()))
        )()
        return made if self._target.allows_call(made) else op.add(self.version())

    def operation(self) -> Operation:
        rng = self._rng
        made = rng.choices(
            [
                lambda: op.pop(fails=rng.random() < 0.1),
                self.write,
                op.resync,
                op.has_synced,
                op.known,
                op.close,
                lambda: op.pop_batch(),
                op.length,
            ],
            weights=[8, 9, 2, 2, 2, 1, 1, 1],
        )[0]()
        return made if self._target.allows_call(made) else op.pop()

    def _replace(self) -> Operation:
        return op.replace(*(self.version() for _ in range(self._rng.randrange(3))))

    def _delete(self) -> Operation:
        version = self.version()
        if self._target.supports(TOMBSTONES) and self._rng.random() < 0.3:
            return op.delete(Tombstone(str(version.key), version))
        return op.delete(version)
