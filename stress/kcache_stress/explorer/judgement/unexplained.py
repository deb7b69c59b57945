"""The first order of the calls of an execution that no specification explains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kcache_model.linearizability.monitor import IMPOSSIBLE, Monitor, Op, R, S

from ..execution import Mark
from .orders import Marks, Shape, linear_extensions


@dataclass(frozen=True)
class Unexplained:
    """An order of beginnings and ends that nothing explains.

    Attributes:
        order: up to where nothing explains it.
        call: the call whose outcome is impossible; ``None`` if that shows only when all have ended.
    """

    order: tuple[Mark, ...]
    call: int | None


def first_unexplained(
    monitor: Monitor[S, Op, R],
    start: int,
    shape: Shape,
    outcomes: Sequence[R],
    explains_end: Callable[[int], bool],
) -> Unexplained | None:
    """Judge all orders that an execution admits; the first that nothing explains.

    Args:
        monitor: of the calls.
        start: its set of configurations before the first of them.
        shape: the orders.
        outcomes: what each call gave.
        explains_end: whether what was read when all had ended fits a set of configurations.
    """
    marks = shape if isinstance(shape, Marks) else Marks((shape,), (tuple((0,) for _ in shape),))

    def follow(at: int, mark: Mark) -> int | None:
        if mark > 0:
            return monitor.invoked(at, mark - 1)
        after = monitor.returned(at, -mark - 1, outcomes[-mark - 1])
        return None if after == IMPOSSIBLE else after

    for order, end in linear_extensions(marks, start, follow):
        if end is None:
            return Unexplained(order, -order[-1] - 1)
        if not explains_end(end):
            return Unexplained(order, None)
    return None
