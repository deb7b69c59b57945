"""Requests of clients to a server, and how it is told to refuse."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Final

from kcache.informers.list_watch import ListOptions

LIST: Final = "LIST"
WATCH: Final = "WATCH"


@dataclass(frozen=True, slots=True)
class Request:
    """A list or a watch that was asked for.

    Its text is like ``LIST rv="0" limit=500`` or ``WATCH rv="7" bookmarks``; the time-out of a watch is left out, since
    clients make it up at random.

    Attributes:
        verb: :data:`LIST` or :data:`WATCH`.
        options: as they came.
    """

    verb: str
    options: ListOptions

    def __str__(self) -> str:
        options = self.options
        parts = [
            f'{self.verb} rv="{options.resource_version}"',
            f"limit={options.limit}" if options.limit else "",
            f'continue="{options.continue_token}"' if options.continue_token else "",
            "bookmarks" if options.allow_watch_bookmarks else "",
            f'labels="{options.label_selector}"' if options.label_selector else "",
            f'fields="{options.field_selector}"' if options.field_selector else "",
        ]
        return " ".join(part for part in parts if part)


class Refusals:
    """The errors that the next requests get instead of an answer, in order."""

    def __init__(self) -> None:
        self._errors: list[Exception] = []

    def add(self, count: int, error: Exception) -> None:
        """``count`` more requests are refused."""
        self._errors += [error] * count

    def clear(self) -> None:
        """Requests are answered again."""
        self._errors.clear()

    def apply(self) -> None:
        """Raise the next error, if there is one; each time anew, since an error collects where it has been."""
        if self._errors:
            raise copy.copy(self._errors.pop(0))
