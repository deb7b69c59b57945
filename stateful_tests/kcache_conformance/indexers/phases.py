"""The phases of a run on an Indexer; each is imported when its turn comes, for most runs end before the last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..phase import Phase, phase_at

PHASES: Final[Mapping[str, Phase]] = {
    "smoke": phase_at(f"{__package__}.sequential_phases:smoke_test"),
    "recorded": phase_at(f"{__package__}.sequential_phases:recorded"),
    "stateful": phase_at(f"{__package__}.sequential_phases:stateful"),
    "explorer": phase_at(f"{__package__}.concurrent_phases:explorer"),
    "stress": phase_at(f"{__package__}.concurrent_phases:stress"),
}
"""Name -> phase, in the order in which they run."""
