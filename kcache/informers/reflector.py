"""Reflector: it lists and watches objects, and so keeps a store up to date (client-go ``reflector.go``)."""

from __future__ import annotations

import logging
import random as random_module
from collections.abc import Callable
from typing import Final, TypeAlias

from ..queues.interfaces import ReflectorStore
from .api_errors import is_expired, is_internal_error, is_too_large_resource_version, is_worth_watching_again
from .backoff import ExponentialBackoff
from .clock import Clock, RealClock
from .list_watch import ListerWatcher, ListOptions, Watch
from .pager import DEFAULT_PAGE_SIZE, ListPager, PagedList
from .reflector_errors import ListError, SyncError, WatchError
from .resyncing import periodic_resync
from .retry_with_deadline import RetryWithDeadline
from .stopping import StopSignal
from .watching import WatchHandler

_logger = logging.getLogger("kcache.informers")

MIN_WATCH_SECONDS: Final = 300
"""The minimum timeout that is requested for a watch; the maximum is twice as long (``defaultMinWatchTimeout``)."""

_INTERNAL_ERROR_RESET_SECONDS: Final = 60.0

WatchErrorHandler: TypeAlias = "Callable[[Reflector, Exception], object]"
"""A function that is called for each failed attempt, before the back-off (client-go ``WatchErrorHandler``)."""


def default_watch_error_handler(reflector: Reflector, error: Exception) -> None:  # noqa: ARG001
    """Log the error: at level info if a resource version has expired, which is no fault, else as a warning."""
    cause = getattr(error, "cause", error)
    if is_expired(cause):
        _logger.info("%s", error)
    elif isinstance(cause, EOFError):
        _logger.debug("%s", error)
    else:
        _logger.warning("%s", error)


