"""Cancellation as an operation: the environment may cancel the tasks of a test, each at any of its awaits.

Most bugs of async code need a cancellation at one await, often of a task that was woken and has not run yet. So it is a
choice of the search: before each iteration of the loop, before and after the timers that are due, one of the tasks that
the test itself has made may be cancelled, as a timeout or another task would do it.

What may come of it? A cancelled task may have had no effect at all. So a task is cancelled only if the test passes when
it is cancelled before it begins: otherwise the test needs the work of that task, and says nothing about cancellation.
If the test itself is cancelled, because it has awaited the task, the other tasks still have to end. It has awaited the
task if it also ends so when the task is cancelled before it begins, or if it waited for the task at that moment. A test
that is cancelled for another reason has met what the task has left behind: a shared future that was cancelled, too.

Prior art: trio's rule that a cancelled operation either has happened or has not (checkpoints); the model checker
simloom injects ``cancel()`` at awaits, too, but leaves it to the test to know what is right then.

Tasks that a package makes for itself are cancelled only if the user says so, because users cannot reach such tasks.

Open: cancellation between two callbacks of one iteration, which needs another thread or a signal.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections import Counter
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final

from .sources import Origin

NOT_TOLERATED: Final = "the test fails if this task is cancelled before it begins, so its cancellation proves nothing"


@dataclass(frozen=True, order=True)
class TaskName:
    """Name of a task that is the same in each execution.

    Attributes:
        path, line: the place that has made the task.
        work: the qualified name of its coroutine.
        number: how many tasks with the same place and work were made before.
    """

    path: str
    line: int
    work: str
    number: int


@dataclass
class Cancellations:
    """Cancellations of one execution.

    Attributes:
        most: number of cancellations in one execution.
        path: the file of the test: its own are the tasks that it makes, or whose coroutine is defined there. Empty if
            the tasks that packages make may be cancelled, too.
        tolerated: the sets of tasks without which the test passes.
        at_birth: tasks that are cancelled before they begin.
        others_end: whether other tasks have to end if a cancellation has ended the test; ``asyncio.run`` cancels them.
        cancelled: the tasks that were cancelled.
        is_awaited: whether a task that is not the test's own waited for one of them when it was cancelled.
        tasks: the tasks of the test.
    """

    most: int = 0
    path: str = ""
    tolerated: frozenset[frozenset[Hashable]] = frozenset()
    at_birth: frozenset[Hashable] = frozenset()
    others_end: bool = True
    cancelled: list[Hashable] = field(default_factory=list)
    is_awaited: bool = False
    tasks: dict[TaskName, asyncio.Task[Any]] = field(default_factory=dict)
    _numbers: Counter[tuple[str, int, str]] = field(default_factory=Counter)

    def renewed(self) -> Cancellations:
        """Return the same settings for another execution."""
        return Cancellations(self.most, self.path, self.tolerated, self.at_birth, self.others_end)

    @property
    def unfinished(self) -> list[asyncio.Task[Any]]:
        """The tasks that still have to end after a test that a cancellation has ended."""
        return [task for task in self.tasks.values() if not task.done()] if self.cancelled and self.others_end else []

    def name_of(self, task: asyncio.Task[Any], origin: Origin | None) -> TaskName | None:
        """Return the name of a new task if it may be cancelled; ``None`` for other tasks."""
        paths = [code.co_filename for code in _codes(task.get_coro())]
        if origin is None or (self.path and self.path not in (origin.path, *paths)):
            return None
        work = getattr(task.get_coro(), "__qualname__", "?")
        place = (origin.path, origin.line, work)
        name = TaskName(*place, self._numbers[place])
        self._numbers[place] += 1
        self.tasks[name] = task
        return name

    def tolerate(self, name: Hashable) -> bool:
        """Whether the test passes without the task, perhaps together with others."""
        return any(name in tasks for tasks in self.tolerated)

    def allow(self, name: Hashable) -> bool:
        """Whether the task may be cancelled now."""
        return len(self.cancelled) < self.most and frozenset((*self.cancelled, name)) in self.tolerated

    def deliver(self, name: Hashable) -> None:
        """Record that a task is cancelled."""
        self.cancelled.append(name)

    def cancel(self, task: asyncio.Task[Any], own: Collection[asyncio.Task[Any]]) -> None:
        """Cancel a task; ``own`` are the tasks of the test."""
        others = [one for one in asyncio.all_tasks(task.get_loop()) if one not in own]
        self.is_awaited = self.is_awaited or any(task in _awaited_by(other) for other in others)
        task.cancel()


def _awaited_by(waiting: object) -> Iterator[object]:
    """Yield the tasks and futures for which a task waits, also by way of other tasks."""
    while (waiting := getattr(waiting, "_fut_waiter", None)) is not None:
        yield waiting


def _codes(coroutine: object) -> list[CodeType]:
    """Return the code of a coroutine, and of the coroutines that it was given: packages wrap those of their users.

    They are arguments, or attributes of an argument: task groups of anyio store the coroutine in a handle of the task.
    """
    if not inspect.iscoroutine(coroutine):
        return []
    frame = coroutine.cr_frame
    arguments = [] if frame is None else list(frame.f_locals.values())
    wrapped = [one for value in arguments for one in (value, *gc.get_referents(value)) if inspect.iscoroutine(one)]
    return [each.cr_code for each in (coroutine, *wrapped)]
