"""Results for machines: JSON and JUnit."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from math import inf
from pathlib import Path
from xml.etree import ElementTree

from kcache_conformance.report.finding_text import print_finding
from kcache_conformance.targets.replay_request import replay_command
from kcache_model.codec import encode_finding
from kcache_model.render import printable
from kcache_model.verdict import Status

from ..results.events import PhaseFinished
from ..targets.target_types import target_type_named
from .capturing import captured
from .certificate import encode_certificate
from .finding_places import place_of_finding, versions
from .methods_text import encode_methods
from .run_report import RunReport
from .story import story_sentences

RESULT_SCHEMA = "kcache/result/1"


def write_json(report: RunReport, file: Path) -> None:
    """Write the whole result; docs/formats.md describes the fields."""
    target, options, result, certificate = report.target, report.options, report.result, report.certificate
    codec = target_type_named(options.kind).codec
    data = {
        "schema": RESULT_SCHEMA,
        "versions": versions(),
        "target": target,
        "tested": result.tested,
        "status": result.status.value,
        "interrupted": result.is_interrupted,
        "seconds": round(result.seconds, 3),
        "options": {
            "kind": options.kind,
            "semantics": options.semantics.value,
            "strict_errors": options.strict_errors,
            "contract": options.contract.value,
            "seed": options.seed,
            "budget_seconds": None if options.budget_seconds == inf else options.budget_seconds,
            "programs": options.programs,
            "phases": list(options.phases),
        },
        "not_tested": list(result.not_tested),
        **({"methods": encode_methods(result.methods)} if result.methods else {}),
        "reasons": list(result.reasons),
        "phases": [_phase(phase) for phase in result.phases],
        "findings": [
            {
                **encode_finding(finding, codec),
                "replay": replay_command(finding, target),
                "place": asdict(place_of_finding(finding, target)),
                **({} if not (story := story_sentences(finding.interleaving)) else {"story": list(story)}),
            }
            for finding in result.findings
        ],
        **({} if certificate is None else {"certificate": encode_certificate(certificate)}),
    }
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def write_junit(report: RunReport, file: Path) -> None:
    """Write a test case for each phase, or for each finding of a phase if it has any. Advice is no failure."""
    target, result = report.target, report.result
    suite = ElementTree.Element("testsuite", name=f"kcache {report.command} {target}")
    wrong = [finding for finding in result.findings if finding.status is Status.VIOLATION]
    phases = {phase.phase: phase.inconclusive or phase.refused for phase in result.phases}
    for name in dict.fromkeys((*phases, *(finding.phase for finding in wrong))):
        findings = [finding for finding in wrong if finding.phase == name]
        for finding in findings:
            place = place_of_finding(finding, target)
            case = _case(suite, target, name if len(findings) == 1 else f"{name}: {finding.rule}")
            if place.file:
                case.set("file", place.file)
                case.set("line", str(place.line))
            failure = ElementTree.SubElement(case, "failure", type=finding.rule, message=printable(finding.summary))
            print_to = partial(print_finding, finding=finding, target=target)
            failure.text = printable(captured(print_to)[1:] + "\n")
        if not findings:
            case = _case(suite, target, name)
            if phases[name]:
                ElementTree.SubElement(case, "skipped", message=phases[name])
    for attribute, path in (("tests", "testcase"), ("failures", "testcase/failure"), ("skipped", "testcase/skipped")):
        suite.set(attribute, str(len(suite.findall(path))))
    suite.set("errors", "0")
    suite.set("time", f"{result.seconds:.3f}")
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in versions().items():
        ElementTree.SubElement(properties, "property", name=name, value=value)
    ElementTree.ElementTree(suite).write(file, encoding="unicode", xml_declaration=True)


def _case(suite: ElementTree.Element, target: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=printable(target), name=name)


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
        "proved": dict(phase.proved),
        "assumes": phase.assumes,
    }
