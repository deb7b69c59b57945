"""Programs: a queue and the calls of some threads on it, as plain data."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from ..call_program import CallProgram
from .operations import Operation, Version


class Deviation(enum.StrEnum):
    """A deviation from the contract that a queue may declare; outcomes are compared without the affected part."""

    INITIAL_LIST = "initial_list"
    """``process`` does not get a correct flag for whether an item belongs to the first replacement."""
    PROCESS_ERRORS = "process_errors"
    """``pop`` raises another exception than ``process`` did, or none."""
    POP_RESULT = "pop_result"
    """``pop`` does not return the item that was processed."""
    WRITES_AFTER_CLOSE = "writes_after_close"
    """A write on a closed queue raises, or is ignored."""


class QueueKind(enum.StrEnum):
    """The kinds of queues."""

    FIFO = "fifo"
    DELTA_FIFO = "delta-fifo"
    REAL_FIFO = "real-fifo"


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """The options of a queue.

    Attributes:
        known_objects: whether the queue gets the objects that its consumer has stored.
        emit_delta_type_replaced: whether a replacement has other delta types than a resync.
        transformer: whether the queue gets a transformer.
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
    """The calls on a new queue.

    Attributes:
        kind: the kind of the queue.
        options: the options of the queue.
        known: the objects that its consumer has stored before, with distinct keys.
        prefix: the calls that one thread runs first.
        threads: the calls of each thread after that.
        deviations: the declared deviations of the queue.
    """

    kind: QueueKind
    options: QueueOptions = field(default_factory=QueueOptions)
    known: tuple[Version, ...] = ()
    prefix: tuple[Operation, ...] = ()
    threads: tuple[tuple[Operation, ...], ...] = ()
    deviations: tuple[Deviation, ...] = ()

    @property
    def is_sequential(self) -> bool:
        """Whether all calls are in the prefix."""
        return not self.threads

    @property
    def is_coherent(self) -> bool:
        """Whether the options are valid for this kind of queue."""
        options = self.options
        match self.kind:
            case QueueKind.FIFO:
                return options == QueueOptions()
            case QueueKind.DELTA_FIFO:
                return not options.atomic_events and not options.emit_delta_type_bookmark
        bookmarks_fit = options.atomic_events or not options.emit_delta_type_bookmark
        return options.known_objects != options.atomic_events and bookmarks_fit
