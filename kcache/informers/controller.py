"""Controller: it moves changes from an API server through a queue to a process function (client-go ``controller``)."""

from __future__ import annotations

import functools
import random as random_module
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ..errors import FIFOClosedError, InformerStartedError
from ..queues import PopProcessFunc, ProcessBatchFunc, Queue, QueueWithBatch
from .clock import Clock, RealClock
from .list_watch import ListerWatcher
from .reflector import Reflector, WatchErrorHandler
from .stopping import StopSignal


@dataclass(frozen=True, kw_only=True)
class Config:
    """The parts of a controller (client-go ``Config``).

    Attributes:
        queue: the reflector writes to it; ``process`` receives its items.
        lister_watcher: the source of the objects.
        process: takes a popped item, and whether it belongs to the initial list; an exception ends the controller.
        process_batch: takes several changes at once, if the queue has ``pop_batch``; ``None`` for never.
        expected_type: objects of other types are dropped; ``None`` accepts all.
        description: the name of the objects in errors.
        resync_seconds: the period of resyncs; 0 for never.
        should_resync: is called before each resync, and decides whether it happens; ``None`` for always.
        watch_error_handler: is called for each failed attempt to list or watch.
        clock: the source of the time, and of waits.
        random: the source of jitter.
    """

    queue: Queue
    lister_watcher: ListerWatcher
    process: PopProcessFunc
    process_batch: ProcessBatchFunc | None = None
    expected_type: type | None = None
    description: str = ""
    resync_seconds: float = 0
    should_resync: Callable[[], bool] | None = None
    watch_error_handler: WatchErrorHandler | None = None
    clock: Clock = field(default_factory=RealClock)
    random: random_module.Random | None = None


class Controller:
    """Runs a reflector in a thread of its own, and processes its changes in the thread of :meth:`run`.

    Args:
        config: the parts of the controller.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._reflector = Reflector(
            config.lister_watcher,
            config.queue,
            expected_type=config.expected_type,
            type_description=config.description,
            resync_seconds=config.resync_seconds,
            should_resync=config.should_resync,
            watch_error_handler=config.watch_error_handler,
            clock=config.clock,
            random=config.random,
        )
        self._threads: tuple[threading.Thread, ...] = ()
        self._start_lock = threading.Lock()

    def run(self, stop: StopSignal) -> None:
        """Process changes until ``stop`` is set; then wait for the reflector's thread to end.

        Raises:
            InformerStartedError: the controller was run before; its queue stays closed.
            Exception: any error of the processing. A change that cannot be applied would be missing from then on, so
                the controller ends.
            BaseException: the error that ended the reflector, such as a ``SystemExit`` of a function that it calls.
        """
        ended = StopSignal()
        failures: list[BaseException] = []

        def reflect() -> None:
            try:
                self._reflector.run(ended)
            except BaseException as error:
                failures.append(error)
            finally:
                # Closing waits for the item that is being processed, so the thread that stops does not close.
                self._config.queue.close()

        reflector = threading.Thread(target=reflect, name=f"{self._reflector.type_description} reflector", daemon=True)
        with self._start_lock:
            if self._threads:
                raise InformerStartedError
            self._threads = (threading.current_thread(), reflector)
        revoke = stop.call_on_stop(ended.set)
        reflector.start()
        try:
            self._process_until(ended)
        finally:
            revoke()
            ended.set()
            reflector.join()
            if failures:
                raise failures[0]

    def has_synced(self) -> bool:
        """Whether all objects of the initial list were processed."""
        return self._config.queue.has_synced()

    def last_sync_resource_version(self) -> str:
        """Return the resource version that the queue has reached; ``""`` before the first list."""
        return self._reflector.last_sync_resource_version()

    def owns_current_thread(self) -> bool:
        """Whether the caller runs in a thread of the controller, such as an index function."""
        return threading.current_thread() in self._threads

    def _process_until(self, stop: StopSignal) -> None:
        queue, process, process_batch = self._config.queue, self._config.process, self._config.process_batch
        if process_batch is not None and isinstance(queue, QueueWithBatch):
            pop = functools.partial(queue.pop_batch, process_batch, process)
        else:
            pop = functools.partial(queue.pop, process)
        try:
            while not stop.is_set():
                pop()
        except FIFOClosedError:
            if not stop.is_set():
                raise
