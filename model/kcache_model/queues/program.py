"""Programs: a queue and what some threads do with it, as plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from ..call_program import CallProgram
from .operations import Operation, Version


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
    """

    kind: QueueKind
    options: QueueOptions = field(default_factory=QueueOptions)
    known: tuple[Version, ...] = ()
    prefix: tuple[Operation, ...] = ()
    threads: tuple[tuple[Operation, ...], ...] = ()

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
