"""Probe of an implementation: detects which operations it lacks."""

from __future__ import annotations

from dataclasses import replace

from kcache.adapting_calls import other_names

from ..errors import TargetError
from .driver import Driver, missing_operations
from .items import Semantics
from .operations import OPTIONAL_OPERATIONS
from .target import INDEXES, Target, class_hint


def probe(target: Target, semantics: Semantics) -> Target:
    """Return the target; the optional operations that its Indexer lacks are declared as unsupported.

    Raises:
        TargetError: the factory fails, or the Indexer lacks a method that it does not declare as unsupported.
    """
    indexes = () if INDEXES in target.unsupported else ("node",)
    driver = Driver(target, indexes, semantics)
    missing = [name for name in missing_operations(driver.made) if target.supports(name)]
    driver.close()
    required = [name.value for name in missing if name not in OPTIONAL_OPERATIONS]
    if required:
        others = other_names(driver.made, required)
        hint = class_hint(target.factory, target.name)
        adapter = ". Or " if hint else "; "
        if others:
            adapter = f". It has {', '.join(others)}: `kcache init {target.name}` writes an adapter. Or "
        raise TargetError(
            f"the {type(driver.made).__name__} that {target.name} returned has no {', '.join(required)}{hint}"
            f"{adapter}implement what is missing, or declare it on the factory: "
            f"factory.kcache_unsupported = {required!r}"
            + (' (a plain Store: ["indexes"])' if "by_index" in required else "")
        )
    return replace(target, unsupported=target.unsupported | {name.value for name in missing})
