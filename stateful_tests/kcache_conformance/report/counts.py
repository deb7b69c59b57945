"""The counts and the verdict of a phase as text."""

from __future__ import annotations

from typing import Final

from kcache_model.verdict import Status

from ..results.events import PhaseFinished

_NOUNS: Final = {
    "recorded": "scenarios",
    "litmus": "scenarios",
    "stress": "rounds",
    "fuzz": "engines",
    "saved": "replayed",
    "judge": "calls",
}


def counts_text(phase: PhaseFinished) -> str:
    """Return the counts of a phase, or why it was not run."""
    if phase.refused:
        return phase.refused
    times = phase.counts.get("known", 0)
    known = f"known findings repeated {'once' if times == 1 else f'{times} times'}" if times else ""
    return "; ".join(filter(None, (_counted(phase), known)))


def _counted(phase: PhaseFinished) -> str:
    counts = phase.counts
    if phase.phase == "explorer":
        text = f"{counts.get('programs', 0)} programs, {counts.get('executions', 0)} executions"
        text += f", {counts['exhausted']} programs exhausted" if "exhausted" in counts else ""
        text += f", {counts['alone']} skipped because they fail in one thread" if counts.get("alone") else ""
        return f"{text}; no proof for some: {phase.no_proof}" if phase.no_proof else text
    if phase.phase == "smoke":
        return ""
    noun = _NOUNS.get(phase.phase, "programs")
    of = f" of {counts['of']}" if counts.get("of", 0) > counts.get("programs", 0) else ""
    text = f"{phase.rounds}{of} {noun}"
    if "operations" in counts:
        text += f", {counts['operations']} operations"
    if "overlapping" in counts:
        text += f", {phase.few_overlaps or str(counts['overlapping']) + ' rounds with overlapping calls'}"
    if phase.phase == "stress" and counts.get("undecided"):
        text += f", {counts['undecided']} rounds too hard to judge"
    if phase.phase == "saved" and counts.get("undecided"):
        text += f"; unknown whether {counts['undecided']} of them still fail"
    if phase.phase in ("stress", "fuzz") and phase.skipped:
        text += f"; left out: {', '.join(phase.skipped)}"
    return text


def phase_verdict(phase: PhaseFinished) -> str:
    """Return ``ok``, ``failed``, ``unknown``, or ``skipped``."""
    if phase.finding is not None and phase.finding.status is Status.VIOLATION:
        return "failed"
    if phase.refused:
        return "unknown" if phase.counts else "skipped"
    is_open = phase.phase == "saved" and phase.counts.get("undecided")
    unsure = phase.inconclusive or is_open or (phase.finding is not None and phase.finding.status is Status.UNKNOWN)
    return "unknown" if unsure else "ok"
