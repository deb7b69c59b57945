"""Histories: what was observed, as plain data."""

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
    """The number that a thread has in a recording from elsewhere, which is told as it stands there."""

    __slots__ = ()


def thread_text(thread: int) -> str:
    """How people are told of a thread: those of kcache are counted from 1."""
    return f"thread {thread if isinstance(thread, RecordedThread) else thread + 1}"


@dataclass(frozen=True, slots=True)
class Call(Generic[Op]):
    """One operation of one thread, from its invocation to its response.

    Attributes:
        thread: which thread made it; ``PREFIX_THREAD`` and ``FINAL_THREAD`` are special.
        operation: what was called.
        invoked: when it began. Any integer clock that all threads share.
        returned: when it ended; ``None`` for a pending call, which may or may not have taken effect.
        outcome: what it gave; ``None`` for a pending call.
    """

    thread: int
    operation: Op
    invoked: int
    returned: int | None
    outcome: Outcome | None

    def precedes(self, other: Call[Op]) -> bool:
        """Whether it ended before ``other`` began; at the same tick, they count as concurrent."""
        return self.returned is not None and self.returned < other.invoked
