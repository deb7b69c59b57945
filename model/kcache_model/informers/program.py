"""Programs of an informer: the steps of its server and its users, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_MOST: Final = 1000
_MOST_THREADS: Final = 4
_LONGEST_SECONDS: Final = 86_400.0


class StepName(enum.StrEnum):
    """The names of the steps. The server does most of them; from ``SETTLE`` on, steps concern the informer."""

    CREATE = "create"
    """The object of that name is created; if it exists, its spec changes."""
    UPDATE = "update"
    """Only the status of the object of that name changes, if it exists."""
    DELETE = "delete"
    """The object of that name is deleted, if it exists."""
    RECREATE = "recreate"
    """The object of that name is deleted and created again, if it exists."""
    MISS = "miss"
    """All connections break. Watches never get the changes that follow directly, because history is forgotten."""
    CUT = "cut"
    """All watches end."""
    EXPIRE = "expire"
    """All watches end with 410 Gone, and history is forgotten."""
    REPEAT = "repeat"
    """Watches get the last change a second time."""
    SWAP = "swap"
    """The object of that name changes, then the object named by the next letter; watches get them in reverse order."""
    BOOKMARK = "bookmark"
    """Watches get a bookmark with the resource version."""
    REFUSE_LISTS = "refuse_lists"
    """That many lists fail."""
    REFUSE_WATCHES = "refuse_watches"
    """That many watches fail with 429 Too Many Requests."""
    REFUSE_EXPIRED = "refuse_expired"
    """From now on, ``MISS`` and ``EXPIRE`` cut watches; new watches from forgotten versions fail with 410 Gone."""
    TOO_LARGE = "too_large"
    """The next list fails with "Too large resource version"."""
    GO_BACK = "go_back"
    """Until everything settles, lists from the server's cache show the state before that many of the last changes."""
    SETTLE = "settle"
    """Wait until nothing happens any more."""
    ADD_HANDLER = "add_handler"
    REMOVE_HANDLER = "remove_handler"
    """The handler of that number is removed."""
    BLOCK_HANDLER = "block_handler"
    """The handler of that number does not return from its next call..."""
    RELEASE_HANDLER = "release_handler"
    """... until now."""
    FAIL_HANDLER = "fail_handler"
    """The handler of that number raises in its next call."""
    ADD_INDEXERS = "add_indexers"
    """An index function of that number is added."""
    AWAIT_HANDLER_SYNC = "await_handler_sync"
    """Wait until the registration of the handler of that number says that it has synced."""
    STOP = "stop"


@dataclass(frozen=True)
class Step:
    """One step of a program.

    Attributes:
        name: the name of the step.
        argument: the name of an object, or a number.
    """

    name: StepName
    argument: str | int = 0

    def __str__(self) -> str:
        return f"{self.name}({self.argument!r})"


@dataclass(frozen=True)
class InformerProgram:
    """A program for a run of an informer.

    Attributes:
        before: the steps before the informer starts.
        threads: the concurrent steps after that, by thread. The first thread starts the informer. When all threads have
            ended, it waits until everything has settled, and stops the informer.
        handlers: the number of handlers that are added before the start.
        transforms: whether the informer has a transformer.
        resync_seconds: the informer's resync period; 0 for none.
    """

    before: tuple[Step, ...] = ()
    threads: tuple[tuple[Step, ...], ...] = ((),)
    handlers: int = 1
    transforms: bool = False
    resync_seconds: float = 0

    def __len__(self) -> int:
        return len(self.before) + sum(map(len, self.threads))

    def steps(self) -> Iterable[Step]:
        """All steps: those before the start, then thread by thread."""
        yield from self.before
        for thread in self.threads:
            yield from thread

    def encode(self) -> dict[str, Any]:
        """Return the program as JSON data."""
        return {
            "before": [[step.name.value, step.argument] for step in self.before],
            "threads": [[[step.name.value, step.argument] for step in thread] for thread in self.threads],
            "handlers": self.handlers,
            "transforms": self.transforms,
            "resync_seconds": self.resync_seconds,
        }

    @staticmethod
    def decode(data: Mapping[str, Any]) -> InformerProgram:
        """Create a program from the data that :meth:`encode` returned.

        Raises:
            ValueError: the data is not a program, or the program is too large.
        """
        try:
            program = InformerProgram(
                tuple(map(_decoded, data["before"])),
                tuple(tuple(map(_decoded, thread)) for thread in data["threads"]),
                int(data["handlers"]),
                bool(data["transforms"]),
                float(data["resync_seconds"]),
            )
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"this is not a program of an informer: {error}") from None
        numbers = [step.argument for step in program.steps() if isinstance(step.argument, int)]
        sizes = (program.handlers, len(program), *numbers)
        if not all(0 <= size <= _MOST for size in sizes) or not 0 <= program.resync_seconds <= _LONGEST_SECONDS:
            raise ValueError("this program of an informer is too large")
        if not 1 <= len(program.threads) <= _MOST_THREADS:
            raise ValueError(f"a program of an informer has 1 to {_MOST_THREADS} threads")
        return program

    def __str__(self) -> str:
        lines = [f"handlers: {self.handlers}"]
        if self.transforms:
            lines.append("with a transformer")
        if self.resync_seconds:
            lines.append(f"resync every {self.resync_seconds:g} s")
        if self.before:
            lines.append(f"before the start: {', '.join(map(str, self.before))}")
        for number, thread in enumerate(self.threads, 1):
            lines.append(f"thread {number}: {', '.join(map(str, thread)) or '(nothing)'}")
        return "\n".join(lines)


def _decoded(data: Any) -> Step:
    name, argument = data
    if not isinstance(argument, (str, int)):
        raise TypeError(f"{argument!r} cannot be the argument of a step")
    return Step(StepName(name), argument)
