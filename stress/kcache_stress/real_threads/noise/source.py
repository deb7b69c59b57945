"""Source of noise: whatever the interpreter offers to be told of bytecodes."""

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
    """What a source tells.

    Attributes:
        with_library: whether bytecodes of the standard library count, too.
    """

    with_library: bool

    def places(self, code: CodeType) -> Places:
        """The places of a function that is about to be run for the first time. The source counts them down."""
        ...

    def due(self, places: Places, offset: int) -> None:
        """A thread has come to a place that was counted down to nothing; it is set anew."""


class Source(Protocol):
    """Tells of the bytecodes of the implementation."""

    def reach_new_threads(self) -> AbstractContextManager[None]:
        """Threads that start meanwhile will be among those that :meth:`everywhere` reaches later."""
        ...

    def everywhere(self) -> AbstractContextManager[None]:
        """Bytecodes of the threads that the implementation has started, and starts meanwhile, count."""
        ...

    def nowhere(self) -> None:
        """Bytecodes should not cost anything, as far as possible."""

    def here(self) -> AbstractContextManager[None]:
        """Bytecodes of the calling thread count meanwhile."""
        ...

    def close(self) -> None:
        """Nothing counts any more."""


def is_implementation(filename: str, *, with_library: bool = False) -> bool:
    """Whether code of the file belongs to the implementation: not to the harness, not to the standard library.

    Args:
        filename: of the code.
        with_library: the standard library is a part of the implementation, too, but for what runs threads.
    """
    if filename.startswith(_LIBRARY) and "site-packages" not in filename:
        return with_library and filename.startswith(_LIBRARY[0]) and filename != threading.__file__
    return not is_harness(filename)
