"""Baselines: accepted findings of a project, so that only new findings fail a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kcache_model.errors import FormatError
from kcache_model.verdict import Status

from ..phases.symptoms import waiver_of
from ..targets.target_type import TargetType
from .events import SuiteResult

SCHEMA: Final = "kcache/baseline/1"


def write_baseline(file: Path, runs: Iterable[tuple[str, TargetType, SuiteResult]]) -> None:
    """Write the violations of runs as target -> ``RULE:CALL``, including those that an earlier baseline accepts."""
    targets = {
        target: sorted(
            {
                waiver_of(finding, target_type.rules)
                for finding in result.findings
                if finding.is_waived or finding.status is Status.VIOLATION
            }
        )
        for target, target_type, result in runs
    }
    file.write_text(json.dumps({"schema": SCHEMA, "targets": targets}, indent=2) + "\n", encoding="utf-8")


def read_baseline(file: Path) -> dict[str, tuple[str, ...]]:
    """Return the accepted findings of each target: target -> ``RULE:CALL``.

    Raises:
        FormatError: the file is not a baseline.
        OSError: the file cannot be read.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise FormatError(f"{file}: the schema must be {SCHEMA!r}, not {data['schema']!r}")
        return {str(target): tuple(map(str, findings)) for target, findings in data["targets"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"{file} is not a baseline: write a baseline with --write-baseline ({error!r})") from None
