"""Which of some volumes a claim gets (``k8s.io/component-helpers/storage/volume``)."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from .volumes import PersistentVolume, PersistentVolumeClaim, VolumePhase


def by_capacity(volume: PersistentVolume) -> tuple[Decimal, str]:
    """The order of volumes: the smaller first, equal ones by name, so that the choice never depends on chance."""
    return volume.capacity, volume.metadata.name


def find_matching_volume(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], *, delay_binding: bool = False
) -> PersistentVolume | None:
    """The smallest volume that is already the claim's; else the smallest free one that suits it; O(number of volumes).

    Access modes are not looked at: ``volumes`` have the right ones. A volume that is the claim's already need not have
    its storage class and labels, but must be large enough.
    Source: ``FindMatchingVolume``, without nodes.

    Args:
        claim: wants a volume.
        volumes: to choose from.
        delay_binding: leave free volumes to the scheduler, which knows the node.
    """
    candidates = [volume for volume in volumes if _is_usable(volume, claim)]
    bound = [volume for volume in candidates if is_volume_bound_to_claim(volume, claim)]
    free = [] if delay_binding else [volume for volume in candidates if _is_free_for(volume, claim)]
    return min(bound or free, key=by_capacity, default=None)


def is_volume_bound_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is the claim's, or kept for a claim of its name (``IsVolumeBoundToClaim``)."""
    ref = volume.claim_ref
    return (
        ref is not None
        and (ref.namespace, ref.name) == (claim.metadata.namespace, claim.metadata.name)
        and ref.uid in ("", claim.metadata.uid)
    )


def _is_usable(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (
        volume.capacity >= claim.request
        and volume.volume_mode is claim.volume_mode
        and volume.metadata.deletion_timestamp is None
    )


def _is_free_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (
        volume.claim_ref is None
        and volume.phase is VolumePhase.AVAILABLE
        and volume.storage_class == claim.storage_class
        and (claim.selector is None or claim.selector.matches(volume.metadata.labels))
    )
