"""Stands between a server and an informer, and remembers what was answered."""

from __future__ import annotations

from typing import Any

from kcache.informers.list_watch import ListOptions, ObjectList, Watch

from .fake_server import FakeServer


class Witness:
    """A ``ListerWatcher`` that remembers the first list.

    Args:
        server: answers.

    Attributes:
        first_list: what the first answered list showed, all pages; ``None`` before.
        was_watched: whether a watch was asked for, which may show all objects, too.
    """

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._pages: list[Any] = []
        self.first_list: tuple[Any, ...] | None = None
        self.was_watched = False

    def list(self, options: ListOptions, /) -> ObjectList:
        """The server's answer."""
        answer = self._server.list(options)
        if self.first_list is None:
            if not options.continue_token:
                self._pages = []
            self._pages += answer.items
            if not answer.continue_token:
                self.first_list = tuple(self._pages)
        return answer

    def watch(self, options: ListOptions, /) -> Watch:
        """The server's answer."""
        self.was_watched = True
        return self._server.watch(options)
