"""Source of noise: the interpreter's way to report that a thread comes to a bytecode."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from pathlib import Path
from types import CodeType
from typing import Protocol

from ...stacks import is_harness

_LIBRARY = (str(Path(threading.__file__).resolve().parent), "<frozen", "<string>")


Places = list[int]
"""For each offset into the code of a function: how often it will be passed until a nap is due; 0 if never, because
nobody can notice the bytecode there."""


class Listener(Protocol):
    """Listener of a source.

    Attributes:
        with_library: whether bytecodes of the standard library count, too.
    """

    with_library: bool

    def places(self, code: CodeType) -> Places:
        """Return the places of a function that is about to run for the first time. The source counts them down."""
        ...

    def due(self, places: Places, offset: int) -> None:
        """Handle a place that was counted down to zero, and set its count again."""


class Source(Protocol):
    """Reports the bytecodes of the implementation."""

    def reach_new_threads(self) -> AbstractContextManager[None]:
        """Context in which new threads become threads that :meth:`everywhere` reaches later."""
        ...

    def everywhere(self) -> AbstractContextManager[None]:
        """Report the bytecodes of all threads that the implementation has started or starts from now on."""
        ...

    def nowhere(self) -> None:
        """Stop reporting, so that bytecodes cost as little as possible."""

    def here(self) -> AbstractContextManager[None]:
        """Context in which the bytecodes of the calling thread are reported."""
        ...

    def close(self) -> None:
        """Give the source back: nothing is reported any more."""


def is_implementation(filename: str, *, with_library: bool = False) -> bool:
    """Whether code of the file belongs to the implementation: not to the harness, not to the standard library.

    Args:
        filename: of the code.
        with_library: the standard library is a part of the implementation, too, but for what runs threads.
    """
    if filename.startswith(_LIBRARY) and "site-packages" not in filename:
        return with_library and filename.startswith(_LIBRARY[0]) and filename != threading.__file__
    return not is_harness(filename)
