"""Table of the specifications, by kind of queue."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from .delta_fifo_model import DeltaFifoModel
from .fifo_model import FifoModel
from .program import Deviation, QueueKind, QueueOptions
from .queue_model import QueueModel
from .real_fifo_model import RealFifoModel

_MODELS: Final[Mapping[QueueKind, type[QueueModel]]] = {
    QueueKind.FIFO: FifoModel,
    QueueKind.DELTA_FIFO: DeltaFifoModel,
    QueueKind.REAL_FIFO: RealFifoModel,
}


def model_of(kind: QueueKind, options: QueueOptions, deviations: Collection[Deviation] = ()) -> QueueModel:
    """Create the specification of a queue with the given options and declared deviations."""
    return _MODELS[kind](options, frozenset(deviations))
