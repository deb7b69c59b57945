"""Threads of a test body: real threads, or virtual threads while the explorer runs the body."""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any, NoReturn, Protocol

from kcache_model.outcomes import error_text

from .texts import short

Work = Callable[[], Any]
"""The work of one thread."""


@dataclass(frozen=True)
class Ended:
    """Result of one function.

    Attributes:
        value: return value; ``None`` if the function raised an exception.
        raised: name of the type of the exception; empty if the function returned.
        error: the exception; ``None`` if the function returned.
    """

    value: object = None
    raised: str = ""
    error: BaseException | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return short(self.value) if self.error is None else f"raised {error_text(self.error)}"


def attempt(work: Work) -> Ended:
    """Call a function and return its result; an ``Exception`` is a result, too."""
    try:
        return Ended(work())
    except Exception as error:
        return Ended(raised=type(error).__name__, error=error)


def run_on_loop(result: Any) -> Any:
    """Return the result of a call; if it is a coroutine, run it in a new event loop and return its result."""
    if not inspect.iscoroutine(result):
        return result
    import asyncio  # most tests do not need it

    return asyncio.run(result)


def attempting(work: Work) -> Callable[[], Ended]:
    """Return a function that calls ``work`` and returns its result; it raises no ``Exception``."""
    return lambda: attempt(work)


@dataclass(frozen=True)
class ParallelRequest:
    """Arguments of one call of :func:`run`.

    Attributes:
        works: one function per thread.
        caller: frame of the test body.
        is_serializable: whether the results must be possible if the functions are called one at a time, in some order.
        state: reads the state after all threads have ended, for the comparison; ``None`` compares results only.
    """

    works: Sequence[Work]
    caller: FrameType
    is_serializable: bool = False
    state: Callable[[], Any] | None = None

    def results(self, ends: Sequence[Ended]) -> list[Any]:
        """Return the return value of :func:`run`: for each function its value, or its exception.

        Raises:
            BaseException: a function raised it, and the results are not compared.
        """
        error = next((end.error for end in ends if end.error is not None), None)
        if error is not None and not self.is_serializable:
            raise error
        return [end.value if end.error is None else end.error for end in ends]


class Control(Protocol):
    """Controller of the threads of a test body, such as the explorer."""

    def together(self, request: ParallelRequest) -> list[Any]:
        """Run the threads of a call of :func:`run` and return their results."""
        ...

    def unseen(self, what: str, item: object, name: str, frame: FrameType) -> None:
        """Report that a fixture is about to read or change state without events, while another thread may run."""
        ...

    def refuse(self, why: str, frame: FrameType) -> NoReturn:
        """Refuse the test: it uses something that only pytest can provide."""
        ...

    @property
    def threading(self) -> ModuleType:
        """The ``threading`` module for the body."""
        ...

    @property
    def time(self) -> ModuleType:
        """The ``time`` module for the body."""
        ...


class Unwatched:
    """Base class for controllers of real threads: fixtures need no reports, but uses that only pytest supports fail."""

    def unseen(self, what: str, item: object, name: str, frame: FrameType) -> None:
        """Do nothing: with real threads, fixtures may do anything."""

    def refuse(self, why: str, frame: FrameType) -> NoReturn:
        """Raise ``AttributeError``: the test uses something that only pytest can provide."""
        raise AttributeError(f"{frame.f_code.co_name} {why}")


class RealThreads(Unwatched):
    """Controller that runs bodies with real threads, also bodies that a decorator would explore otherwise."""

    threading = threading
    time = time

    def together(self, request: ParallelRequest) -> list[Any]:
        """Run the threads of a call of :func:`run` and return their results."""
        return in_threads(threading, request)


_control: Control | None = None
"""Controller of the running body; ``None`` if real threads run it without a controller."""


@contextlib.contextmanager
def controlled(control: Control) -> Iterator[None]:
    """Context in which ``control`` controls the threads of test bodies."""
    global _control
    before, _control = _control, control
    try:
        yield
    finally:
        _control = before


def is_controlled() -> bool:
    """Whether a controller, such as the explorer, runs the body of the caller."""
    return _control is not None


def unseen(what: str, item: object = None, name: str = "") -> None:
    """Report to the controller that a fixture is about to read or change state without events.

    Args:
        what: description of the step.
        item: object with the attribute that the fixture changes; ``None`` if it changes no attribute.
        name: name of the attribute.
    """
    if _control is not None:
        _control.unseen(what, item, name, sys._getframe(2))


def refuse(why: str) -> NoReturn:
    """Refuse to explore the test: it uses something that only pytest can provide.

    Args:
        why: the reason; the message has it after the place of the use.
    """
    (_control or RealThreads()).refuse(why, sys._getframe(2))


def run(*works: Work, serializable: bool = False, state: Callable[[], Any] | None = None) -> list[Any]:
    """Run functions at the same time, each in its own thread, and wait until all threads have ended.

    Under the explorer, the interleavings of these threads are explored. Otherwise the threads are real threads.

    Args:
        works: functions without parameters, such as lambdas.
        serializable: under the explorer, the test fails if the results are impossible when the functions are called one
            at a time, in any order. Then the test needs no assertion.
        state: with ``serializable``, a function that reads the final state, which is compared like the results.

    Returns:
        The return values of the functions, in the order of the arguments.

    Raises:
        Exception: the first exception of a function, in the order of the arguments. With ``serializable``, exceptions
            are results and are returned instead.
        TypeError: an argument is not callable, there are no functions, or there is ``state`` without ``serializable``.
    """
    if not works or not all(map(callable, works)):
        wrong = next((work for work in works if not callable(work)), None)
        raise TypeError(
            f"run() takes functions, one for each thread, not {wrong!r}; write run(lambda: ..., lambda: ...)"
        )
    if state is not None and not serializable:
        raise TypeError("state= needs serializable=True")
    request = ParallelRequest(works, sys._getframe(1), serializable, state)
    if _control is not None:
        return _control.together(request)
    return in_threads(threading, request)


def io(value: object = None) -> Awaitable[Any]:
    """Return an awaitable that stands for input or output: under the explorer, it is completed at any moment.

    Otherwise it is completed in the next iteration of the event loop.

    Args:
        value: the result of the awaitable.

    Raises:
        RuntimeError: no event loop is running.
    """
    import asyncio

    loop: Any = asyncio.get_running_loop()
    complete = getattr(loop, "complete", None)
    if complete is not None:
        completed: Awaitable[Any] = complete(value)
        return completed
    future = loop.create_future()
    loop.call_soon(lambda: future.done() or future.set_result(value))
    return future  # type: ignore[no-any-return]


def in_threads(own: Any, request: ParallelRequest) -> list[Any]:
    """Run functions in threads of the module ``own`` and return their results; see :meth:`ParallelRequest.results`."""
    ends = [Ended()] * len(request.works)

    def call(number: int, work: Work) -> None:
        try:
            ends[number] = attempt(work)
        except BaseException as error:  # such as the exception of pytest.fail
            ends[number] = Ended(raised=type(error).__name__, error=error)
            if own is not threading:
                raise  # the explorer unwinds its threads by such exceptions

    threads = [own.Thread(target=call, args=entry, daemon=True) for entry in enumerate(request.works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return request.results(ends)


def clock() -> float:
    """Return a monotonic time in seconds: ``time.monotonic()``, or the virtual time in a test under the explorer."""
    now: float = (time if _control is None else _control.time).monotonic()
    return now
