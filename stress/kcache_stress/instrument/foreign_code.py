"""Foreign code: the protocol by which instrumented code reports code that is not instrumented."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType, FunctionType
from typing import Protocol


class ForeignCode(Protocol):
    """Monitor that knows which code is instrumented, and records the possible effects of all other code."""

    def is_own(self, function: FunctionType) -> bool:
        """Whether a function is instrumented."""
        ...

    def is_known(self, function: FunctionType) -> bool:
        """Whether a function that is not instrumented has no effect that the explorer must know."""
        ...

    def is_shared(self, generator: object) -> bool:
        """Whether a thread other than the running one has also resumed a generator in this execution."""
        ...

    def has_fixed_fields(self, item: object) -> bool:
        """Whether an object is of a dataclass whose fields are never stored again after construction."""
        ...

    def enter_c(self, frame: FrameType, what: str, module: str, reach: Sequence[object]) -> None:
        """Record that a function in C of a module runs, of which nothing is known."""
        ...

    def where(self, frame: FrameType | None) -> str:
        """Return ``FILE:LINE`` of the innermost instrumented frame."""
        ...

    def note(self, what: str) -> None:
        """Record that unknown code is about to run; its frames will be observed one by one."""
        ...

    def doubt(self, what: str, *, lasts: bool = False, is_seen: bool = False) -> None:
        """Record why the execution proves nothing.

        Args:
            what: the reason.
            lasts: whether later executions prove nothing either.
            is_seen: whether an observer sees all accesses that this is about: they are accesses of opcodes.
        """
        ...

    def rebinds(self, name: str) -> None:
        """Record that a name of a class or a module is about to be bound."""
        ...

    def enter(self, frame: FrameType | None, what: str, reach: Sequence[object], *, is_contained: bool = False) -> None:
        """Record that unknown code is about to run.

        Args:
            frame: the frame of the unknown code, or of its caller.
            what: the unknown code, as text.
            reach: the objects from which the code can reach others.
            is_contained: whether the code touches nothing else.
        """
        ...
