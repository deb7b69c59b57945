"""Volumes and claims for the tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import AccessMode, Metadata, PersistentVolume, PersistentVolumeClaim, parse_quantity

RWO, ROX, RWX, RWOP = AccessMode


def make_volume(
    name: str = "v", capacity: str = "5Gi", modes: Iterable[AccessMode] = (RWO,), version: str = "1", **fields: Any
) -> PersistentVolume:
    """A free volume."""
    return PersistentVolume(
        Metadata(name, resource_version=version), parse_quantity(capacity), frozenset(modes), **fields
    )


def make_claim(request: str = "5Gi", modes: Iterable[AccessMode] = (RWO,), **fields: Any) -> PersistentVolumeClaim:
    """A claim for storage of any class."""
    return PersistentVolumeClaim(
        Metadata("data", "shop", uid="u1"), parse_quantity(request), frozenset(modes), **fields
    )
