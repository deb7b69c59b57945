"""Stress of Indexers with all that it needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.indexers.target import Target
from kcache_model.progress import NoProgress
from kcache_stress.objects.findings import Setting
from kcache_stress.objects.threads import ObjectStress

PATIENCE_SECONDS = 20.0


def setting_of(target: Target) -> Setting:
    """The setting of findings about a target."""
    return Setting(INDEXER_OBJECTS, target.name)


@contextmanager
def stress_of(target: Target, patience_seconds: float = PATIENCE_SECONDS, threads: int = 4) -> Iterator[ObjectStress]:
    """Stress of a target, ready to run programs of so many threads."""
    stress = ObjectStress(target, setting_of(target), NoProgress(), 0, patience_seconds, threads)
    with stress.underway():
        yield stress
