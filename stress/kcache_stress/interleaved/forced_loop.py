"""asyncio's own loop, with what arrives before each iteration, and what time it is then, forced into an order.

The class is also written, without types, into tests that show a finding without kcache. So it is short, and needs
nothing but asyncio.
"""

from __future__ import annotations

import asyncio
import math
from typing import Any, ClassVar


class ForcedLoop(asyncio.SelectorEventLoop):
    """Loop of asyncio whose inputs are forced: ORDERS has, for each new loop, iteration -> what arrives before it."""

    ORDERS: ClassVar[list[dict[int, list[tuple[str, int]]]]] = []

    def __init__(self) -> None:
        super().__init__()
        self.arrivals = self.ORDERS.pop(0) if self.ORDERS else {}
        self.last = self.arrivals.pop(0, [])
        self.iteration, self.now, self._clock_resolution = 0, 0.0, 0.0
        self.tasks: list[Any] = []
        self.inputs: list[Any] = []
        setattr(self._selector, "select", self.arrive)  # type: ignore[attr-defined]  # noqa: B010

    def time(self) -> float:
        """Return the forced time."""
        return self.now

    def create_task(self, coro: Any, **named: Any) -> Any:
        """Create a task, which an arrival may cancel."""
        self.tasks.append(super().create_task(coro, **named))
        return self.tasks[-1]

    def complete(self, value: object = None) -> Any:
        """Return a future that an arrival completes; see :func:`~.running.io`."""
        self.inputs.append((self.create_future(), value))
        return self.inputs[-1][0]

    def run_until_complete(self, future: Any) -> Any:
        """Run until a future is done; if its cancellation has ended it, also until the tasks at iteration 0 are."""
        try:
            return super().run_until_complete(future)
        finally:
            others = [self.tasks[number] for _, number in self.last if number < len(self.tasks)]
            self.last = []
            if others:
                super().run_until_complete(asyncio.wait(others))

    def call_at(self, when: float, callback: Any, *args: Any, **named: Any) -> Any:  # type: ignore[override]
        """Schedule a callback. What is due now is past in the next iteration, and no two deadlines are the same."""
        if when <= self.now:
            when, self.now = self.now, math.nextafter(self.now, math.inf)
        while when in (timer.when() for timer in vars(self)["_scheduled"] if not timer.cancelled()):
            when = math.nextafter(when, math.inf)
        return super().call_at(when, callback, *args, **named)

    def arrive(self, timeout: float | None) -> list[object]:
        """Let arrive what has its place before the next iteration; later, what the loop waits for, in its order."""
        self.iteration += 1
        timers: Any = vars(self)["_scheduled"]
        deadlines = [timer.when() for timer in timers if not timer.cancelled() and timer.when() < math.inf]
        owed = [("input", number) for number, (future, _) in enumerate(self.inputs) if not future.done()]
        owed += [("time", 0) for when in deadlines if when >= self.now]
        rest = owed[:1] if timeout != 0 and not self.arrivals else []
        for what, number in self.arrivals.pop(self.iteration, rest):
            later = [when for when in deadlines if when >= self.now]
            if what == "time":
                self.now = math.nextafter(min(later, default=self.now), math.inf)
            elif number >= len(self.inputs if what == "input" else self.tasks):
                continue  # code that was changed asks for less
            elif what == "input":
                future, value = self.inputs[number]
                self.call_soon(lambda one=future, value=value: one.done() or one.set_result(value))  # type: ignore[misc]
            elif min(deadlines, default=self.now) < self.now:
                super().call_at(math.nextafter(self.now, 0), self.tasks[number].cancel)
            else:
                self.call_soon(self.tasks[number].cancel)
        is_due = any(timer.when() < self.now for timer in timers)
        assert is_due or timeout == 0 or self.arrivals or vars(self)["_ready"], "the loop waits for ever"
        return []
