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
"""If a watch ends sooner than this without an event, the server cannot watch from that resource version."""


_TURN_EVENTS: Final = 32
_TURN_SECONDS: Final = 50e-6
"""The number of events after which this thread lets others run, and for how long. With the GIL, this thread would run
for 5 ms. Its events would then have left the processor's caches when other threads read them, and would be so many that
garbage collection starts. Other threads need about this time for so many events."""


class WatchHandler:
    """Writes the events of watches to a store.

    If the store rejects an event, it is logged and dropped: a watch sends each event once, so a retry would not help.

    Args:
        store: is written to.
        expected_type: events with objects of other types are dropped; ``None`` accepts all.
        type_description: the name of the objects in log lines.
        set_resource_version: is called with the resource version of each event, after it was written.
        clock: the source of the time.
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
        """Write the events until the watch ends or ``stop`` is set; a cut connection ends a watch as well.

        Args:
            watch: a new watch.
            opened_at: the time of its request: a server may send its answer only with the first event.
            stop: once it is set, no event is written.

        Raises:
            ApiError: there was an error event.
            VeryShortWatchError: the watch ended within a second, without an event.
            Exception: any error of the watch, or of the store unless it is a :class:`~kcache.KcacheError`.
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
        """Write one event; return whether it counts: it was understood, even if the store rejected it."""
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
        # If the event has no resource version, a new watch begins at the last known resource version.
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
