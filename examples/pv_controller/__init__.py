"""The Kubernetes PersistentVolume controller, without provisioning, on ``kcache`` and ``kcache.informers``."""

from .binding import find_matching_volume, is_volume_bound_to_claim
from .controller import PersistentVolumeController
from .ordered_index import ACCESS_MODES_INDEX, PersistentVolumeOrderedIndex, access_modes_index_func
from .quantity import QuantityError, parse_quantity
from .store_update import store_object_update
from .volumes import (
    AccessMode,
    ClaimPhase,
    ClaimRef,
    Metadata,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeMode,
    VolumePhase,
    access_modes_as_string,
    access_modes_from_string,
)

__all__ = [
    "ACCESS_MODES_INDEX",
    "AccessMode",
    "ClaimPhase",
    "ClaimRef",
    "Metadata",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeController",
    "PersistentVolumeOrderedIndex",
    "QuantityError",
    "VolumeMode",
    "VolumePhase",
    "access_modes_as_string",
    "access_modes_from_string",
    "access_modes_index_func",
    "find_matching_volume",
    "is_volume_bound_to_claim",
    "parse_quantity",
    "store_object_update",
]
