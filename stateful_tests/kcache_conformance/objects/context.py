"""Settings that the phases on objects take from their context."""

from __future__ import annotations

from typing import Final

from kcache_model.object_types.object_type import ObjectType
from kcache_stress.objects.findings import Setting

from ..phase import PhaseContext

_SHARE_OF_PATIENCE: Final = 0.4
"""Of the time after which the process counts as hung: who watches a call closely speaks first."""


def own_patience(context: PhaseContext) -> float:
    """How long a phase waits for one call."""
    return context.options.patience_seconds * _SHARE_OF_PATIENCE


def setting_of(object_type: ObjectType, context: PhaseContext) -> Setting:
    """What findings of the phase say of the target."""
    options = context.options
    return Setting(object_type, context.target.name, options.strict_errors, options.instrument)
