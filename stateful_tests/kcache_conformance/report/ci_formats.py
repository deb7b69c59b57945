"""Results for continuous integration: SARIF, annotations of GitHub, Markdown, and plain text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import kcache
from kcache_conformance.report.finding_text import PHASE_TITLES, heading, print_finding
from kcache_conformance.targets.replay_request import replay_command
from kcache_model.finding import Finding
from kcache_model.render import printable

from ..targets.target_types import target_type_named
from .capturing import captured
from .counts import counts_text, phase_verdict
from .finding_places import place_of_finding
from .markdown_table import markdown_table, text_cell
from .rules_text import rule_lines
from .run_report import RunReport, lines_about_methods, tested_line

_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(report: RunReport, file: Path) -> None:
    """Write SARIF 2.1.0 (OASIS): a result for each finding, with its rule; advice is a note."""
    rules = target_type_named(report.options.kind).rules
    named = dict.fromkeys(finding.rule for finding in report.result.findings)
    driver = {
        "name": "kcache",
        "version": kcache.__version__,
        "rules": [
            {
                "id": name,
                "shortDescription": {"text": rules[name].promise},
                "fullDescription": {"text": "\n".join(rule_lines(rules[name]))},
            }
            for name in named
            if name in rules
        ],
    }
    results = [_sarif_result(report, finding) for finding in report.result.findings]
    run = {"tool": {"driver": driver}, "results": results}
    data = {"$schema": _SARIF, "version": "2.1.0", "runs": [run]}
    file.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _sarif_result(report: RunReport, finding: Finding) -> dict[str, Any]:
    place = place_of_finding(finding, report.target)
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": "note" if finding.is_advice else "error",
        "message": {"text": f"{printable(finding.summary)}{_again(report, finding)}"},
    }
    if place.file:
        physical = {"artifactLocation": {"uri": Path(place.file).as_posix()}, "region": {"startLine": place.line}}
        result["locations"] = [{"physicalLocation": physical}]
    return result


def _again(report: RunReport, finding: Finding) -> str:
    command = replay_command(finding, report.target)
    return "" if command is None else f"\nRun it again: {command}"


def write_github(report: RunReport, file: Path) -> None:
    """Write workflow commands of GitHub Actions, which are shown beside the lines: one for each finding."""
    file.write_text("".join(f"{line}\n" for line in _annotations(report)), encoding="utf-8")


def _annotations(report: RunReport) -> Iterator[str]:
    for finding in report.result.findings:
        place = place_of_finding(finding, report.target)
        where = f"file={_property(place.file)},line={place.line}," if place.file else ""
        level = "notice" if finding.is_advice else "error"
        text = _data(f"{printable(finding.summary)}{_again(report, finding)}")
        yield f"::{level} {where}title={_property(f'kcache: {finding.rule}')}::{text}"
    for reason in report.result.reasons:
        yield f"::warning title=kcache::{_data(reason)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def write_markdown(report: RunReport, file: Path) -> None:
    """Write Markdown: the phases as a table, and each finding folded."""
    file.write_text(markdown(report), encoding="utf-8")


def markdown(report: RunReport) -> str:
    """Return the report as Markdown."""
    result = report.result
    lines = [f"## kcache {report.command} `{report.target}`: {result.verdict}", ""]
    if result.phases:
        rows = (
            (PHASE_TITLES.get(phase.phase, phase.phase), phase_verdict(phase), text_cell(counts_text(phase)))
            for phase in result.phases
        )
        lines += [*markdown_table(("phase", "verdict", "what was done"), rows), ""]
    tested = [tested_line(result.tested)] if result.tested else []
    about = (*lines_about_methods(report.options.kind, result), *tested)
    lines += [*(f"- {text_cell(text)}" for text in about), *(f"- {reason}" for reason in result.reasons)]
    for finding in result.findings:
        summary = f"<summary><b>{heading(finding)}</b></summary>"
        lines += ["<details>", summary, "", "```text", _text(report, finding), "```", "</details>", ""]
    return "\n".join(lines).rstrip() + "\n"


def write_text(report: RunReport, file: Path) -> None:
    """Write plain text: the findings as on a terminal, and the verdict."""
    tested = [tested_line(report.result.tested)] if report.result.tested else []
    about = "\n".join((*lines_about_methods(report.options.kind, report.result), *tested))
    parts = filter(None, [report.title, *(_text(report, finding) for finding in report.result.findings), about])
    file.write_text("\n\n".join((*parts, report.result.verdict)) + "\n", encoding="utf-8")


def _text(report: RunReport, finding: Finding) -> str:
    print_to = partial(print_finding, finding=finding, target=report.target)
    return printable(captured(print_to)[1:])
