"""Helpers for the scripts of findings: a handler that prints its calls, and a function that prints objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from .observer import DirectedHandler


class PrintingHandler(DirectedHandler):
    """Handler that prints its calls.

    Args:
        name: its name in the output.
        write: called with each line.
    """

    def __init__(self, name: str = "handler", write: Callable[[str], object] = print) -> None:
        super().__init__(name)
        self._write = write

    def on_add(self, obj: Any, is_in_initial_list: bool = False) -> None:
        """Print an addition."""
        self._tell(f"add {_text(obj)}{' (initial list)' if is_in_initial_list else ''}")

    def on_update(self, old: Any, new: Any) -> None:  # noqa: ARG002
        """Print an update."""
        self._tell(f"update {_text(new)}")

    def on_delete(self, obj: Any) -> None:
        """Print a deletion."""
        self._tell(f"delete {f'tombstone of {_text(obj.obj)}' if hasattr(obj, 'key') else _text(obj)}")

    def _tell(self, what: str) -> None:
        self._write(f"{self.name}: {what}")
        self._end_call(RuntimeError, "as the program says")


def print_content(who: str, objs: Iterable[Any], write: Callable[[str], object] = print) -> None:
    """Print the keys and resource versions of objects, after the name of their owner."""
    write(f"{who} has: {', '.join(sorted(map(_text, objs))) or 'nothing'}")


def settle(seconds: float = 3.0) -> None:
    """Wait long enough for a few attempts of the informer."""
    time.sleep(seconds)


def _text(obj: Any) -> str:
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{metadata['name']} (version {metadata['resourceVersion']})"
