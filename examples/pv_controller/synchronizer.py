"""Brings claims and volumes together, one decision at a time (``syncClaim``, ``syncVolume`` upstream)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Protocol, TypeVar

import kcache
from kcache.informers import ApiError

from .binding import is_volume_bound_to_claim
from .ordered_index import PersistentVolumeOrderedIndex
from .private_cache import PrivateCache
from .volumes import ClaimPhase, ClaimRef, PersistentVolume, PersistentVolumeClaim, VolumePhase

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)

CLAIM_INDEX: Final = "claim"
"""Index of volumes: the key of the claim that each is bound to or kept for; no value for free ones."""

VOLUME_INDEX: Final = "volume"
"""Index of claims: the name of the volume that each has or wants; ``""`` for any."""

_logger = logging.getLogger(__name__)


class Client(Protocol):
    """Writes to the API server, and reads past all caches."""

    def update(self, obj: T, /) -> T:
        """Write an object; the result has its new resource version.

        Raises:
            ApiError: 409 if the server has another version than ``obj`` says, 404 if it has none.
        """
        ...

    def get_claim(self, key: str, /) -> PersistentVolumeClaim | None:
        """What the server has now."""
        ...


def claim_index_func(volume: PersistentVolume) -> list[str]:
    """The values of :data:`CLAIM_INDEX`."""
    ref = volume.claim_ref
    return [] if ref is None else [f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name]


def volume_index_func(claim: PersistentVolumeClaim) -> list[str]:
    """The value of :data:`VOLUME_INDEX`."""
    return [claim.volume_name]


class Synchronizer:
    """Decides on the private caches alone, and writes each decision through the client into the caches.

    A volume is written first, then its claim: whoever dies in between leaves a volume that is its claim's already. No
    write is made twice, and none on an old version: the server refuses it.

    Args:
        volumes: with :data:`CLAIM_INDEX`.
        claims: with :data:`VOLUME_INDEX`.
        client: writes.
        enqueue_volume: has a volume looked at again, by key.
        enqueue_claim: has a claim looked at again, by key.
    """

    def __init__(
        self,
        volumes: PrivateCache[PersistentVolume],
        claims: PrivateCache[PersistentVolumeClaim],
        client: Client,
        enqueue_volume: Callable[[str], object],
        enqueue_claim: Callable[[str], object],
    ) -> None:
        self._volumes = volumes
        self._ordered_volumes = PersistentVolumeOrderedIndex(volumes.store)
        self._claims = claims
        self._client = client
        self._enqueue_volume = enqueue_volume
        self._enqueue_claim = enqueue_claim

    def sync_claim(self, claim: PersistentVolumeClaim) -> None:
        """Bind a claim to the best volume, or go on where that was left unfinished.

        Raises:
            ApiError: a write was refused.
        """
        if not claim.volume_name:
            # Without a volume it waits: each volume that becomes free enqueues such claims.
            volume = self._ordered_volumes.find_best_match_for_claim(claim)
        else:
            volume = self._volumes.store.get_by_key(claim.volume_name)
            if volume is not None and volume.claim_ref and not is_volume_bound_to_claim(volume, claim):
                volume = None
        if volume is not None:
            self._bind(volume, claim)
        elif claim.phase is ClaimPhase.BOUND:
            self._write_claim(replace(claim, phase=ClaimPhase.LOST))
        if claim.volume_name:
            self._enqueue_volumes_of(_key(claim))  # it may have been promised others

    def sync_volume(self, volume: PersistentVolume) -> None:
        """Offer a free volume to claims, release one whose claim has gone, free one whose claim has another.

        Raises:
            ApiError: a write was refused, or the claim could not be asked for.
        """
        ref = volume.claim_ref
        if ref is None or not ref.uid:
            self._offer(volume)
            return
        (claim_key,) = claim_index_func(volume)
        claim = self._claims.store.get_by_key(claim_key)
        if claim is None or claim.metadata.uid != ref.uid:
            self._release(volume, claim_key)
        elif not claim.volume_name or (claim.volume_name == volume.metadata.name and claim.phase is ClaimPhase.LOST):
            self._enqueue_claim(claim_key)
        elif claim.volume_name != volume.metadata.name:
            self._write_volume(replace(volume, claim_ref=None, phase=VolumePhase.AVAILABLE))
        elif volume.phase is not VolumePhase.BOUND:
            self._write_volume(replace(volume, phase=VolumePhase.BOUND))

    def take_claim(self, claim: PersistentVolumeClaim) -> None:
        """An event or a list shows a claim; if its name was another one's before, that one's volumes are looked at."""
        known = self._claims.store.get_by_key(_key(claim))
        if self._claims.take(claim) and known is not None and known.metadata.uid != claim.metadata.uid:
            self._enqueue_volumes_of(_key(claim))

    def forget_claim(self, key: str) -> None:
        """A claim was deleted: its volumes are looked at."""
        self._claims.forget(key)
        self._enqueue_volumes_of(key)

    def forget_volume(self, name: str) -> None:
        """A volume was deleted: its claims are looked at."""
        self._volumes.forget(name)
        for claim in self._claims.store.by_index(VOLUME_INDEX, name):
            self._enqueue_claim(_key(claim))

    def _bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        ref = ClaimRef(claim.metadata.name, claim.metadata.namespace, claim.metadata.uid)
        if volume.claim_ref != ref or volume.phase is not VolumePhase.BOUND:
            try:
                self._write_volume(replace(volume, claim_ref=ref, phase=VolumePhase.BOUND))
            except ApiError as error:
                if is_outdated(error):
                    self._volumes.call_when_other(volume, lambda: self._enqueue_claim(_key(claim)))
                raise
        if claim.volume_name != volume.metadata.name or claim.phase is not ClaimPhase.BOUND:
            self._write_claim(replace(claim, volume_name=volume.metadata.name, phase=ClaimPhase.BOUND))
            _logger.info("claim %r has got volume %r", _key(claim), volume.metadata.name)

    def _offer(self, volume: PersistentVolume) -> None:
        if volume.phase is not VolumePhase.AVAILABLE:
            volume = self._write_volume(replace(volume, phase=VolumePhase.AVAILABLE))
        for wanted in ("", volume.metadata.name):
            for claim in self._claims.store.by_index(VOLUME_INDEX, wanted):
                self._enqueue_claim(_key(claim))

    def _release(self, volume: PersistentVolume, claim_key: str) -> None:
        if volume.phase is VolumePhase.RELEASED:
            return
        # The cache of claims may lag behind that of volumes: data would be lost with a claim that is only late.
        claim = self._client.get_claim(claim_key)
        if claim is None or volume.claim_ref is None or claim.metadata.uid != volume.claim_ref.uid:
            self._write_volume(replace(volume, phase=VolumePhase.RELEASED))

    def _enqueue_volumes_of(self, claim_key: str) -> None:
        for volume in self._volumes.store.by_index(CLAIM_INDEX, claim_key):
            self._enqueue_volume(_key(volume))

    def _write_volume(self, volume: PersistentVolume) -> PersistentVolume:
        written = self._client.update(volume)
        self._volumes.take(written)
        # It may have been deleted, and forgotten, while the answer was under way.
        self._enqueue_volume(_key(written))
        return written

    def _write_claim(self, claim: PersistentVolumeClaim) -> None:
        self._claims.take(self._client.update(claim))


def is_outdated(error: ApiError) -> bool:
    """Whether a write was refused because there is a newer version, or none: an event will tell."""
    return error.code in (404, 409)


def _key(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    return kcache.meta_namespace_key_func(obj)
