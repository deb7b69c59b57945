"""Requests of clients to a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kcache.informers.list_watch import ListOptions

LIST: Final = "LIST"
WATCH: Final = "WATCH"


@dataclass(frozen=True, slots=True)
class Request:
    """Request for a list or a watch.

    Its text is like ``LIST rv="0" limit=500`` or ``WATCH rv="7" bookmarks``. The time-out of a watch is left out,
    because clients choose it at random.

    Attributes:
        verb: :data:`LIST` or :data:`WATCH`.
        options: the options of the request.
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
