"""Confirmation of findings about event loops: asyncio's own loop runs the test, with the same arrivals.

The schedule of an event loop is what arrives before each of its iterations: time, input, cancellations. So no code has
to be paused: the unchanged test runs once in a loop of asyncio whose selector and clock follow the list
(:mod:`~.forced_loop`). The same class, in a file of its own, shows the finding without kcache.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from kcache_model.finding import ENDLESS, FindingKind

from .. import interpreter
from ..runtime.tasks.sources import OTHER, Arrival
from ..target.confirmation import Answer, Confirmation
from .forced_loop import ForcedLoop
from .texts import WAITS_FOR_EVER, is_same_failure

_KINDS: Final = (FindingKind.FAILURE, FindingKind.EXCEPTION, FindingKind.DEADLOCK)
_CLOCKS: Final = ("monotonic", "time", "perf_counter")

Orders = Sequence[Mapping[int, Sequence[tuple[str, int]]]]
"""For each loop: iteration -> what arrives before it, with its number."""


def orders_of(arrivals: Sequence[Arrival] | None) -> Orders | None:
    """Return the arrivals for each loop; ``None`` if some cannot be forced upon a loop of asyncio."""
    if arrivals is None or any(arrival.what == OTHER for arrival in arrivals):
        return None
    orders: list[dict[int, list[tuple[str, int]]]] = []
    for arrival in arrivals:
        orders += ({} for _ in range(arrival.loop + 1 - len(orders)))
        orders[arrival.loop].setdefault(arrival.iteration, []).append((arrival.what, arrival.number))
    return orders


def confirm_on_loops(
    body: Callable[[], object], orders: Orders | None, kind: FindingKind, summary: str
) -> Confirmation:
    """Run a test once in loops of asyncio, with the arrivals of its failing execution.

    If the test passes there, nothing is known: it may depend on the real time, or on state of the process.

    Args:
        body: calls the test; it uses the installed modules, not private copies.
        orders: the arrivals.
        kind: kind of the failure.
        summary: summary of the failure.
    """
    if orders is None or kind not in _KINDS:
        return Confirmation(Answer.NOT_TRIED)
    try:
        with _forced(orders):
            body()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # such as the exception of pytest.fail
        is_standstill = isinstance(error, AssertionError) and str(error).startswith(WAITS_FOR_EVER)
        if is_standstill if kind in ENDLESS else is_same_failure(error, summary) and not is_standstill:
            where = "in asyncio's own loop, with the same arrivals in the same order"
            return Confirmation(
                Answer.CONFIRMED, f"confirmed on {interpreter.name()}: the unchanged test fails {where}"
            )
    return Confirmation(Answer.NOT_TRIED, "asyncio's own loop did not fail in this order")


@contextlib.contextmanager
def _forced(orders: Orders) -> Iterator[None]:
    """Context in which new loops follow the orders, and the time is that of the last loop."""
    loops: list[_SilentLoop] = []

    def new_event_loop(*_: object) -> _SilentLoop:
        loops.append(_SilentLoop())
        return loops[-1]

    def clock() -> float:
        return loops[-1].now if loops else 0.0

    replaced: list[tuple[Any, str, Any]] = [(time, name, clock) for name in _CLOCKS]
    policy = asyncio.events.__dict__.get("_BaseDefaultEventLoopPolicy") or asyncio.events.BaseDefaultEventLoopPolicy
    replaced += [(owner, "new_event_loop", new_event_loop) for owner in (asyncio, asyncio.events, policy)]
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in replaced]
    ForcedLoop.ORDERS = [{number: list(some) for number, some in order.items()} for order in orders]
    try:
        for owner, name, value in replaced:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
        for loop in loops:
            loop.is_over = True
            for task in asyncio.all_tasks(loop):
                with contextlib.suppress(BaseException):  # its code may refuse to end
                    task.get_coro().close()


class _SilentLoop(ForcedLoop):
    """Loop that prints nothing about tasks whose errors no code reads, and runs no code of finalizers after the test.

    A ``TestCase`` that has failed shuts its loop down when it dies, which may be at any moment.
    """

    is_over = False

    def __del__(self) -> None:
        self.is_over = True
        self.close()

    def run_until_complete(self, future: Any) -> Any:
        """Run until a future is done; not at all after the test."""
        if not self.is_over:
            return super().run_until_complete(future)
        getattr(future, "close", lambda: None)()
        return None

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Do nothing."""
