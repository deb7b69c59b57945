"""Histories: the observed calls, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from .outcomes import Outcome

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Op = TypeVar("Op", default=Any)
else:
    from typing import TypeVar

    Op = TypeVar("Op")

PREFIX_THREAD = -1
"""The thread number of calls made before the threads started."""

FINAL_THREAD = -2
"""The thread number of calls made after the threads ended."""


class RecordedThread(int):
    """The number of a thread in a recording that kcache did not make; reports show the number unchanged."""

    __slots__ = ()


def thread_text(thread: int) -> str:
    """Return the name of a thread for reports. Reports count kcache's threads from 1, the data count them from 0."""
    return f"thread {thread if isinstance(thread, RecordedThread) else thread + 1}"


@dataclass(frozen=True, slots=True)
class Call(Generic[Op]):
    """One operation of one thread, from its invocation to its response.

    Attributes:
        thread: the thread of the call; ``PREFIX_THREAD`` and ``FINAL_THREAD`` are special.
        operation: the operation with its arguments.
        invoked: the time of the invocation, on any integer clock that all threads share.
        returned: the time of the response; ``None`` for a pending call, which may or may not have taken effect.
        outcome: the result or error; ``None`` for a pending call, or ``CANCELLED`` if it must have had no effect.
    """

    thread: int
    operation: Op
    invoked: int
    returned: int | None
    outcome: Outcome | None

    def precedes(self, other: Call[Op]) -> bool:
        """Whether this call ended before ``other`` began; if both times are equal, the calls count as concurrent."""
        return self.returned is not None and self.returned < other.invoked
