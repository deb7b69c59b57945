"""Queues between a source of changes and the store that follows it (client-go ``tools/cache`` queues).

:class:`DeltaFIFO` gathers changes by key, :class:`RealFIFO` keeps their order, :class:`FIFO` keeps only the newest
object of each key. Any thread may write; consumers call ``pop``.
"""

from ..errors import EnqueueError, FIFOClosedError, QueueOptionsError, ZeroLengthDeltasError
from .delta_fifo import DeltaFIFO
from .deltas import BookmarkInfo, Delta, Deltas, DeltaType, ReplacedAllInfo, SyncAllInfo
from .fifo import FIFO
from .interfaces import (
    BookmarkReceiver,
    KeyListerGetter,
    PopProcessFunc,
    ProcessBatchFunc,
    Queue,
    QueueWithBatch,
    ReflectorStore,
)
from .real_fifo import BATCH_SIZE, RealFIFO

__all__ = [
    "BATCH_SIZE",
    "FIFO",
    "BookmarkInfo",
    "BookmarkReceiver",
    "Delta",
    "DeltaFIFO",
    "DeltaType",
    "Deltas",
    "EnqueueError",
    "FIFOClosedError",
    "KeyListerGetter",
    "PopProcessFunc",
    "ProcessBatchFunc",
    "Queue",
    "QueueOptionsError",
    "QueueWithBatch",
    "RealFIFO",
    "ReflectorStore",
    "ReplacedAllInfo",
    "SyncAllInfo",
    "ZeroLengthDeltasError",
]
