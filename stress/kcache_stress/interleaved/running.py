"""Threads of a test body: real ones, or those of the explorer while it runs the body."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import Any, NoReturn, Protocol

from kcache_model.outcomes import error_text

from .texts import short

Work = Callable[[], Any]
"""The work of one thread."""


@dataclass(frozen=True)
class Ended:
    """What one function gave.

    Attributes:
        value: what it returned.
        raised: the type of the exception that it raised instead; empty if none.
        error: that exception.
    """

    value: object = None
    raised: str = ""
    error: BaseException | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return short(self.value) if self.error is None else f"raised {error_text(self.error)}"


def attempt(work: Work) -> Ended:
    """What a function gives, an exception included."""
    try:
        return Ended(work())
    except Exception as error:
        return Ended(raised=type(error).__name__, error=error)


def attempting(work: Work) -> Callable[[], Ended]:
    """A function that never raises: what ``work`` gives."""
    return lambda: attempt(work)


@dataclass(frozen=True)
class Together:
    """What a test body asks for with :func:`run`.

    Attributes:
        works: what the threads do.
        caller: the frame of the test body.
        is_serializable: whether what comes of them must come of some order of the works, one after another.
        state: reads what is left when all have ended; ``None`` for nothing.
    """

    works: Sequence[Work]
    caller: FrameType
    is_serializable: bool = False
    state: Callable[[], Any] | None = None

    def results(self, ends: Sequence[Ended]) -> list[Any]:
        """What :func:`run` returns.

        Raises:
            BaseException: one of the functions did, and results are not compared.
        """
        error = next((end.error for end in ends if end.error is not None), None)
        if error is not None and not self.is_serializable:
            raise error
        return [end.value if end.error is None else end.error for end in ends]


class Control(Protocol):
    """What runs test bodies under the explorer."""

    def together(self, asked: Together) -> list[Any]:
        """Run the threads that a body asks for; what each returned."""
        ...

    def unseen(self, what: str, item: object, name: str, frame: FrameType) -> None:
        """A fixture is about to do what no event tells, while another thread may run."""
        ...

    def refuse(self, why: str, frame: FrameType) -> NoReturn:
        """The test asks for what only pytest can make."""
        ...

    @property
    def threading(self) -> ModuleType:
        """The ``threading`` of the body."""
        ...

    @property
    def time(self) -> ModuleType:
        """The ``time`` of the body."""
        ...


class Unwatched:
    """What fixtures may do where threads are real ones: as they like, except for what only pytest can make."""

    def unseen(self, what: str, item: object, name: str, frame: FrameType) -> None:
        """Nothing is said against it."""

    def refuse(self, why: str, frame: FrameType) -> NoReturn:
        """The test asks for what only pytest can make."""
        raise AttributeError(f"{frame.f_code.co_name} {why}")


class RealThreads(Unwatched):
    """Runs bodies as they are, also where a decorator would have them explored."""

    threading = threading
    time = time

    def together(self, asked: Together) -> list[Any]:
        """Run the threads that a body asks for; what each returned."""
        return in_threads(threading, asked)


_control: Control | None = None
"""What runs the body that is under way; ``None`` where real threads do."""


@contextlib.contextmanager
def controlled(control: Control) -> Iterator[None]:
    """While this is entered, test bodies run under ``control``."""
    global _control
    before, _control = _control, control
    try:
        yield
    finally:
        _control = before


def is_controlled() -> bool:
    """Whether the explorer runs the body that asks."""
    return _control is not None


def unseen(what: str, item: object = None, name: str = "") -> None:
    """A fixture is about to do what no event tells.

    Args:
        what: it does.
        item: whose attribute it changes.
        name: of that attribute.
    """
    if _control is not None:
        _control.unseen(what, item, name, sys._getframe(2))


def refuse(why: str) -> NoReturn:
    """The test asks for what only pytest can make: it cannot be explored.

    Args:
        why: it cannot, after the line that asks.
    """
    (_control or RealThreads()).refuse(why, sys._getframe(2))


def run(*works: Work, serializable: bool = False, state: Callable[[], Any] | None = None) -> list[Any]:
    """Run functions at the same time, each in a thread of its own, and wait until all have ended.

    In a test under the explorer these are the threads whose interleavings it runs; elsewhere they are real ones.

    Args:
        works: functions without arguments, such as lambdas.
        serializable: under the explorer, fail where the results are not those of some order of the functions, one
            after another: no check has to be written.
        state: with ``serializable``, reads what is left afterwards, which must then be the same, too.

    Returns:
        What each function returned, in the order given.

    Raises:
        Exception: the first that escaped from a function. Where results are compared, exceptions are results, too, and
            are returned.
        TypeError: one of them is no function.
    """
    if not works or not all(map(callable, works)):
        wrong = next((work for work in works if not callable(work)), None)
        raise TypeError(
            f"run() takes functions, one for each thread, not {wrong!r}; write run(lambda: ..., lambda: ...)"
        )
    if state is not None and not serializable:
        raise TypeError("state= is compared where serializable=True says so")
    asked = Together(works, sys._getframe(1), serializable, state)
    if _control is not None:
        return _control.together(asked)
    return in_threads(threading, asked)


def in_threads(own: Any, asked: Together) -> list[Any]:
    """The functions in threads of a ``threading`` module; what each returned, or the first error raised again."""
    ends = [Ended()] * len(asked.works)

    def call(number: int, work: Work) -> None:
        try:
            ends[number] = attempt(work)
        except BaseException as error:  # such as what pytest.fail raises
            ends[number] = Ended(raised=type(error).__name__, error=error)
            if own is not threading:
                raise  # so does the explorer unwind its threads

    threads = [own.Thread(target=call, args=entry, daemon=True) for entry in enumerate(asked.works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return asked.results(ends)


def clock() -> float:
    """Seconds that only go on: ``time.monotonic``, and the virtual time in a test under the explorer."""
    now: float = (time if _control is None else _control.time).monotonic()
    return now
