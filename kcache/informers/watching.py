"""Writer of the events of a watch to a store (client-go ``handleWatch``)."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Generator
from typing import Any, Final

from ..errors import KcacheError, NoMetadataError
from ..metadata import metadata_of, resource_version_of
from ..queues.interfaces import BookmarkReceiver, ReflectorStore
from .api_errors import error_from_status
from .clock import Clock
from .list_watch import ADDED, BOOKMARK, DELETED, ERROR, MODIFIED, Watch, WatchEvent
from .reflector_errors import VeryShortWatchError
from .stopping import StopSignal

_logger = logging.getLogger("kcache.informers")

VERY_SHORT_SECONDS: Final = 1.0
"""A watch that ends sooner than this without an event says that the server cannot watch from there."""


_TURN_EVENTS: Final = 32
_TURN_SECONDS: Final = 50e-6
"""Events after which other threads may go on, and for how long. Where one thread runs at a time, this one would keep on
for 5 ms, and what piles up meanwhile has left the processor's caches when the others get to it, and has become so much
that Python looks for garbage in it. The others need about as long as this for so many events."""


class WatchHandler:
    """Writes what watches show.

    An event that cannot be written is logged and dropped: a watch says everything once, so there is nothing to repeat.

    Args:
        store: is written to.
        expected_type: events with objects of other types are dropped; ``None`` takes all.
        type_description: what log lines call the objects.
        set_resource_version: gets the resource version of each event, after it was written.
        clock: tells the time.
    """

    def __init__(
        self,
        store: ReflectorStore,
        expected_type: type | None,
        type_description: str,
        set_resource_version: Callable[[str], object],
        clock: Clock,
    ) -> None:
        self._expected_type = expected_type
        self._type_description = type_description
        self._set_resource_version = set_resource_version
        self._clock = clock
        self._writes: dict[str, Callable[[Any], object]] = {
            ADDED: store.add,
            MODIFIED: store.update,
            DELETED: store.delete,
        }
        self._bookmark = store.bookmark if isinstance(store, BookmarkReceiver) else None

    def handle(self, watch: Watch, opened_at: float, stop: StopSignal) -> None:
        """Write the events until the watch ends or ``stop`` is set; a cut connection is an end, too.

        Args:
            watch: has just been opened.
            opened_at: the time when it was asked for: a server may send its answer with the first event only.
            stop: nothing is written once it is set.

        Raises:
            ApiError: an event said so.
            VeryShortWatchError: there was no event, and no time for one.
            Exception: whatever the watch raises; whatever the store raises, unless a :class:`~kcache.KcacheError`.
        """
        if stop.is_set():
            return
        count = 0
        # Closed at once, and not only when the last error that shows its frame has gone: it may hold a connection.
        with contextlib.closing(self._until_closed(watch)) as events:
            for number, event in enumerate(events, 1):
                if number % _TURN_EVENTS == 0:
                    time.sleep(_TURN_SECONDS)
                if stop.is_set():
                    return
                count += self._handle_event(event)
                if stop.is_set():
                    return  # rather than wait for the next event
        if count == 0 and self._clock.now() - opened_at < VERY_SHORT_SECONDS:
            raise VeryShortWatchError
        _logger.debug("watch of %s closed, %d events", self._type_description, count)

    def _until_closed(self, watch: Watch) -> Generator[WatchEvent, None, None]:
        try:
            yield from watch
        except (EOFError, ConnectionResetError) as error:
            _logger.info("watch of %s closed unexpectedly: %r", self._type_description, error)

    def _handle_event(self, event: WatchEvent) -> bool:
        """Whether the event counts: it was understood, even if the store did not take it."""
        if event.type == ERROR:
            raise error_from_status(event.object)
        # A bookmark has no object of the watched type, only metadata.
        if event.type != BOOKMARK and not self._is_expected(event.object):
            return False
        try:
            resource_version = resource_version_of(metadata_of(event.object))
        except NoMetadataError as error:
            _logger.error("unable to understand watch event %.300r: %s", event, error)
            return False
        try:
            if event.type in self._writes:
                self._writes[event.type](event.object)
            elif event.type != BOOKMARK:
                _logger.error("unable to understand watch event %.300r", event)
                return False
            elif self._bookmark is not None:
                self._bookmark(resource_version)
        except KcacheError as error:
            _logger.error("unable to write watch event %.300r to the store: %s", event, error)
        # Without one, the last known resource version still says where to go on.
        if resource_version != "":
            self._set_resource_version(resource_version)
        return True

    def _is_expected(self, obj: object) -> bool:
        if self._expected_type is None or isinstance(obj, self._expected_type):
            return True
        _logger.error(
            "expected type %s, but watch event object had type %s", self._expected_type.__name__, type(obj).__name__
        )
        return False
