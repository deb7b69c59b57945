"""Results for machines: JSON and JUnit."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console

from kcache_conformance.events import PhaseFinished, SuiteResult
from kcache_conformance.fuzzing.report import FuzzReport
from kcache_conformance.suite import SuiteOptions
from kcache_conformance.target_types import TARGET_TYPES
from kcache_model.codec import encode_finding
from kcache_model.finding import Finding
from kcache_model.render import printable
from kcache_model.verdict import Status
from kcache_stress.report.finding_text import print_finding, replay_command

RESULT_SCHEMA = "kcache/result/1"
FUZZ_SCHEMA = "kcache/fuzz/1"


def write_json(file: Path, target: str, options: SuiteOptions, result: SuiteResult) -> None:
    """The whole result; docs/formats.md describes the fields."""
    codec = TARGET_TYPES[options.kind].codec
    data = {
        "schema": RESULT_SCHEMA,
        "target": target,
        "status": result.status.value,
        "seconds": round(result.seconds, 3),
        "options": {
            "kind": options.kind,
            "semantics": options.semantics.value,
            "strict_errors": options.strict_errors,
            "strict": options.strict,
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


def write_junit(file: Path, target: str, result: SuiteResult) -> None:
    """One test case for each phase."""
    suite = ElementTree.Element("testsuite", name=f"kcache check {target}", tests="0", failures="0", skipped="0")
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
            failure.text = printable(_plain_text(finding, target))
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


def _plain_text(finding: Finding, target: str) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False)
    with console.capture() as capture:
        print_finding(console, finding, target)
    return capture.get()
