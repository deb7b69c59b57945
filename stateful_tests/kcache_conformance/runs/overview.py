"""Overview of several runs: as Markdown, as a page, and as a badge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from kcache_model.finding import Finding
from kcache_model.verdict import Status

from ..report.markdown_table import code_cell, markdown_table, text_cell
from ..report.page import Page, Table, page_text
from .written_runs import SEVERITY, WrittenRun

_COLUMNS: Final = ("target", "type", "verdict", "rules broken", "advice", "phases", "kcache", "seed", "run it again")
_COLOURS: Final = {Status.OK: "#2c7a3f", Status.UNKNOWN: "#8a6100", Status.VIOLATION: "#b3261e"}
_LABEL: Final = "kcache"
_LETTER_WIDTH: Final = 7
"""Width of a letter of the badge in pixels: texts are stretched to it, whatever the font is."""

_BADGE: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {message}">
<title>{label}: {message}</title>
<clipPath id="round"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)">
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="8" y="14" textLength="{label_length}">{label}</text>
<text x="{message_x}" y="14" textLength="{message_length}">{message}</text>
</g>
</svg>
"""


def worst_status(runs: Sequence[WrittenRun]) -> Status:
    """Return the worst status of the runs."""
    return max((run.status for run in runs), key=SEVERITY.index)


def sum_text(runs: Sequence[WrittenRun]) -> str:
    """Return ``3 violations``; ``unknown`` if there are none and not all runs are ok."""
    if worst_status(runs) is Status.UNKNOWN:
        return "unknown"
    violations = sum(
        max(1, sum(finding.status is Status.VIOLATION for finding in run.findings))
        for run in runs
        if run.status is Status.VIOLATION
    )
    return f"{violations} violation{'' if violations == 1 else 's'}"


def markdown_overview(runs: Sequence[WrittenRun]) -> str:
    """Return a heading, and a table with a row for each run."""
    rows = (
        [
            code_cell(run.target),
            *(text_cell(cell) for cell in _texts(run)),
            "<br>".join(map(text_cell, _phases(run))),
            *map(text_cell, _origin(run)),
            "<br>".join(map(code_cell, run.replays)),
        ]
        for run in runs
    )
    return "\n".join((f"## kcache: {sum_text(runs)}", "", *markdown_table(_COLUMNS, rows))) + "\n"


def html_overview(runs: Sequence[WrittenRun]) -> str:
    """Return the overview as a page that can be read offline."""
    rows = tuple(
        (run.target, *_texts(run), "; ".join(_phases(run)), *_origin(run), "; ".join(run.replays)) for run in runs
    )
    title = f"kcache report ({len(runs)} run{'' if len(runs) == 1 else 's'})"
    return page_text(Page(title, worst_status(runs), f"{sum_text(runs)}.", tables=(Table("Runs", _COLUMNS, rows),)))


def badge(runs: Sequence[WrittenRun]) -> str:
    """Return a small self-contained picture in SVG, in the colour of the worst status."""
    message = sum_text(runs)
    label_length, message_length = _LETTER_WIDTH * len(_LABEL), _LETTER_WIDTH * len(message)
    label_width, right = label_length + 16, message_length + 16
    return _BADGE.format(
        width=label_width + right,
        left=label_width,
        right=right,
        label=_LABEL,
        message=message,
        label_length=label_length,
        message_length=message_length,
        message_x=label_width + 8,
        colour=_COLOURS[worst_status(runs)],
    )


OVERVIEWS: Final[Mapping[str, Callable[[Sequence[WrittenRun]], str]]] = {
    "markdown": markdown_overview,
    "html": html_overview,
    "badge": badge,
}
"""Name -> function that renders several runs."""


def _texts(run: WrittenRun) -> tuple[str, str, str, str]:
    """Return the type, the verdict, the broken rules, and the advice."""
    verdict = f"{run.verdict} ({'; '.join(run.reasons)})" if run.reasons else run.verdict
    advice = [finding for finding in run.findings if finding.is_advice and not finding.is_waived]
    wrong = [finding for finding in run.findings if not finding.is_advice or finding.is_waived]
    return run.type, verdict, ", ".join(_counted(wrong)), ", ".join(_counted(advice))


def _counted(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield ``half-applied-write: 2`` for each rule; unconfirmed and accepted findings are counted separately."""
    counts = Counter((finding.rule, _remark(finding)) for finding in findings)
    for (rule, remark), count in counts.items():
        yield f"{rule}: {count}{remark}"


def _remark(finding: Finding) -> str:
    if finding.is_waived:
        return " (accepted)"
    return " (not confirmed)" if finding.unconfirmed else ""


def _phases(run: WrittenRun) -> Iterator[str]:
    for phase in run.phases:
        yield f"{phase.name}: {phase.word}" + (f", {phase.did}" if phase.did else "")


def _origin(run: WrittenRun) -> tuple[str, str]:
    return run.version or "unknown", "none" if run.seed is None else str(run.seed)
