"""Result of an async callback: a coroutine that may also be dropped.

Python warns if the result of an ``async def`` function is never awaited. kcache cannot know in advance whether a class
awaits the results of its callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any


class AwaitedResult(Coroutine[Any, Any, object]):
    """A coroutine that lets other tasks run once, as ``asyncio.sleep(0)`` does, and then calls a function.

    Args:
        work: returns the result, or raises. It is only called if the coroutine is awaited, or run by a task.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._steps = _steps(work)

    def __await__(self) -> Generator[Any, Any, object]:
        """Return the steps."""
        return self._steps

    def send(self, value: Any) -> Any:
        """Go on to the next step; raise StopIteration with the result after the last one."""
        return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise an exception where the coroutine waits, such as a cancellation."""
        return self._steps.throw(*error)

    def close(self) -> None:
        """Close the coroutine: it makes no further steps."""
        self._steps.close()


def _steps(work: Callable[[], object]) -> Generator[Any, Any, object]:
    yield
    return work()
