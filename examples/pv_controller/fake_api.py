"""A cluster in memory that has nothing but volumes and claims, for the tests and for the sample of the README."""

from __future__ import annotations

import threading
from dataclasses import fields
from typing import Any, TypeVar

from kcache.informers import ApiError, SharedIndexInformer, SharedInformerFactory
from kcache_conformance.informers.fake_server import FakeServer

from .volumes import Metadata, PersistentVolume, PersistentVolumeClaim

T = TypeVar("T", PersistentVolume, PersistentVolumeClaim)


class FakeApi:
    """Two fake servers, which list and watch, and the client that writes to them: a write of an old version is refused.

    Attributes:
        volumes: the truth about volumes; to be changed through here only.
        claims: the truth about claims; likewise.
        writes: by clients, in order; refused ones are not among them.
    """

    def __init__(self) -> None:
        self.volumes = FakeServer("PersistentVolume")
        self.claims = FakeServer("PersistentVolumeClaim")
        self.writes: list[PersistentVolume | PersistentVolumeClaim] = []
        self._lock = threading.Lock()
        self._refusals: list[ApiError] = []

    def create(self, *objects: PersistentVolume | PersistentVolumeClaim) -> None:
        """Somebody makes objects; they get resource versions, and uids, of their own."""
        for obj in objects:
            with self._lock:
                meta = obj.metadata
                self._server(obj).create(meta.name, meta.namespace, labels=meta.labels, **_spec(obj))

    def touch(self, obj: PersistentVolume | PersistentVolumeClaim, **labels: str) -> None:
        """Somebody gives an object other labels, whatever its version."""
        with self._lock:
            self._server(obj).update(obj.metadata.name, obj.metadata.namespace, labels=labels)

    def delete(self, obj: PersistentVolume | PersistentVolumeClaim) -> None:
        """Somebody deletes an object."""
        with self._lock:
            self._server(obj).delete(obj.metadata.name, obj.metadata.namespace)

    def refuse_writes(self, *errors: ApiError) -> None:
        """The next writes are answered with these errors."""
        with self._lock:
            self._refusals += errors

    def update(self, obj: T, /) -> T:
        """Write an object; raises an ``ApiError``: 409 for another version than the server's, 404 if it has none."""
        with self._lock:
            if self._refusals:
                raise self._refusals.pop(0)
            server, meta = self._server(obj), obj.metadata
            key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
            current = server.snapshot().get(key)
            if current is None:
                raise ApiError(404, "NotFound", f"{key} not found")
            if current["metadata"]["resourceVersion"] != meta.resource_version:
                raise ApiError(409, "Conflict", f"{key} has been modified")
            manifest = server.update(meta.name, meta.namespace, labels=meta.labels, **_spec(obj))
            written = type(obj)(_metadata(manifest), **manifest["spec"])
            self.writes.append(written)
            return written

    def get_volume(self, name: str) -> PersistentVolume | None:
        """What there is now."""
        manifest = self.volumes.snapshot().get(name)
        return None if manifest is None else volume_of(manifest)

    def get_claim(self, key: str, /) -> PersistentVolumeClaim | None:
        """What there is now."""
        manifest = self.claims.snapshot().get(key)
        return None if manifest is None else claim_of(manifest)

    def informers(self, factory: SharedInformerFactory) -> tuple[SharedIndexInformer, SharedIndexInformer]:
        """Informers of volumes and of claims, whose objects are those of :mod:`.volumes`."""
        volumes = factory.for_resource(PersistentVolume, self.volumes)
        volumes.set_transform(volume_of)
        claims = factory.for_resource(PersistentVolumeClaim, self.claims)
        claims.set_transform(claim_of)
        return volumes, claims

    def close(self) -> None:
        """End all watches."""
        self.volumes.close()
        self.claims.close()

    def _server(self, obj: PersistentVolume | PersistentVolumeClaim) -> FakeServer:
        return self.volumes if isinstance(obj, PersistentVolume) else self.claims


def volume_of(manifest: dict[str, Any]) -> PersistentVolume:
    """A volume of the fake server, which keeps the fields as they are."""
    return PersistentVolume(_metadata(manifest), **manifest["spec"])


def claim_of(manifest: dict[str, Any]) -> PersistentVolumeClaim:
    """A claim of the fake server, which keeps the fields as they are."""
    return PersistentVolumeClaim(_metadata(manifest), **manifest["spec"])


def _spec(obj: PersistentVolume | PersistentVolumeClaim) -> dict[str, Any]:
    return {field.name: getattr(obj, field.name) for field in fields(obj) if field.name != "metadata"}


def _metadata(manifest: dict[str, Any]) -> Metadata:
    metadata = manifest["metadata"]
    return Metadata(
        metadata["name"],
        metadata.get("namespace", ""),
        metadata["uid"],
        metadata["resourceVersion"],
        dict(metadata.get("labels", {})),
    )
