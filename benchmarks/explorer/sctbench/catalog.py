"""Each program by its name, and whether it is one of the CS set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from . import locks, turns, values

CS_SET: Final[Mapping[str, Callable[..., None]]] = {
    "account": values.account,
    "arithmetic_prog": turns.arithmetic_progression,
    "bluetooth_driver": values.bluetooth,
    "carter01": locks.carter,
    "circular_buffer": turns.circular_buffer,
    "deadlock01": locks.deadlock,
    **{f"din_phil{seats}": partial(locks.philosophers, seats) for seats in range(2, 8)},
    "fsbench": locks.file_system,
    "lazy01": values.lazy,
    "phase01": locks.phase,
    "queue": turns.queue,
    "reorder_3": partial(values.reorder, 2, 1),
    "reorder_4": partial(values.reorder, 3, 1),
    "reorder_5": partial(values.reorder, 4, 1),
    "reorder_10": partial(values.reorder, 9, 1),
    "reorder_20": partial(values.reorder, 10, 10),
    "stack": turns.stack,
    "sync01": turns.sync_once,
    "sync02": turns.sync_twice,
    "token_ring": values.token_ring,
    "twostage": partial(values.two_stage, 1),
    "twostage_100": partial(values.two_stage, 99),
    "wronglock_3": partial(values.wrong_lock, 3),
    "wronglock": partial(values.wrong_lock, 7),
}
"""The bad one is called with ``is_bad=True``, its correct twin without."""

HARDER: Final[Mapping[str, Callable[..., None]]] = {
    "phil_deadlock_5": partial(locks.hungry_philosophers, 5),
    "phil_deadlock_7": partial(locks.hungry_philosophers, 7),
    "reorder_50": partial(values.reorder, 49, 1),
    "reorder_100": partial(values.reorder, 99, 1),
}
"""Not of the CS set: the philosophers' deadlock, and the sizes that Fray's authors added."""

PROGRAMS: Final[Mapping[str, Callable[..., None]]] = CS_SET | HARDER