class Reflector:
    """Lists and watches objects of one type, and writes them to a store (client-go ``Reflector``).

    A watch that ends is resumed where it ended. After an error the objects are listed again, unless the server was
    only absent or too busy. Between attempts there is an exponential back-off. Only ``stop`` ends :meth:`run`; errors
    of the server or of the functions below do not.

    Args:
        lister_watcher: sends requests to the server.
        store: is written to, by the thread of :meth:`run`.
        expected_type: watch events with objects of other types are dropped; ``None`` accepts all.
        type_description: the name of the objects in errors; by default the name of ``expected_type``.
        resync_seconds: the period of ``store.resync()``, called by another thread; 0 for never.
        should_resync: is called before each resync, and decides whether it happens; ``None`` for always.
        watch_error_handler: is called for each failed attempt; :func:`default_watch_error_handler` if ``None``.
        clock: the source of the time, and of waits.
        random: the source of jitter and watch timeouts.
        page_size: the maximum number of objects of a page of the first list.
        max_internal_error_retry_seconds: the time for which internal errors of the server make the reflector watch
            again rather than list (client-go ``MaxInternalErrorRetryDuration``); 0 for not at all.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher,
        store: ReflectorStore,
        *,
        expected_type: type | None = None,
        type_description: str = "",
        resync_seconds: float = 0,
        should_resync: Callable[[], bool] | None = None,
        watch_error_handler: WatchErrorHandler | None = None,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
        page_size: int = DEFAULT_PAGE_SIZE,
        max_internal_error_retry_seconds: float = 30.0,
    ) -> None:
        self.type_description = type_description or (
            "<unspecified>" if expected_type is None else expected_type.__name__
        )
        self._lister_watcher = lister_watcher
        self._store = store
        self._resync_seconds = resync_seconds
        self._should_resync = should_resync
        self._watch_error_handler = watch_error_handler or default_watch_error_handler
        self._clock = clock or RealClock()
        self._random = random or random_module.Random()
        self._page_size = page_size
        self._max_internal_error_retry_seconds = max_internal_error_retry_seconds
        self._backoff = ExponentialBackoff(clock=self._clock, random=self._random)
        self._handler = WatchHandler(
            store, expected_type, self.type_description, self._set_last_sync_resource_version, self._clock
        )
        self._last_sync_resource_version = ""
        self._is_last_sync_resource_version_unavailable = False
        self._is_paginated = False

    def last_sync_resource_version(self) -> str:
        """Return the resource version that the store has reached; ``""`` before the first list."""
        return self._last_sync_resource_version

    def run(self, stop: StopSignal) -> None:
        """List and watch repeatedly until ``stop`` is set.

        Errors are passed to the watch error handler; errors of the handler are logged.
        """
        while not stop.is_set():
            try:
                self.list_and_watch(stop)
            except Exception as error:
                self._tell(error)
            self._backoff.wait(stop)

    def list_and_watch(self, stop: StopSignal) -> None:
        """List once, and watch for as long as watches can be resumed (client-go ``ListAndWatch``).

        Returns only if ``stop`` is set.

        Raises:
            ListError: the list has failed.
            SyncError: the store rejected the list.
            WatchError: a watch has failed, and a new list is necessary.
        """
        if self._list(stop):
            with periodic_resync(self._store.resync, self._resync_seconds, self._should_resync, self._clock, stop):
                self._watch(stop)

    def _list(self, stop: StopSignal) -> bool:
        """List the objects, and write them to the store; return false if ``stop`` was set before."""
        resource_version = self._relist_resource_version()
        try:
            listed = self._list_pages(resource_version, stop)
        except Exception as error:
            if stop.is_set():  # which may be why it failed
                return False
            raise ListError(self.type_description, error) from error
        if listed is None or stop.is_set():
            return False
        if resource_version == "0" and listed.is_paginated:
            self._is_paginated = True
        self._is_last_sync_resource_version_unavailable = False
        try:
            self._store.replace(listed.items, listed.resource_version)
        except Exception as error:
            raise SyncError(self.type_description, error) from error
        self._set_last_sync_resource_version(listed.resource_version)
        return True

    def _list_pages(self, resource_version: str, stop: StopSignal) -> PagedList | None:
        # With a limit, a server reads such a list from its database rather than from its cache. A cache can answer the
        # first list (version "0") without pages, so a server that answered it in pages has no cache.
        is_from_cache = resource_version not in ("", "0") and not self._is_paginated
        pager = ListPager(self._lister_watcher.list, 0 if is_from_cache else self._page_size)
        try:
            return pager.list(ListOptions(resource_version=resource_version), stop)
        except Exception as error:
            if not (is_expired(error) or is_too_large_resource_version(error)):
                raise
            _logger.info("list of %s at %r: %s; listing the newest", self.type_description, resource_version, error)
            self._is_last_sync_resource_version_unavailable = True
            return pager.list(ListOptions(resource_version=self._relist_resource_version()), stop)

    def _relist_resource_version(self) -> str:
        if self._is_last_sync_resource_version_unavailable:
            return ""
        return self._last_sync_resource_version or "0"

    def _watch(self, stop: StopSignal) -> None:
        """Watch repeatedly, until ``stop`` is set or an error makes a new list necessary."""
        internal_errors = RetryWithDeadline(
            self._max_internal_error_retry_seconds, _INTERNAL_ERROR_RESET_SECONDS, self._clock
        )
        while not stop.is_set():
            try:
                self._watch_once(stop)
            except Exception as error:
                if stop.is_set():  # which may be why it failed
                    return
                if not (
                    is_worth_watching_again(error) or (is_internal_error(error) and internal_errors.should_retry())
                ):
                    raise WatchError(self.type_description, error) from error
                _logger.info("watch of %s: %s; backing off", self.type_description, error)
                self._backoff.wait(stop)

    def _watch_once(self, stop: StopSignal) -> None:
        opened_at = self._clock.now()
        options = ListOptions(
            resource_version=self._last_sync_resource_version,
            allow_watch_bookmarks=True,
            # Random, so that the watches of many clients do not end at the same time.
            timeout_seconds=int(MIN_WATCH_SECONDS * (1.0 + self._random.random())),
        )
        watch = self._lister_watcher.watch(options)
        revoke = stop.call_on_stop(lambda: self._stop_watch(watch))
        try:
            self._handler.handle(watch, opened_at, stop)
        finally:
            revoke()
            self._stop_watch(watch)

    def _stop_watch(self, watch: Watch) -> None:
        try:
            watch.stop()
        except Exception:
            _logger.exception("watch of %s could not be stopped", self.type_description)

    def _tell(self, error: Exception) -> None:
        try:
            self._watch_error_handler(self, error)
        except Exception:
            _logger.exception("the watch error handler failed for: %s", error)

    def _set_last_sync_resource_version(self, resource_version: str) -> None:
        self._last_sync_resource_version = resource_version
