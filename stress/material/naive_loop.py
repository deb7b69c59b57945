"""Naive enumeration of what an event loop can do: a plan says what the environment delivers at each iteration.

It shares nothing with the explorer: a loop of its own runs on the stock ``BaseEventLoop``, outside of any sandbox, and
all plans are tried one after another. At each iteration the plan chooses: begin, deliver one of the completions, or let
the clock pass the next deadline; then it chooses again.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from kcache_model.interleaved_program import LoopContract

Body = Callable[[Callable[[], "asyncio.Future[None]"]], Coroutine[Any, Any, object]]
"""Takes a function that starts a completion; returns what came of it."""


class Standstill(Exception):
    """Nothing can go on."""


class _Selector:
    def __init__(self, choose: Callable[[int], int]) -> None:
        self.loop: _Loop
        self._choose = choose

    def select(self, timeout: float | None) -> list[asyncio.Handle]:
        del timeout
        loop, arrived = self.loop, []
        is_idle = not (loop._ready or loop._stopping)  # type: ignore[attr-defined]
        loop.turns = [handle for handle in loop.turns if not handle.cancelled()]
        is_waiting = is_idle and not loop.turns
        while True:
            loop.late = [timer for timer in loop.late if not timer.cancelled()]
            timers = [timer.when() for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
            later = [when for when in timers if when >= loop.now]
            may_begin = not is_idle or bool(arrived) or len(later) < len(timers)
            is_long = min(later, default=None) in loop.long
            may_pass = later and not (is_long and (not is_waiting or len(later) < len(timers)))
            options: list[Any] = [None] if may_begin else []
            options += [*range(len(loop.owed)), *loop.turns, *(["clock"] if may_pass else [])]
            options += [timer for timer in loop.late if is_waiting or timer.when() not in loop.long]
            if not options:
                raise Standstill
            chosen = options[self._choose(len(options))]
            if chosen is None:
                return arrived
            if isinstance(chosen, asyncio.TimerHandle):
                loop.late.remove(chosen)
                loop.now = max(loop.now, math.nextafter(chosen.when(), math.inf))
                arrived.append(chosen)
            elif isinstance(chosen, asyncio.Handle):
                loop.turns.remove(chosen)
                arrived.append(chosen)
            elif isinstance(chosen, str):
                loop.now = math.nextafter(min(later), math.inf)
            else:
                arrived.append(asyncio.Handle(_complete, (loop.owed.pop(chosen),), loop))


class _Loop(asyncio.BaseEventLoop):
    def __init__(self, selector: _Selector, longest: float, loop: LoopContract) -> None:
        super().__init__()
        self.contract = loop
        self.turns: list[asyncio.Handle] = []  # ready, in any order
        self.late: list[asyncio.TimerHandle] = []  # due in any order
        self.longest = longest
        self.long: set[float] = set()
        self._selector, selector.loop = selector, self
        self._clock_resolution = 0.0
        self.now = 0.0
        self.owed: list[asyncio.Future[None]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        # A real clock goes on: what is due now is past in the next iteration, and no two moments are the same.
        taken = [timer.when() for timer in self._scheduled]  # type: ignore[attr-defined]
        is_long = when - self.now >= self.longest
        if when <= self.now:
            when, self.now = self.now, math.nextafter(self.now, math.inf)
        while when in taken:
            when = math.nextafter(when, math.inf)
        if is_long:
            self.long.add(when)
        if self.contract is LoopContract.IDEAL:
            self.late.append(asyncio.TimerHandle(when, callback, args, self, context))
            return self.late[-1]
        return super().call_at(when, callback, *args, context=context)

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
        if self.contract is LoopContract.ASYNCIO:
            return super().call_soon(callback, *args, context=context)
        self.turns.append(asyncio.Handle(callback, args, self, context))
        return self.turns[-1]

    def _process_events(self, events: list[asyncio.Handle]) -> None:
        for handle in events:
            self._add_callback(handle)  # type: ignore[attr-defined]

    def completion(self) -> asyncio.Future[None]:
        future = self.create_future()
        self.owed.append(future)
        return future


def _complete(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def outcomes(
    body: Body, most: int, longest: float = math.inf, loop: LoopContract = LoopContract.ASYNCIO
) -> set[str] | None:
    """Return all outcomes of a body; ``None`` if there are more than ``most`` plans.

    Args:
        body: the program.
        most: number of plans.
        longest: waits of so many seconds or more end only if nothing else can go on.
        loop: the order of callbacks and timers.
    """
    found = set()
    for number, outcome in enumerate(_runs(body, longest, loop)):
        if number >= most:
            return None
        found.add(outcome)
    return found


def _runs(body: Body, longest: float, contract: LoopContract) -> Iterator[str]:
    plan: list[int] = []
    while True:
        made: list[tuple[int, int]] = []  # (choice, number of options)

        def choose(count: int, plan: list[int] = plan, made: list[tuple[int, int]] = made) -> int:
            if count == 1:
                return 0
            made.append((plan[len(made)] if len(made) < len(plan) else 0, count))
            return made[-1][0]

        yield _run(body, choose, longest, contract)
        while made and made[-1][0] == made[-1][1] - 1:
            made.pop()
        if not made:
            return
        plan = [choice for choice, _ in made]
        plan[-1] += 1


def _run(body: Body, choose: Callable[[int], int], longest: float, contract: LoopContract) -> str:
    loop = _Loop(_Selector(choose), longest, contract)
    loop.set_exception_handler(lambda *_: None)
    try:
        return repr(loop.run_until_complete(body(loop.completion)))
    except Standstill:
        return "standstill"
    except Exception as error:
        return type(error).__name__
    finally:
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            with contextlib.suppress(Exception):
                task.get_coro().close()  # type: ignore[union-attr]
        loop.close()
