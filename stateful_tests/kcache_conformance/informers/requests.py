"""Requests of clients to a server."""

from __future__ import annotations

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
