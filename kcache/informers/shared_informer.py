"""One cache that follows an API server, and any number of handlers (client-go ``sharedIndexInformer``)."""

from __future__ import annotations

import logging
import random as random_module
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from ..errors import InformerStartedError, InformerStoppedError
from ..interfaces import Indexer, Indexers, KeyFunc, Transformer
from ..keys import meta_namespace_key_func
from .applying import Applier
from .clock import Clock, RealClock
from .controller import Config, Controller
from .handlers import ResourceEventHandler
from .informer_queues import QueueFactory, in_order_queue, refusing
from .list_watch import ListerWatcher
from .listener import ProcessorListener
from .mutation_detector import MutationDetector, detecting, is_detection_wanted
from .notifications import AddNotification, DeleteNotification, Notification, UpdateNotification
from .processor import SharedProcessor, resync_period
from .reflector import WatchErrorHandler
from .registration import Registration
from .simple_informer import new_informer_indexer
from .stopping import StopSignal
from .synced import wait_for_cache_sync

MINIMUM_RESYNC_SECONDS: Final = 1.0

_LOG = logging.getLogger("kcache.informers")

D = TypeVar("D")


class SharedIndexInformer:
    """Keeps an indexed cache equal to the state of an API server, and calls handlers for each change.

    The cache is changed first, then the handlers are called. Each handler has its own thread and its own unbounded
    buffer: a slow handler delays no other, and errors of a handler are logged. For each object, a handler receives an
    addition, then updates, then a deletion; states in between may be skipped. If a deletion was not seen by the watch,
    handlers receive a :class:`~kcache.DeletedFinalStateUnknown`. Objects are shared: do not change them.

    An informer is started once: with ``with informer:``, with :meth:`start` and :meth:`stop`, or with :meth:`run`. If
    an index function, the key function or the mutation detector raises, the informer ends, because its cache is no
    longer reliable: :meth:`run`, :meth:`stop` and the ``with`` block raise that error.

    Args:
        lister_watcher: the source of the objects.
        indexers: index name -> index function.
        expected_type: objects of other types are dropped; ``None`` accepts all.
        resync_seconds: the resync period of handlers that request no period of their own; 0 means no resyncs, even if
            handlers request them.
        key_func: object -> key.
        description: the name of the objects in errors and thread names.
        clock: the source of the time, and of waits.
        new_queue: creates the queue between the reflector and the cache.
        mutation_detector: detects objects that are changed in place; by default, each informer has one if the
            environment variable ``KCACHE_MUTATION_DETECTOR`` is ``true``.
        random: the source of jitter.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher,
        indexers: Indexers[Any] | None = None,
        *,
        expected_type: type | None = None,
        resync_seconds: float = 0,
        key_func: KeyFunc[Any] = meta_namespace_key_func,
        description: str = "",
        clock: Clock | None = None,
        new_queue: QueueFactory = in_order_queue,
        mutation_detector: MutationDetector | None = None,
        random: random_module.Random | None = None,
    ) -> None:
        self._lister_watcher = lister_watcher
        self._expected_type = expected_type
        self._default_resync_seconds = resync_seconds
        self._resync_check_seconds = resync_seconds
        self._key_func = key_func
        self._description = description or ("objects" if expected_type is None else expected_type.__name__)
        self._clock = clock or RealClock()
        self._new_queue = new_queue
        self._random = random
        self._indexer, self._store = new_informer_indexer(key_func, indexers)
        self._processor = SharedProcessor(self._clock, self._description)
        if mutation_detector is None and is_detection_wanted():
            mutation_detector = MutationDetector(self._description, key_func, clock=self._clock)
        self._mutation_detector = mutation_detector
        self._transformer: Transformer[Any] | None = None
        self._watch_error_handler: WatchErrorHandler | None = None
        # Held while changes are applied and distributed, so its holder sees no change that handlers were not notified
        # of. Reentrant, since an index function may call the informer.
        self._changes_lock = threading.RLock()
        self._untold: list[Notification] = []  # changes that were applied but not distributed to the handlers yet
        self._state_lock = threading.Lock()
        self._controller: Controller | None = None
        self._stop = StopSignal()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._error: BaseException | None = None

    def add_event_handler(self, handler: ResourceEventHandler, resync_seconds: float | None = None) -> Registration:
        """Call ``handler`` for each change from now on; first, for each stored object as an addition.

        Args:
            handler: is called in a thread of its own.
            resync_seconds: the period of resyncs, which are updates from each object to itself; 0 for never, ``None``
                for the informer's period. The minimum is one second. If the informer's period is 0, there are no
                resyncs. After the start, the minimum is the interval at which the informer checks for resyncs.

        Raises:
            InformerStoppedError: the informer has stopped.
        """
        with self._changes_lock, self._state_lock:
            if self._stop.is_set():
                raise InformerStoppedError(f"handler {handler!r} was not added to shared informer")
            seconds = self._agreed_resync_seconds(resync_seconds)
            listener = ProcessorListener(handler, seconds, self.has_synced)
            listener.schedule_resync(resync_period(seconds, self._resync_check_seconds), self._clock.now())
            if self._controller is not None:
                self._tell()  # if an index function calls this, some changes are not distributed yet
                listener.add([AddNotification(obj, True) for obj in self._indexer.list()])
            self._processor.add_listener(listener)
            return Registration(listener)

    def remove_event_handler(self, registration: Registration) -> None:
        """Stop calling a handler, except for a call that may be running; may be called again."""
        self._processor.remove_listener(registration.listener)

    def add_indexers(self, indexers: Indexers[Any]) -> None:
        """Add index functions, before or after the start; stored objects are indexed at once.

        Raises:
            IndexerConflictError: one of the names is in use.
            IndexFuncError: a function failed for an object; no function is added.
            InformerStoppedError: the informer has stopped.
        """
        with self._changes_lock:
            if self._stop.is_set():
                raise InformerStoppedError("indexer was not added")
            self._indexer.add_indexers(indexers)

    def get_indexer(self) -> Indexer[Any]:
        """Return the cache. Do not write to it."""
        return self._indexer

    get_store = get_indexer

    def set_transform(self, transformer: Transformer[Any]) -> None:
        """Let ``transformer`` replace each object before it is stored or handled.

        If it raises for an object of a watch, the object is dropped, and the error is logged. If it raises for an
        object of a list, the list is rejected: the watch error handler is called, and the list is requested again.

        Raises:
            InformerStartedError: the informer has been started.
        """
        with self._state_lock:
            self._require_not_started()
            self._transformer = transformer

    def set_watch_error_handler(self, handler: WatchErrorHandler) -> None:
        """Call ``handler(reflector, error)`` for each failed attempt to list or watch.

        Raises:
            InformerStartedError: the informer has been started.
        """
        with self._state_lock:
            self._require_not_started()
            self._watch_error_handler = handler

    def has_synced(self) -> bool:
        """Whether the cache contains the initial list; handlers may not have been called for all of its objects."""
        controller = self._controller
        return controller is not None and controller.has_synced()

    def wait_for_cache_sync(self, seconds: float | None = None) -> bool:
        """Wait until :meth:`has_synced`; return false if the informer or the time ended before."""
        return wait_for_cache_sync(self._stop, self.has_synced, seconds=seconds, clock=self._clock)

    def last_sync_resource_version(self) -> str:
        """Return the resource version up to which the server's changes have arrived; ``""`` before the first list."""
        controller = self._controller
        return "" if controller is None else controller.last_sync_resource_version()

    def is_stopped(self) -> bool:
        """Whether the informer has ended, or is about to."""
        return self._stop.is_set()

    def run(self, stop: StopSignal) -> None:
        """Follow the server until ``stop`` is set; then wait for all threads. A second call returns at once.

        Raises:
            Exception: the error of an index function, the key function or the mutation detector.
        """
        with self._state_lock:
            is_first = self._begin()
        if not is_first:
            return
        revoke = stop.call_on_stop(self._stop.set)
        try:
            self._run()
        finally:
            revoke()

    def start(self) -> None:
        """Follow the server in a thread of its own until :meth:`stop`. A second call does nothing."""
        with self._state_lock:
            if self._begin():
                self._thread = threading.Thread(
                    target=self._run_logged, name=f"{self._description} informer", daemon=True
                )
                self._thread.start()

    def stop(self, seconds: float | None = None) -> bool:
        """Stop the informer, and wait for all threads; return whether they have ended within ``seconds``.

        Running handlers are waited for; undelivered notifications are dropped. If a handler or another function that
        the informer calls calls this, it does not wait.

        Raises:
            Exception: the error that had ended the informer, see :meth:`run`.
        """
        self._stop.set()
        with self._state_lock:
            controller, thread = self._controller, self._thread
        if controller is None:
            return True
        if not (self._processor.owns_current_thread() or controller.owns_current_thread()):
            if thread is None:
                self._ended.wait(seconds)
            else:
                thread.join(seconds)
        if self._error is not None:
            raise self._error
        return self._ended.is_set() and not (thread and thread.is_alive())

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except Exception as failed:
            if error is None:
                raise
            _LOG.error("the informer of %s had failed: %s", self._description, failed)

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        """Record a new object of the cache; called while changes are applied."""
        self._watch_for_mutation(obj)
        self._untold.append(AddNotification(obj, is_in_initial_list))

    def on_update(self, old: Any, new: Any, /) -> None:
        """Record another object under a key of the cache; called while changes are applied."""
        if new is not old:
            self._watch_for_mutation(new)
        self._untold.append(UpdateNotification(old, new))

    def on_delete(self, obj: Any, /) -> None:
        """Record the deletion of an object from the cache; called while changes are applied."""
        self._untold.append(DeleteNotification(obj))

    def _begin(self) -> bool:
        """Create the controller, unless the informer was started or stopped before; the caller holds the state lock."""
        if self._controller is not None or self._stop.is_set():
            what = "started" if self._controller is not None else "been stopped"
            _LOG.warning("the informer of %s has %s before; it runs only once", self._description, what)
            return False
        applier = Applier(self._store, self, self._key_func)
        config = Config(
            queue=self._new_queue(self._key_func, self._indexer, refusing(self._transformer)),
            lister_watcher=self._lister_watcher,
            process=self._then_telling(applier.apply),
            process_batch=self._then_telling(applier.apply_batch),
            expected_type=self._expected_type,
            description=self._description,
            resync_seconds=self._resync_check_seconds,
            should_resync=self._processor.should_resync,
            watch_error_handler=self._watch_error_handler,
            clock=self._clock,
            random=self._random,
        )
        self._controller = Controller(config)
        self._processor.start()
        return True

    def _then_telling(self, apply: Callable[[D, bool], object]) -> Callable[[D, bool], None]:
        """Return a function that calls ``apply``, then distributes all applied changes to the handlers."""

        def applied(deltas: D, is_in_initial_list: bool) -> None:
            with self._changes_lock:
                try:
                    apply(deltas, is_in_initial_list)
                finally:
                    self._tell()

        return applied

    def _tell(self) -> None:
        """Distribute the applied changes to the handlers; the caller holds the changes lock."""
        untold, self._untold = self._untold, []
        if untold:
            self._processor.distribute(untold)

    def _run(self) -> None:
        assert self._controller is not None
        try:
            with detecting(self._mutation_detector, self._fail):
                try:
                    self._controller.run(self._stop)
                except BaseException as error:
                    self._fail(error)
                finally:
                    self._stop.set()
                    # Only after the controller: while it runs, it distributes notifications.
                    self._processor.stop()
        finally:
            self._ended.set()
        if self._error is not None:
            raise self._error

    def _run_logged(self) -> None:
        try:
            self._run()
        except Exception:
            _LOG.critical("the informer of %s has ended", self._description, exc_info=True)

    def _fail(self, error: BaseException) -> None:
        """End the informer with this error, unless it has an error already."""
        if self._error is None:
            self._error = error
        self._stop.set()

    def _watch_for_mutation(self, obj: Any) -> None:
        if self._mutation_detector is not None:
            self._mutation_detector.add_object(obj)

    def _agreed_resync_seconds(self, requested: float | None) -> float:
        seconds = self._default_resync_seconds if requested is None else requested
        if not seconds:
            return 0.0
        seconds = max(seconds, MINIMUM_RESYNC_SECONDS)
        if seconds < self._resync_check_seconds:
            if self._controller is not None:
                return self._resync_check_seconds
            self._resync_check_seconds = seconds
            self._processor.reschedule(seconds)
        return seconds

    def _require_not_started(self) -> None:
        if self._controller is not None:
            raise InformerStartedError
