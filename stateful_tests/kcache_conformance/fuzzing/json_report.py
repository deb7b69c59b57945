"""The report of ``kcache fuzz`` as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from .report import FuzzReport

FUZZ_SCHEMA = "kcache/fuzz/1"


def write_fuzz_json(file: Path, report: FuzzReport) -> None:
    """The whole report of ``kcache fuzz``; docs/formats.md describes the fields."""
    data = {
        "schema": FUZZ_SCHEMA,
        "function": report.name,
        "kind": report.kind.value,
        "status": report.status.value,
        "seconds": round(report.seconds, 3),
        "objects": report.objects,
        "rules": [rule.value for rule in report.rules],
        "reasons": list(report.reasons),
        "engines": [{**vars(engine), "engine": engine.engine.value} for engine in report.engines],
        "findings": [
            {
                "rule": finding.rule.value,
                "severity": finding.severity.value,
                "tier": finding.tier.value,
                "engine": finding.engine.value,
                "what": finding.what,
                "setting": finding.setting,
                "code": finding.code,
                "replay": f"kcache replay {finding.word}" if finding.word else None,
            }
            for finding in report.findings
        ],
    }
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
