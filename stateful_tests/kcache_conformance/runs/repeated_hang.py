"""Repetition of hangs: a hang is run again alone before it is reported, so no verdict depends on a busy machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kcache_model.codec import decode_finding
from kcache_model.finding import ENDLESS, Finding, FindingKind
from kcache_model.interleaved_program import InterleavedProgram

from ..isolation import STARTUP_SECONDS, run_job

if TYPE_CHECKING:
    from ..targets.target_type import TargetType

RETURNED: Final = "a call did not return in time, but returned when it was repeated alone; increase --patience"
_MORE_PATIENCE: Final = 3.0
_SEARCH_SECONDS: Final = 2.0
_DEADLINE_SECONDS: Final = 30.0


def repeated_alone(
    finding: Finding, target_type: TargetType, target: str | None, patience_seconds: float
) -> Finding | None:
    """Run the program of a hang again, in its own process and with more patience.

    Args:
        finding: a finding about a call or an execution that did not return.
        target_type: of the target.
        target: its name.
        patience_seconds: the patience after which the call was given up.

    Returns:
        The finding, if the program hangs again, or if this cannot be tried: the target has no name, or the program is
        unknown. Another finding, if the program fails in another way. ``None`` if it passes.
    """
    if finding.kind is not FindingKind.HANG or target is None or not finding.schedule:
        return finding
    patience, answers = _MORE_PATIENCE * patience_seconds, list[Any]()
    # Under the explorer, C code waits forever for a lock that another virtual thread holds: real threads decide.
    seconds = _SEARCH_SECONDS if isinstance(finding.program, InterleavedProgram) else 0.0
    end = run_job(
        "kcache_conformance.runs.replays:replay_job",
        {"target_type": target_type.name, "word": finding.schedule, "seconds": seconds},
        on_event=answers.append,
        deadline_seconds=STARTUP_SECONDS + _DEADLINE_SECONDS,
        patience_seconds=patience,
    )
    if end.how != "done":
        return finding
    for answer in answers:
        if answer.get("finding") is not None:
            again = decode_finding(answer["finding"], target_type.codec)
            return finding if again.kind in ENDLESS else replace(again, phase=finding.phase)
    return None
