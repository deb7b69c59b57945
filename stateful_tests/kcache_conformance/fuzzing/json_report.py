"""The report of ``kcache fuzz`` as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..report.finding_places import versions
from ..targets.replay_request import ReplayRequest
from .report import FuzzFinding, FuzzReport

FUZZ_SCHEMA = "kcache/fuzz/1"


def write_fuzz_json(file: Path, report: FuzzReport, seed: int) -> None:
    """Write the whole report of ``kcache fuzz`` with this seed; docs/formats.md describes the fields."""
    data = {
        "schema": FUZZ_SCHEMA,
        "versions": versions(),
        "seed": seed,
        "function": report.name,
        "kind": report.kind,
        "status": report.status.value,
        "interrupted": report.is_interrupted,
        "seconds": round(report.seconds, 3),
        "objects": report.objects,
        "guessed": report.are_guessed,
        "notes": report.notes,
        "rules": report.rules,
        "reasons": report.reasons,
        "engines": [vars(engine) for engine in report.engines],
        "findings": list(map(_finding, report.findings)),
    }
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _finding(finding: FuzzFinding) -> dict[str, Any]:
    fields = {**vars(finding), "replay": ReplayRequest((finding.word,)).command if finding.word else None}
    del fields["word"]
    return fields
