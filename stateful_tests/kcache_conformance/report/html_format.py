"""HTML: the outcome of a run as a page."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from kcache_conformance.report.finding_text import PHASE_TITLES, heading, print_finding
from kcache_conformance.report.page import Detail, Page, Table, page_of_finding, picture_of_history, write_page
from kcache_model.verdict import Status

from ..results.events import SuiteResult
from .capturing import captured
from .certificate import certificate_rows
from .counts import counts_text, phase_verdict
from .run_report import RunReport, lines_about_methods, tested_line

_HEADLINES = {
    Status.OK: "Nothing wrong was found.",
    Status.VIOLATION: "Something is wrong.",
    Status.UNKNOWN: "Nothing wrong was found, but some checks could not be finished.",
}


_SAMPLE = "An example: a round of stress that some sequential order of its calls explains."


def write_html(report: RunReport, file: Path) -> None:
    """Write the outcome as a page that can be read offline: the calls in time, and the first wrong call."""
    write_page(file, page_of_report(report))


def page_of_report(report: RunReport) -> Page:
    """Return the page of a report."""
    result, strict_errors = report.result, report.options.strict_errors
    tables = tuple(
        table for table in (_certificate(report), _phases(result), _coverage(result), _overlaps(result)) if table.rows
    )
    reasons = (*report.paragraphs, *(f"{reason}." for reason in result.reasons))
    lines = [tested_line(result.tested)] if result.tested else []
    lines += lines_about_methods(report.options.kind, result)
    reasons += tuple(f"{text[:1].upper()}{text[1:]}." for text in lines)
    if result.findings:
        page = page_of_finding(
            result.findings[0], report.target, title=report.title, tables=tables, strict_errors=strict_errors
        )
        others = tuple(
            Detail(heading(finding), captured(partial(print_finding, finding=finding, target=report.target)))
            for finding in result.findings[1:]
        )
        return replace(page, paragraphs=(*page.paragraphs, *reasons), details=(*page.details, *others))
    sample = next((phase.sample for phase in result.phases if phase.sample is not None), None)
    picture = (
        None if sample is None else picture_of_history(sample, Status.OK, note=_SAMPLE, strict_errors=strict_errors)
    )
    headline = report.headline or _HEADLINES[result.status]
    return Page(report.title, result.status, headline, reasons, picture, tables)


def _certificate(report: RunReport) -> Table:
    """Return the table of a verification's certificate."""
    certificate = report.certificate
    rows = () if certificate is None else tuple(certificate_rows(certificate).items())
    return Table("Certificate", ("what", "how far"), rows)


def _phases(result: SuiteResult) -> Table:
    rows = tuple(
        (
            PHASE_TITLES.get(phase.phase, phase.phase),
            phase_verdict(phase),
            counts_text(phase),
            phase.inconclusive,
        )
        for phase in result.phases
    )
    has_remarks = any(row[-1] for row in rows)
    columns = ("phase", "verdict", "what was done", "remarks")
    return Table(
        "Phases", columns if has_remarks else columns[:-1], tuple(row if has_remarks else row[:-1] for row in rows)
    )


def _overlaps(result: SuiteResult) -> Table:
    """Return how often calls really overlapped a call of another thread."""
    rows = tuple(
        (operation, outcome.replace("_", " "), f"{count:,}", f"{overlapping:,}", f"{100 * overlapping / count:.0f}")
        for phase in result.phases
        for operation, outcomes in sorted(phase.overlapped.items())
        for outcome, overlapping in sorted(outcomes.items())
        if (count := phase.coverage.get(operation, {}).get(outcome, 0))
    )
    columns = ("call", "outcome", "calls", "overlapped another", "%")
    return Table("Concurrency: how often calls overlapped a call of another thread", columns, rows)


def _coverage(result: SuiteResult) -> Table:
    """Return a table of operation by outcome, for all phases together."""
    totals: dict[str, dict[str, int]] = {}
    for phase in result.phases:
        for operation, outcomes in phase.coverage.items():
            for outcome, count in outcomes.items():
                counted = totals.setdefault(operation, {})
                counted[outcome] = counted.get(outcome, 0) + count
    names = sorted(
        {outcome for outcomes in totals.values() for outcome in outcomes}, key=lambda name: (name != "ok", name)
    )
    rows = tuple(
        (operation, *(f"{outcomes[name]:,}" if name in outcomes else "" for name in names))
        for operation, outcomes in sorted(totals.items())
    )
    return Table("Coverage: how often each call had each outcome", ("call", *names), rows)
