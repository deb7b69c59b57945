"""What the tests of the controller share: a cluster whose informers watch their objects for changes in place."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kcache import meta_namespace_key_func
from kcache.informers import MutationDetector, RealClock, SharedIndexInformer, SharedInformerFactory, StopSignal
from kcache_conformance.informers.fake_server import FakeServer

from .controller import PersistentVolumeController
from .fake_api import FakeApi, claim_of, volume_of
from .samples import RWO, make_claim
from .volumes import AccessMode, ClaimPhase, Metadata, PersistentVolume, PersistentVolumeClaim, VolumePhase

SECONDS = 20.0


class HurriedClock(RealClock):
    """Time passes a hundred times as fast: back-off is short."""

    def now(self) -> float:
        """Hurried seconds."""
        return time.monotonic() * 100

    def wait(self, stop: StopSignal, seconds: float) -> bool:
        """Wait for hurried seconds."""
        return stop.wait(max(0.0, seconds) / 100)


class Cluster:
    """An API server, informers whose objects are watched for changes in place, and controllers."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.factory = SharedInformerFactory(clock=HurriedClock())
        self.volumes = self._informer(PersistentVolume, self.api.volumes, volume_of)
        self.claims = self._informer(PersistentVolumeClaim, self.api.claims, claim_of)

    def _informer(self, kind: type, server: FakeServer, transform: Callable[[Any], Any]) -> SharedIndexInformer:
        def new_informer(_: float) -> SharedIndexInformer:
            detector = MutationDetector(kind.__name__, meta_namespace_key_func)
            return SharedIndexInformer(
                server, description=kind.__name__, clock=HurriedClock(), mutation_detector=detector
            )

        informer = self.factory.informer_for(kind, new_informer)
        informer.set_transform(transform)
        return informer

    def controller(self, **options: Any) -> PersistentVolumeController:
        """A new controller, impatient."""
        options = {"retry_seconds": 0.01, **options}
        return PersistentVolumeController(self.volumes, self.claims, self.api, **options)

    def cut(self) -> None:
        """End all watches."""
        for server in (self.api.volumes, self.api.claims):
            server.cut_watches()

    @contextmanager
    def down(self, server: FakeServer) -> Iterator[None]:
        """Within, watches of a server miss what happens; they are told so at the end."""
        with server.lose_events():
            yield
        server.compact()
        server.end_watches_with_error(410, "Expired", "too old resource version")

    def bindings(self) -> dict[str, str]:
        """The volume of each claim that both sides agree on."""
        found: dict[str, str] = {}
        for key, manifest in self.api.claims.snapshot().items():
            claim = claim_of(manifest)
            volume = self.api.get_volume(claim.volume_name) if claim.volume_name else None
            ref = None if volume is None else volume.claim_ref
            if volume is None or ref is None:
                continue
            agree = (f"{ref.namespace}/{ref.name}", ref.uid) == (key, claim.metadata.uid)
            if agree and claim.phase is ClaimPhase.BOUND and volume.phase is VolumePhase.BOUND:
                found[key] = claim.volume_name
        return found

    def phases(self) -> dict[str, VolumePhase]:
        """The phase of each volume."""
        return {name: volume_of(manifest).phase for name, manifest in self.api.volumes.snapshot().items()}


def eventually(condition: Callable[[], object]) -> bool:
    """Ask again and again, for what nobody tells; whether the condition came true in time."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def comes_to(expected: object, found: Callable[[], object]) -> None:
    """Wait until ``found()`` is as expected; fails with what it is otherwise."""
    eventually(lambda: found() == expected)
    assert found() == expected


def named(
    name: str, request: str = "5Gi", modes: Iterable[AccessMode] = (RWO,), **fields: Any
) -> PersistentVolumeClaim:
    """A claim in the namespace ``shop``."""
    return dataclasses.replace(make_claim(request, modes), metadata=Metadata(name, "shop"), **fields)
