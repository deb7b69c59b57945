"""One informer per type, shared by all its users (client-go ``SharedInformerFactory``)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from types import TracebackType
from typing import Any, Self, TypeAlias

from ..errors import InformerStoppedError
from ..interfaces import Indexers, Transformer
from .clock import Clock, RealClock
from .list_watch import ListerWatcher, ListOptions, ObjectList, Watch
from .shared_informer import SharedIndexInformer
from .stopping import StopSignal

NewInformerFunc: TypeAlias = Callable[[float], SharedIndexInformer]
"""A function that creates an informer from its resync period, in seconds."""

TweakListOptions: TypeAlias = Callable[[ListOptions], ListOptions]
"""A function that changes the options of requests to the server, such as the label selector."""


_LOG = logging.getLogger("kcache.informers")


class SharedInformerFactory:
    """A factory that creates, starts and stops informers, one for each type.

    As a context manager, it starts its informers at the beginning, and shuts them down at the end.

    Args:
        resync_seconds: the resync period of its informers; 0 for none.
        custom_resync_seconds: type -> its own resync period.
        tweak_list_options: is applied to all requests of the informers of :meth:`for_resource`.
        transformer: replaces each object before it is stored or handled.
        clock: the source of the time, and of waits.
    """

    def __init__(
        self,
        resync_seconds: float = 0,
        *,
        custom_resync_seconds: Mapping[Hashable, float] | None = None,
        tweak_list_options: TweakListOptions | None = None,
        transformer: Transformer[Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._resync_seconds = resync_seconds
        self._custom_resync_seconds = dict(custom_resync_seconds or {})
        self._tweak_list_options = tweak_list_options
        self._transformer = transformer
        self._clock = clock or RealClock()
        self._lock = threading.RLock()  # a function that creates an informer may request other informers
        self._informers: dict[Hashable, SharedIndexInformer] = {}
        self._started: dict[Hashable, SharedIndexInformer] = {}
        self._stop = StopSignal()

    def informer_for(self, object_type: Hashable, new_informer: NewInformerFunc) -> SharedIndexInformer:
        """Return the informer of a type; the first call creates it.

        Args:
            object_type: a class, or any name of the type.
            new_informer: creates the informer; not called if it exists.

        Raises:
            InformerStoppedError: the factory was shut down and has no informer of that type.
        """
        with self._lock:
            informer = self._informers.get(object_type)
            if informer is None:
                if self._stop.is_set():
                    raise InformerStoppedError(f"informer of {object_type!r} was not created by its factory")
                informer = new_informer(self._custom_resync_seconds.get(object_type, self._resync_seconds))
                if self._transformer is not None:
                    informer.set_transform(self._transformer)
                self._informers[object_type] = informer
            return informer

    def for_resource(
        self, object_type: Hashable, lister_watcher: ListerWatcher, indexers: Indexers[Any] | None = None
    ) -> SharedIndexInformer:
        """Return the informer of a type, as :meth:`informer_for`; the first call creates a standard informer.

        Args:
            object_type: a class, or any name of the type.
            lister_watcher: the source of its objects.
            indexers: index name -> index function.
        """
        if self._tweak_list_options is not None:
            lister_watcher = _Tweaked(lister_watcher, self._tweak_list_options)
        description = object_type.__name__ if isinstance(object_type, type) else str(object_type)
        return self.informer_for(
            object_type,
            lambda seconds: SharedIndexInformer(
                lister_watcher, indexers, resync_seconds=seconds, description=description, clock=self._clock
            ),
        )

    def start(self) -> None:
        """Start the informers that have not been started; does not block, and may be called repeatedly."""
        with self._lock:
            if self._stop.is_set():
                return
            for object_type, informer in self._informers.items():
                if object_type not in self._started:
                    informer.start()
                    self._started[object_type] = informer

    def wait_for_cache_sync(self, seconds: float | None = None) -> dict[Hashable, bool]:
        """Wait until the caches of all started informers contain their initial lists.

        Args:
            seconds: the maximum time for all together; ``None`` for no limit.

        Returns:
            Type -> whether its cache contains the list; false if the informer has ended.
        """
        with self._lock:
            started = dict(self._started)
        deadline = None if seconds is None else self._clock.now() + seconds
        return {
            object_type: informer.wait_for_cache_sync(None if deadline is None else deadline - self._clock.now())
            for object_type, informer in started.items()
        }

    def shutdown(self, seconds: float | None = None) -> bool:
        """Stop all informers for good, and wait for their threads; may be called again.

        Args:
            seconds: the maximum time for all together; ``None`` for no limit.

        Returns:
            Whether all threads have ended.

        Raises:
            ExceptionGroup: the errors that had ended informers, see :meth:`SharedIndexInformer.stop`.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        self._stop.set()
        with self._lock:
            informers = tuple(self._started.values())
        ended, errors = True, []
        for wait in (False, True):  # signal all informers before waiting for any
            for informer in informers:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                try:
                    is_over = informer.stop(left if wait else 0.0)
                    ended = ended and (is_over or not wait)
                except Exception as error:
                    if wait:
                        errors.append(error)
        if errors:
            raise ExceptionGroup("informers have failed", errors)
        return ended

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.shutdown()
        except ExceptionGroup as failed:
            if error is None:
                raise
            _LOG.error("informers had failed: %s", failed.exceptions)


class _Tweaked:
    """A lister and watcher that passes requests to another one, with changed options."""

    def __init__(self, lister_watcher: ListerWatcher, tweak: TweakListOptions) -> None:
        self._lister_watcher = lister_watcher
        self._tweak = tweak

    def list(self, options: ListOptions, /) -> ObjectList:
        return self._lister_watcher.list(self._tweak(options))

    def watch(self, options: ListOptions, /) -> Watch:
        return self._lister_watcher.watch(self._tweak(options))
