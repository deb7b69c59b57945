"""Indexers, ready to be explored: loaded by name, with the declarations of their factories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kcache_model.errors import CannotExploreError
from kcache_model.indexers.object_type import INDEXER_OBJECTS
from kcache_model.target_name import target_name

from ..engine.granularity import Granularity
from ..objects.named_target import load_object_target
from ..objects.object_exploration import ObjectExplorationTarget


def explored_indexer(
    spec: str,
    *,
    instrument: Iterable[str] = (),
    granularity: Granularity = Granularity.FREE,
    unsupported: Iterable[str] = (),
) -> ObjectExplorationTarget:
    """Load the target called ``pkg.mod:factory`` or ``path/to/file.py:factory`` into a sandbox, instrumented.

    Args:
        spec: the name of the target.
        instrument: further packages to instrument, in addition to the package of the target.
        granularity: the places at which threads may be switched.
        unsupported: operations and features that are not tested, in addition to the ones that the target declares.

    Raises:
        TargetError: there is no such target.
        CannotExploreError: the target cannot be explored, for example because it has no Python source.
    """
    target = load_object_target(INDEXER_OBJECTS, spec)
    target = replace(target, unsupported=target.unsupported.union(unsupported))
    is_reference = target_name(spec).location.partition(".")[0] == "kcache"  # its modules form one Indexer
    packages = (*instrument, "kcache") if is_reference else tuple(instrument)
    loaded = ObjectExplorationTarget(INDEXER_OBJECTS, target, packages, granularity)
    loaded.load()
    if not loaded.sandbox.sources:
        raise CannotExploreError(f"{spec.rpartition(':')[0]} has no Python source")
    return loaded
