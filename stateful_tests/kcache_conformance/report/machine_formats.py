"""Results for machines: JSON and JUnit."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from kcache_conformance.report.finding_text import print_finding, replay_command
from kcache_model.codec import encode_finding
from kcache_model.render import printable
from kcache_model.verdict import Status

from ..events import PhaseFinished
from ..target_types import target_type_named
from .capturing import captured
from .run_report import RunReport

RESULT_SCHEMA = "kcache/result/1"


def write_json(report: RunReport, file: Path) -> None:
    """The whole result; docs/formats.md describes the fields."""
    target, options, result = report.target, report.options, report.result
    codec = target_type_named(options.kind).codec
    data = {
        "schema": RESULT_SCHEMA,
        "target": target,
        "status": result.status.value,
        "seconds": round(result.seconds, 3),
        "options": {
            "kind": options.kind,
            "semantics": options.semantics.value,
            "strict_errors": options.strict_errors,
            "contract": options.contract.value,
            "seed": options.seed,
            "budget_seconds": options.budget_seconds,
            "phases": list(options.phases),
        },
        "not_tested": list(result.not_tested),
        "reasons": list(result.reasons),
        "phases": [_phase(phase) for phase in result.phases],
        "findings": [
            {
                **encode_finding(finding, codec),
                "replay": replay_command(finding, target, strict_errors=options.strict_errors),
            }
            for finding in result.findings
        ],
    }
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def write_junit(report: RunReport, file: Path) -> None:
    """One test case for each phase."""
    target, result = report.target, report.result
    name = f"kcache {report.command} {target}"
    suite = ElementTree.Element("testsuite", name=name, tests="0", failures="0", skipped="0")
    failed = {finding.phase: finding for finding in result.findings if finding.status is Status.VIOLATION}
    names = [phase.phase for phase in result.phases]
    names += [name for name in failed if name not in names]
    for name in names:
        case = ElementTree.SubElement(suite, "testcase", classname=printable(target), name=name)
        reason = next((phase.inconclusive or phase.refused for phase in result.phases if phase.phase == name), "")
        if name in failed:
            finding = failed[name]
            failure = ElementTree.SubElement(
                case, "failure", type=finding.kind.value, message=printable(finding.summary)
            )
            told = partial(print_finding, finding=finding, target=target, strict_errors=report.options.strict_errors)
            failure.text = printable(captured(told)[1:] + "\n")
        elif reason:
            ElementTree.SubElement(case, "skipped", message=reason)
    suite.set("tests", str(len(names)))
    suite.set("failures", str(len(failed)))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ElementTree.ElementTree(suite).write(file, encoding="unicode", xml_declaration=True)


def _phase(phase: PhaseFinished) -> dict[str, object]:
    return {
        "phase": phase.phase,
        "counts": dict(phase.counts),
        "coverage": {operation: dict(outcomes) for operation, outcomes in phase.coverage.items()},
        "overlapped": {operation: dict(outcomes) for operation, outcomes in phase.overlapped.items()},
        "skipped": list(phase.skipped),
        "inconclusive": phase.inconclusive,
        "refused": phase.refused,
        "no_proof": phase.no_proof,
    }
