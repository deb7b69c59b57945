"""Binds claims to volumes as they come and go (``PersistentVolumeController`` of ``pv_controller_base.go``)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

import kcache
from kcache.informers import ApiError, ResourceEventHandlerFuncs, SharedIndexInformer, StopSignal, wait_for_cache_sync

from .private_cache import PrivateCache
from .synchronizer import (
    CLAIM_INDEX,
    VOLUME_INDEX,
    Client,
    Synchronizer,
    claim_index_func,
    is_outdated,
    volume_index_func,
)
from .volumes import PersistentVolume, PersistentVolumeClaim
from .work_queue import WorkQueue

RETRY_SECONDS: Final = 1.0
"""How long a worker waits when the server is not well."""

_logger = logging.getLogger(__name__)


class PersistentVolumeController:
    """Gives each claim the best volume, and releases volumes whose claims have gone.

    Handlers of the informers do nothing but enqueue keys. Workers fetch what a key stands for now from the informers'
    caches, which nobody may change, take it into the private caches unless these are ahead, and decide there. The
    informers are shared: whoever made them starts and stops them. A controller runs once.

    Args:
        volumes: of :class:`~.volumes.PersistentVolume`.
        claims: of :class:`~.volumes.PersistentVolumeClaim`.
        client: writes to the API server.
        workers: how many threads there are for volumes, and how many for claims.
        retry_seconds: how long a worker waits after a failure other than a conflict.
    """

    def __init__(
        self,
        volumes: SharedIndexInformer,
        claims: SharedIndexInformer,
        client: Client,
        *,
        workers: int = 1,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._volume_informer = volumes
        self._claim_informer = claims
        self._workers = workers
        self._retry_seconds = retry_seconds
        self._volume_queue = WorkQueue()
        self._claim_queue = WorkQueue()
        self.volumes: PrivateCache[PersistentVolume]
        self.volumes = PrivateCache("volume", {CLAIM_INDEX: claim_index_func})
        self.claims: PrivateCache[PersistentVolumeClaim]
        self.claims = PrivateCache("claim", {VOLUME_INDEX: volume_index_func})
        self._synchronizer = Synchronizer(
            self.volumes, self.claims, client, self._volume_queue.add, self._claim_queue.add
        )
        self._stop = StopSignal()
        self._thread: threading.Thread | None = None

    def run(self, stop: StopSignal) -> None:
        """Work until ``stop`` is set; then wait for the workers, each of which finishes what it has begun."""
        registrations = [
            (informer, informer.add_event_handler(_enqueueing(queue)))
            for informer, queue in (
                (self._volume_informer, self._volume_queue),
                (self._claim_informer, self._claim_queue),
            )
        ]
        revoke = stop.call_on_stop(self._stop.set)
        try:
            if wait_for_cache_sync(self._stop, self._volume_informer.has_synced, self._claim_informer.has_synced):
                self.volumes.initialise(self._volume_informer.get_store().list())
                self.claims.initialise(self._claim_informer.get_store().list())
                self._work_until_stopped()
        finally:
            revoke()
            for informer, registration in registrations:
                informer.remove_event_handler(registration)

    def start(self) -> None:
        """As :meth:`run`, in a thread of its own, until :meth:`stop`."""
        self._thread = threading.Thread(target=self.run, args=(self._stop,), name="volume controller", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and wait for all threads."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def sync_volume(self, name: str) -> None:
        """Do what is to be done for one volume (``volumeWorker``)."""
        volume = self._volume_informer.get_store().get_by_key(name)
        if volume is None:
            self._synchronizer.forget_volume(name)
            return
        self.volumes.take(volume)
        # Perhaps a newer version of its own writing, whose event is under way; to decide on it is right, too.
        self._synchronizer.sync_volume(self.volumes.store.get_by_key(name) or volume)

    def sync_claim(self, key: str) -> None:
        """Do what is to be done for one claim (``claimWorker``)."""
        claim = self._claim_informer.get_store().get_by_key(key)
        if claim is None:
            self._synchronizer.forget_claim(key)
            return
        self._synchronizer.take_claim(claim)
        self._synchronizer.sync_claim(self.claims.store.get_by_key(key) or claim)

    def _work_until_stopped(self) -> None:
        roles = ((self._volume_queue, self.sync_volume, "volume"), (self._claim_queue, self.sync_claim, "claim"))
        workers = [
            threading.Thread(target=self._work, args=(queue, sync), name=f"{name} worker {number}", daemon=True)
            for queue, sync, name in roles
            for number in range(self._workers)
        ]
        for worker in workers:
            worker.start()
        self._stop.wait()
        for queue, _, _ in roles:
            queue.shut_down()
        for worker in workers:
            worker.join()

    def _work(self, queue: WorkQueue, sync: Callable[[str], None]) -> None:
        while (key := queue.get()) is not None:
            try:
                sync(key)
            except ApiError as error:
                if is_outdated(error):
                    _logger.info("%s: %s; waiting for the newer version", key, error)
                else:
                    _logger.warning("%s: %s; trying again", key, error)
                    self._stop.wait(self._retry_seconds)
                    queue.add(key)
            except Exception:
                _logger.exception("%s: giving up until it changes", key)
            finally:
                queue.done(key)


def _enqueueing(queue: WorkQueue) -> ResourceEventHandlerFuncs:
    def enqueue(obj: Any) -> None:
        queue.add(kcache.deletion_handling_meta_namespace_key_func(obj))

    return ResourceEventHandlerFuncs(enqueue, lambda _, new: enqueue(new), enqueue)
