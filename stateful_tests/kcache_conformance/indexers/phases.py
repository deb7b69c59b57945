"""The phases of a run on an Indexer. Each is imported when it begins, because most runs end before the last phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..phases.phase import Phase
from ..targets.imported_late import imported_late

PHASES: Final[Mapping[str, Phase]] = {
    "smoke": imported_late(f"{__package__}.sequential_phases:smoke_test"),
    "recorded": imported_late(f"{__package__}.sequential_phases:recorded"),
    "stateful": imported_late(f"{__package__}.sequential_phases:stateful"),
    "explorer": imported_late(f"{__package__}.concurrent_phases:explorer"),
    "stress": imported_late(f"{__package__}.concurrent_phases:stress"),
}
"""Name -> phase, in the order in which they run."""
