"""What happened, line by line, as the recordings of client-go write it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from kcache import DeletedFinalStateUnknown

from .threads import WATCHDOG_SECONDS


def shown(obj: Any) -> str:
    """``uid@resource-version``, or ``Tombstone{key uid@resource-version}``."""
    if isinstance(obj, DeletedFinalStateUnknown):
        return f"Tombstone{{{obj.key} {shown(obj.obj)}}}"
    metadata = obj["metadata"]
    return f"{metadata['uid']}@{metadata['resourceVersion']}"


def eventually(condition: Callable[[], object], seconds: float = WATCHDOG_SECONDS) -> bool:
    """Ask again and again, for what nobody tells; whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


class Journal:
    """Lines that threads write, and that a test waits for."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._written = threading.Condition()

    @property
    def lines(self) -> list[str]:
        """All lines so far."""
        with self._written:
            return self._lines[:]

    def of(self, name: str) -> list[str]:
        """The lines of one handler, without its name."""
        return [line.removeprefix(f"{name}.") for line in self.lines if line.startswith(f"{name}.")]

    def write(self, line: str) -> None:
        """Add a line."""
        with self._written:
            self._lines.append(line)
            self._written.notify_all()

    def wait_for(self, line: str, count: int = 1) -> None:
        """Wait until a line was written ``count`` times; fails if it was not."""
        self.wait_until(lambda lines: lines.count(line) >= count, line)

    def wait_until(self, condition: Callable[[list[str]], object], what: str = "the condition") -> None:
        """Wait until the lines are as they should be; fails if they never are."""
        with self._written:
            came = self._written.wait_for(lambda: condition(self._lines), WATCHDOG_SECONDS)
            assert came, f"{what} never came; the lines: {self._lines}"


class Recorder:
    """A handler that writes down what it is told.

    Args:
        journal: where.
        name: what its lines begin with.
        before: is called before each line, with the line; may block or raise.
    """

    def __init__(self, journal: Journal, name: str = "h", before: Callable[[str], object] | None = None) -> None:
        self._journal = journal
        self._name = name
        self._before = before

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        """Write ``OnAdd(object, initial=...)``."""
        self._write(f"OnAdd({shown(obj)}, initial={str(is_in_initial_list).lower()})")

    def on_update(self, old: Any, new: Any, /) -> None:
        """Write ``OnUpdate(old -> new)``."""
        self._write(f"OnUpdate({shown(old)} -> {shown(new)})")

    def on_delete(self, obj: Any, /) -> None:
        """Write ``OnDelete(object)``."""
        self._write(f"OnDelete({shown(obj)})")

    def __repr__(self) -> str:
        return f"{{{self._name}}}"

    def _write(self, line: str) -> None:
        if self._before is not None:
            self._before(line)
        self._journal.write(f"{self._name}.{line}")
