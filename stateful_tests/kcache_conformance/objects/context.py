"""Settings that the phases on objects take from their context."""

from __future__ import annotations

from typing import Final

from kcache_model.object_types.object_type import ObjectType
from kcache_stress.objects.findings import Setting

from ..phases.phase import PhaseContext

_SHARE_OF_PATIENCE: Final = 0.4
"""The share of the patience for the whole process: the closer watcher of a call must report before the watchdog."""


def own_patience(context: PhaseContext) -> float:
    """Return how many seconds a phase waits for one call."""
    return context.options.patience_seconds * _SHARE_OF_PATIENCE


def setting_of(object_type: ObjectType, context: PhaseContext) -> Setting:
    """Return the description of the target for findings of the phase."""
    options = context.options
    is_strict = getattr(context.target, "is_strict", False)
    return Setting(object_type, context.target.name, options.strict_errors, options.instrument, is_strict)
