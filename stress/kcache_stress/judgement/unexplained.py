"""Search for an order of the calls of an execution that nothing explains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcache_model.linearizability.monitor import IMPOSSIBLE, Monitor, Op, R, S
from kcache_model.outcomes import Outcome

from ..engine.execution import Mark
from ..engine.orders import Marks, Shape, linear_extensions


@dataclass(frozen=True)
class Orders:
    """Monitor with a cache of its results.

    Attributes:
        monitor: decides which orders of the calls explain their outcomes.
        start: the set of configurations before the first call.
        starts: outcomes of the calls before the threads -> the set of configurations after them.
        finals: (set when the threads have ended, outcomes read back) -> whether the set explains the outcomes.
    """

    monitor: Monitor[Any, Any, Any]
    start: int
    starts: dict[tuple[Outcome, ...], int] = field(default_factory=dict)
    finals: dict[tuple[int, tuple[Outcome, ...]], bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Unexplained:
    """Order of beginnings and ends that nothing explains.

    Attributes:
        order: the shortest prefix that nothing explains.
        call: the call whose outcome is impossible; ``None`` if only the values that are read back are impossible, or
            the calls before the threads are (then the order is empty).
    """

    order: tuple[Mark, ...]
    call: int | None


def first_unexplained(
    monitor: Monitor[S, Op, R],
    start: int,
    shape: Shape,
    outcomes: Sequence[R],
    explains_end: Callable[[int], bool],
    counts: Callable[[tuple[Mark, ...]], bool],
) -> Unexplained | None:
    """Judge all orders that an execution admits; return the first order that nothing explains, or ``None``.

    Args:
        monitor: the monitor of the calls.
        start: its set of configurations before the first call.
        shape: the orders.
        outcomes: the outcome of each call.
        explains_end: whether a set of configurations after the last call explains the outcomes that are read back.
        counts: whether an unexplained order is to be returned.
    """

    def follow(at: int, mark: Mark) -> int | None:
        if mark > 0:
            return monitor.invoked(at, mark - 1)
        after = monitor.returned(at, -mark - 1, outcomes[-mark - 1])
        return None if after == IMPOSSIBLE else after

    for order, end in linear_extensions(_marks(shape), start, follow):
        if end is None and counts(order):
            return Unexplained(order, -order[-1] - 1)
        if end is not None and not explains_end(end) and counts(order):
            return Unexplained(order, None)
    return None


def all_orders(shape: Shape) -> Iterator[tuple[Mark, ...]]:
    """Yield all orders of beginnings and ends that an execution admits."""
    nothing: tuple[Mark, ...] = ()
    return (order for order, _ in linear_extensions(_marks(shape), nothing, _followed))


def _followed(order: tuple[Mark, ...], mark: Mark) -> tuple[Mark, ...]:
    return (*order, mark)


def _marks(shape: Shape) -> Marks:
    """Return the admitted orders as marks; for a single order, marks that admit this order only."""
    return shape if isinstance(shape, Marks) else Marks((shape,), (tuple((0,) for _ in shape),))


def overlap(order: tuple[Mark, ...]) -> bool:
    """Whether calls overlap: the end of some call does not come right after its beginning."""
    return any(begun + ended for begun, ended in zip(order[::2], order[1::2], strict=False))
