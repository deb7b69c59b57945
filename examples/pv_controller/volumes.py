"""Persistent volumes and claims, as far as the choice of a volume depends on them (``k8s.io/api/core/v1``).

What the API server nests in ``spec`` and ``status`` is flat here. ``metadata`` has the shape that kcache reads.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

import kcache


class AccessMode(enum.Enum):
    """How the nodes of a cluster may mount a volume (``PersistentVolumeAccessMode``)."""

    READ_WRITE_ONCE = "ReadWriteOnce"
    READ_ONLY_MANY = "ReadOnlyMany"
    READ_WRITE_MANY = "ReadWriteMany"
    READ_WRITE_ONCE_POD = "ReadWriteOncePod"


class VolumeMode(enum.Enum):
    """What a pod finds in a volume (``PersistentVolumeMode``)."""

    FILESYSTEM = "Filesystem"
    BLOCK = "Block"


class VolumePhase(enum.Enum):
    """Where a volume is in its life (``PersistentVolumePhase``)."""

    PENDING = "Pending"
    AVAILABLE = "Available"
    BOUND = "Bound"
    RELEASED = "Released"
    FAILED = "Failed"


class ClaimPhase(enum.Enum):
    """Where a claim is in its life (``PersistentVolumeClaimPhase``)."""

    PENDING = "Pending"
    BOUND = "Bound"
    LOST = "Lost"


_ABBREVIATIONS = {
    AccessMode.READ_WRITE_ONCE: "RWO",
    AccessMode.READ_ONLY_MANY: "ROX",
    AccessMode.READ_WRITE_MANY: "RWX",
    AccessMode.READ_WRITE_ONCE_POD: "RWOP",
}
_MODES = {text: mode for mode, text in _ABBREVIATIONS.items()}


def access_modes_as_string(modes: Iterable[AccessMode]) -> str:
    """A set of modes as one text, ``RWO,ROX``: equal sets give equal texts (``GetAccessModesAsString``)."""
    present = set(modes)
    return ",".join(text for mode, text in _ABBREVIATIONS.items() if mode in present)


def access_modes_from_string(text: str) -> frozenset[AccessMode]:
    """The inverse of :func:`access_modes_as_string` (``GetAccessModesFromString``).

    Raises:
        KeyError: a part of ``text`` is no abbreviation.
    """
    return frozenset(_MODES[part] for part in text.split(",") if part)


@dataclass(frozen=True)
class Metadata:
    """What every object carries (``metav1.ObjectMeta``); a volume has no namespace."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    deletion_timestamp: datetime | None = None


@dataclass(frozen=True)
class ClaimRef:
    """The claim that a volume is bound to, or kept for (``PersistentVolumeSpec.ClaimRef``).

    Attributes:
        name: of the claim.
        namespace: of the claim.
        uid: empty if an administrator keeps the volume for a claim that may not exist yet.
    """

    name: str
    namespace: str
    uid: str = ""


@dataclass(frozen=True)
class PersistentVolume:
    """A piece of storage."""

    metadata: Metadata
    capacity: Decimal
    access_modes: frozenset[AccessMode]
    storage_class: str = ""
    volume_mode: VolumeMode = VolumeMode.FILESYSTEM
    claim_ref: ClaimRef | None = None
    phase: VolumePhase = VolumePhase.AVAILABLE


@dataclass(frozen=True)
class PersistentVolumeClaim:
    """A request for a piece of storage; a ``selector`` of ``None`` takes volumes with any labels.

    Attributes:
        volume_name: of the volume that it has; with phase *pending*, of the only one that it wants; empty for any.
    """

    metadata: Metadata
    request: Decimal
    access_modes: frozenset[AccessMode]
    storage_class: str = ""
    volume_mode: VolumeMode = VolumeMode.FILESYSTEM
    selector: kcache.Selector | None = None
    volume_name: str = ""
    phase: ClaimPhase = ClaimPhase.PENDING
