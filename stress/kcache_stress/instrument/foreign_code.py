"""Foreign code: what instrumented code reports of code that is not instrumented."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType, FunctionType
from typing import Protocol


class ForeignCode(Protocol):
    """Knows which code is instrumented, and records what the rest may do."""

    def is_own(self, function: FunctionType) -> bool:
        """Whether a function is instrumented."""
        ...

    def is_known(self, function: FunctionType) -> bool:
        """Whether a function that is not instrumented does nothing that matters."""
        ...

    def is_shared(self, generator: object) -> bool:
        """Whether another thread than the running one has resumed a generator, too, in this execution."""
        ...

    def has_fixed_fields(self, item: object) -> bool:
        """Whether an object is of a dataclass whose fields nothing stores once they are there."""
        ...

    def where(self, frame: FrameType | None) -> str:
        """``FILE:LINE`` of the innermost instrumented frame."""
        ...

    def note(self, what: str) -> None:
        """Record that unknown code is about to run, which will be seen frame by frame."""
        ...

    def doubt(self, what: str, *, lasts: bool = False) -> None:
        """Record why the execution proves nothing, or why no later one does, if that lasts."""
        ...

    def rebinds(self, name: str) -> None:
        """Record that a name of a class or a module is about to be bound."""
        ...

    def enter(self, frame: FrameType | None, what: str, reach: Iterable[object], *, is_contained: bool = False) -> None:
        """Record that something unknown is about to run, which can get hold of ``reach``."""
        ...
