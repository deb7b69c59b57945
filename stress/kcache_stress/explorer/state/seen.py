"""What a search by states remembers of each choice on its path."""

from __future__ import annotations

from dataclasses import dataclass

_NOT_STARTED = 0
ENDED = -1
"""The digest of a thread that has ended."""


@dataclass(frozen=True)
class Seen:
    """What a thread knows since its current call began.

    Attributes:
        calls: how many of its calls have ended.
        digest: number of the sequence of all that it has found.
        since: how long the trace was when its current call began.
        looks: at which choices the whole state may have decided what it found.
        made: objects that it has made and shared: the choice at which they were there first, their numbers there.
        is_inside: whether its current call has synchronised.
        tail: whether it has accessed something since the end of a call.
    """

    calls: int = 0
    digest: int = _NOT_STARTED
    since: int = 0
    looks: tuple[int, ...] = ()
    made: tuple[tuple[int, tuple[int, ...]], ...] = ()
    is_inside: bool = False
    tail: bool = False


@dataclass
class Node:
    """A choice on the current path.

    Attributes:
        chosen: who goes on.
        untried: who else is to be tried.
        state: number of the shared state.
        seen: what each thread knows.
        judged: what the judge makes of the calls so far.
    """

    chosen: int
    untried: list[int]
    state: int
    seen: list[Seen]
    judged: int
