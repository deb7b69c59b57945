"""Volumes by access modes, in the order of their capacity (``persistentVolumeOrderedIndex`` of ``index.go``)."""

from __future__ import annotations

from collections.abc import Iterable

import kcache

from .binding import by_capacity, find_matching_volume
from .volumes import (
    AccessMode,
    PersistentVolume,
    PersistentVolumeClaim,
    access_modes_as_string,
    access_modes_from_string,
)

ACCESS_MODES_INDEX = "accessmodes"


def access_modes_index_func(volume: PersistentVolume) -> list[str]:
    """The one value of a volume: its set of access modes as a text (``accessModesIndexFunc``).

    Raises:
        TypeError: it is no volume.
    """
    if not isinstance(volume, PersistentVolume):
        raise TypeError(f"object is not a persistent volume: {volume!r}")
    return [access_modes_as_string(volume.access_modes)]


class PersistentVolumeOrderedIndex:
    """Finds volumes by access modes, and the best one for a claim.

    A set of access modes is one index value, so that a claim is matched with the few sets that exist, not with every
    volume. The order is made when volumes are listed: an Indexer promises none.

    Args:
        store: another Indexer to keep the volumes in; it gets the index if it lacks it.

    Raises:
        IndexersRunningError: ``store`` holds objects, lacks the index, and is of the *classic* semantics.
    """

    def __init__(self, store: kcache.Indexer[PersistentVolume] | None = None) -> None:
        self.store: kcache.Indexer[PersistentVolume]
        self.store = kcache.new_indexer(kcache.meta_namespace_key_func) if store is None else store
        if ACCESS_MODES_INDEX not in self.store.get_indexers():
            self.store.add_indexers({ACCESS_MODES_INDEX: access_modes_index_func})

    def list_by_access_modes(self, modes: Iterable[AccessMode]) -> list[PersistentVolume]:
        """The volumes with exactly these modes, smallest first; O(n log n) for n of them."""
        return sorted(self.store.by_index(ACCESS_MODES_INDEX, access_modes_as_string(modes)), key=by_capacity)

    def all_possible_matching_access_modes(self, requested: Iterable[AccessMode]) -> list[frozenset[AccessMode]]:
        """The sets of modes that volumes have now and that contain ``requested``, those with the fewest modes first."""
        wanted = frozenset(requested)
        known = map(access_modes_from_string, self.store.list_index_func_values(ACCESS_MODES_INDEX))
        return sorted(
            (modes for modes in known if modes >= wanted), key=lambda modes: (len(modes), access_modes_as_string(modes))
        )

    def find_best_match_for_claim(
        self, claim: PersistentVolumeClaim, *, delay_binding: bool = False
    ) -> PersistentVolume | None:
        """What :func:`find_matching_volume` finds among the volumes with the fewest modes beyond those requested.

        So a free volume with fewer modes comes before one with more that is the claim's already, as upstream. The
        lookups are calls of their own: a volume that changes its modes meanwhile may be missed.
        Source: ``findBestMatchForClaim``.
        """
        for modes in self.all_possible_matching_access_modes(claim.access_modes):
            volume = find_matching_volume(claim, self.list_by_access_modes(modes), delay_binding=delay_binding)
            if volume is not None:
                return volume
        return None
