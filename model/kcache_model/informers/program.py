"""Events in and around an informer, as plain data."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_MOST: Final = 1000
_MOST_THREADS: Final = 4
_LONGEST_SECONDS: Final = 86_400.0


class StepName(enum.StrEnum):
    """What can happen. Most are done by the server; ``SETTLE`` and those behind it are done to the informer."""

    CREATE = "create"
    """The object of that name is created; if there is one, its spec changes."""
    UPDATE = "update"
    """The status of the object of that name changes, and nothing else, if there is one."""
    DELETE = "delete"
    """The object of that name is deleted, if there is one."""
    RECREATE = "recreate"
    """The object of that name is deleted and made anew, if there is one."""
    MISS = "miss"
    """All connections break, and what happens up to the next step that is no change is forgotten."""
    CUT = "cut"
    """All watches end."""
    EXPIRE = "expire"
    """All watches end with 410 Gone, and history is forgotten."""
    REPEAT = "repeat"
    """Watches are told of the last change once more."""
    SWAP = "swap"
    """The object of that name changes, then that of the next letter; watches are told the other way round."""
    BOOKMARK = "bookmark"
    """Watches are told of the resource version."""
    REFUSE_LISTS = "refuse_lists"
    """That many lists fail."""
    REFUSE_WATCHES = "refuse_watches"
    """That many watches fail with 429 Too Many Requests."""
    REFUSE_EXPIRED = "refuse_expired"
    """From now on, what forgets history cuts the watches, and one from before that is refused with 410 Gone."""
    TOO_LARGE = "too_large"
    """The next list fails with "Too large resource version"."""
    GO_BACK = "go_back"
    """Lists from the server's cache show the state of that many changes ago, until everything settles."""
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
    """One thing that happens.

    Attributes:
        name: what.
        argument: the name of an object, or a number.
    """

    name: StepName
    argument: str | int = 0

    def __str__(self) -> str:
        return f"{self.name}({self.argument!r})"


@dataclass(frozen=True)
class InformerProgram:
    """A run of an informer.

    Attributes:
        before: what happens before the informer starts.
        threads: what happens at the same time afterwards, by thread. The first thread starts the informer; when all are
            through, it waits until everything has settled, and stops the informer.
        handlers: how many handlers are there before the start.
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
        """As JSON."""
        return {
            "before": [[step.name.value, step.argument] for step in self.before],
            "threads": [[[step.name.value, step.argument] for step in thread] for thread in self.threads],
            "handlers": self.handlers,
            "transforms": self.transforms,
            "resync_seconds": self.resync_seconds,
        }

    @staticmethod
    def decode(data: Mapping[str, Any]) -> InformerProgram:
        """From what :meth:`encode` gave.

        Raises:
            ValueError: it is something else.
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
            raise ValueError(f"that is no program of an informer: {error}") from None
        numbers = [step.argument for step in program.steps() if isinstance(step.argument, int)]
        sizes = (program.handlers, len(program), *numbers)
        if not all(0 <= size <= _MOST for size in sizes) or not 0 <= program.resync_seconds <= _LONGEST_SECONDS:
            raise ValueError("that program of an informer is too large")
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
        raise TypeError(f"{argument!r} is no argument of a step")
    return Step(StepName(name), argument)
