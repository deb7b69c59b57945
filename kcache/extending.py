"""The extension points: you can add target types, specifications, phases, strategies and formats.

``docs/extending.md`` explains them with an example.
"""

from __future__ import annotations

from kcache_conformance.phases.phase import Phase, PhaseContext, PhaseOutcome
from kcache_conformance.report.formats import Format
from kcache_conformance.report.run_report import RunReport
from kcache_conformance.targets.target_type import TargetType
from kcache_model.object_types.object_type import Driver, ObjectTarget, ObjectType
from kcache_model.object_types.plain import MethodCall, ObjectProgram, method, object_type
from kcache_model.object_types.specification import Specification
from kcache_model.object_types.vocabulary import OperationTemplate, Vocabulary
from kcache_stress.engine.scheduling import STOP
from kcache_stress.engine.strategy import Strategy

__all__ = [
    "STOP",
    "Driver",
    "Format",
    "MethodCall",
    "ObjectProgram",
    "ObjectTarget",
    "ObjectType",
    "OperationTemplate",
    "Phase",
    "PhaseContext",
    "PhaseOutcome",
    "RunReport",
    "Specification",
    "Strategy",
    "TargetType",
    "Vocabulary",
    "method",
    "object_type",
]
