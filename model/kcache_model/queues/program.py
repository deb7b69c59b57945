"""Programs: a queue and what some threads do with it, as plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from ..call_program import CallProgram
from .operations import Operation, Version


class Deviation(enum.StrEnum):
    """What a queue may declare to do otherwise; outcomes are compared without it."""

    INITIAL_LIST = "initial_list"
    """``process`` is not told whether an item belongs to the first replacement, or is told something else."""
    PROCESS_ERRORS = "process_errors"
    """What ``process`` raises comes out of ``pop`` in another form, or not at all."""
    POP_RESULT = "pop_result"
    """``pop`` returns something else than the item that was processed."""
    WRITES_AFTER_CLOSE = "writes_after_close"
    """A write on a closed queue raises, or is ignored."""


class QueueKind(enum.StrEnum):
    """The kinds of queues."""

    FIFO = "fifo"
    DELTA_FIFO = "delta-fifo"
    REAL_FIFO = "real-fifo"


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """How a queue is made.

    Attributes:
        known_objects: whether it is given what its consumer has stored.
        emit_delta_type_replaced: whether a replacement is to be told from a resync.
        transformer: whether it is given a transformer.
        atomic_events: whether a replacement and a resync are one change each.
        emit_delta_type_bookmark: whether bookmarks are queued.
    """

    known_objects: bool = False
    emit_delta_type_replaced: bool = False
    transformer: bool = False
    atomic_events: bool = False
    emit_delta_type_bookmark: bool = False


@dataclass(frozen=True, slots=True)
class QueueProgram(CallProgram[Operation]):
    """What is done with a new queue.

    Attributes:
        kind: of the queue.
        options: how it is made.
        known: what its consumer has stored before, with distinct keys.
        prefix: done first, by one thread.
        threads: then what each thread does.
        deviations: what the queue is declared to do otherwise.
    """

    kind: QueueKind
    options: QueueOptions = field(default_factory=QueueOptions)
    known: tuple[Version, ...] = ()
    prefix: tuple[Operation, ...] = ()
    threads: tuple[tuple[Operation, ...], ...] = ()
    deviations: tuple[Deviation, ...] = ()

    @property
    def is_sequential(self) -> bool:
        """Whether one thread does everything."""
        return not self.threads

    @property
    def is_coherent(self) -> bool:
        """Whether such a queue can be made."""
        options = self.options
        match self.kind:
            case QueueKind.FIFO:
                return options == QueueOptions()
            case QueueKind.DELTA_FIFO:
                return not options.atomic_events and not options.emit_delta_type_bookmark
        bookmarks_fit = options.atomic_events or not options.emit_delta_type_bookmark
        return options.known_objects != options.atomic_events and bookmarks_fit
