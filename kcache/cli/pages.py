"""``--html``: the outcome of a run as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from kcache_conformance.events import PhaseFinished, SuiteResult
from kcache_model.finding import Finding
from kcache_model.verdict import Status
from kcache_stress.report.finding_text import PHASE_TITLES
from kcache_stress.report.page import Page, Table, page_of_finding, picture_of_history

from .console import counts_text

F = TypeVar("F", bound=Callable[..., Any])

_HEADLINES = {
    Status.OK: "Nothing wrong was found.",
    Status.VIOLATION: "Something is wrong.",
    Status.UNKNOWN: "Nothing wrong was found, but not everything could be done.",
}


_SAMPLE = "An example: one of the rounds of stress, which some order of its calls explains."


def html_option(function: F) -> F:
    """``--html``."""
    return click.option(
        "--html",
        "html_file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write the outcome as a page that can be read offline: the calls in time, and the first that is wrong.",
    )(function)


def touch(*files: Path | None) -> None:
    """Fails before the run, not after it, if a file cannot be written.

    Raises:
        OSError: it cannot.
    """
    for file in files:
        if file is not None:
            file.touch()


def page_of_result(result: SuiteResult, target: str, *, title: str, strict_errors: bool = False) -> Page:
    """The outcome of ``kcache check``: what is wrong, if anything, and what was done."""
    tables = tuple(table for table in (_phases(result), _coverage(result), _overlaps(result)) if table.rows)
    reasons = tuple(f"{reason}." for reason in result.reasons)
    if result.not_tested:
        reasons += (f"Not tested, because the target does not offer it: {', '.join(result.not_tested)}.",)
    if result.findings:
        page = page_of_finding(result.findings[0], target, title=title, tables=tables, strict_errors=strict_errors)
        return _with_paragraphs(page, reasons)
    sample = next((phase.sample for phase in result.phases if phase.sample is not None), None)
    picture = (
        None if sample is None else picture_of_history(sample, Status.OK, note=_SAMPLE, strict_errors=strict_errors)
    )
    return Page(title, result.status, _HEADLINES[result.status], reasons, picture, tables)


def page_of_run(
    status: Status,
    headline: str,
    *,
    title: str,
    target: str,
    finding: Finding | None = None,
    counts: Mapping[str, object] | None = None,
    paragraphs: tuple[str, ...] = (),
    strict_errors: bool = False,
) -> Page:
    """The outcome of a command that has no phases.

    Args:
        status: the verdict, if there is no finding.
        headline: one sentence that says it; the page of a finding has its own.
        title: what was run; a command line.
        target: name of the implementation.
        finding: what is wrong, if anything.
        counts: name -> number of what was done.
        paragraphs: what else is to be said.
        strict_errors: how the target was tested.
    """
    rows = tuple(
        (name, f"{count:,}" if isinstance(count, int) else str(count)) for name, count in (counts or {}).items()
    )
    tables = (Table("What was done", ("what", "how much"), rows),) if rows else ()
    if finding is None:
        return Page(title, status, headline, paragraphs, tables=tables)
    page = page_of_finding(finding, target, title=title, tables=tables, strict_errors=strict_errors)
    return _with_paragraphs(page, paragraphs)


def _with_paragraphs(page: Page, paragraphs: tuple[str, ...]) -> Page:
    return replace(page, paragraphs=(*page.paragraphs, *paragraphs))


def _phases(result: SuiteResult) -> Table:
    rows = tuple(
        (
            PHASE_TITLES.get(phase.phase, phase.phase),
            _verdict(phase),
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
    """How often calls really overlapped one of another thread."""
    rows = tuple(
        (operation, outcome.replace("_", " "), f"{count:,}", f"{met:,}", f"{100 * met / count:.0f}")
        for phase in result.phases
        for operation, outcomes in sorted(phase.overlapped.items())
        for outcome, met in sorted(outcomes.items())
        if (count := phase.coverage.get(operation, {}).get(outcome, 0))
    )
    columns = ("call", "outcome", "calls", "overlapped another", "%")
    return Table("Concurrency: how often calls really overlapped a call of another thread", columns, rows)


def _verdict(phase: PhaseFinished) -> str:
    if phase.finding is not None:
        return "failed"
    if phase.refused:
        return "unknown" if phase.counts else "skipped"
    return "unknown" if phase.inconclusive else "ok"


def _coverage(result: SuiteResult) -> Table:
    """Operation by outcome, all phases together."""
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
    return Table("Coverage: how often each call gave what", ("call", *names), rows)
