"""The summary of ``kcache run pytest``: what came of each test that starts threads, grouped by reason.

Reports carry what came of a test as text, so that pytest-xdist can bring it from a worker.
"""

from __future__ import annotations

import enum
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import pytest

PROPERTY: Final = "kcache"
"""The user property of a report that holds ``OUTCOME: REASON``."""


class Outcome(enum.StrEnum):
    """What came of a test that starts threads."""

    FOUND = "fails in some order"
    FAILED = "fails as it is"
    """As under pytest alone: it was not explored."""
    ONCE = "failed once, not shown again"
    EXHAUSTED = "exhausted"
    SAMPLED = "sampled"
    NO_PROOF = "no proof"
    NOT_EXPLORED = "not explored"


_ALONE: Final = (Outcome.FOUND, Outcome.FAILED, Outcome.ONCE)
"""Outcomes of which each test has a line of its own; the others are grouped by reason."""

_PLACE: Final = re.compile(r"(?:\S+:\d+(?: in \S+)?(?: \([^)]*\))?|<\w+>)")
"""``FILE:LINE in FUNCTION``, which differs where the reason is the same."""

_ADVICE: Final = (
    (
        "needs the fixture",
        "only pytest can build it: build the value in the test, or in a fixture of your own",
    ),
    ("starts a process", "only threads can be scheduled"),
    ("coroutine", "only threads can be scheduled"),
    ("event loop", "only threads can be scheduled"),
    ("in every order", "the order is not the cause: a process id, a clock, or a state that an earlier test left"),
    ("too long", "run fewer calls or threads in the test"),
    ("did not return", "a thread waits outside Python: replace what it waits for, or give it a timeout"),
    ("while other threads run", "do this before the threads start, or after they have ended"),
    ("cannot be loaded", "kcache cannot import the modules a second time: see docs/limits.md"),
    ("not confirmed", "name the package that kcache does not see with --instrument"),
    ("kcache itself failed", "this is a fault of kcache: please report it"),
    ("end early", "wait for an event without a timeout in the test, where that is possible"),
    ("is not instrumented", "name the package with --instrument"),
    ("is not known", "name the package with --instrument, or replace this line in the test"),
)
"""A part of a reason, and what to do about it."""


def record(item: pytest.Item, outcome: Outcome, reason: str) -> None:
    """Add to the report of a test what came of it."""
    item.user_properties.append((PROPERTY, f"{outcome}: {' '.join(reason.split())}"))


def outcome_of(report: object) -> tuple[Outcome, str] | None:
    """The outcome and the reason that a report carries; ``None`` if it carries none."""
    properties: Iterable[tuple[str, str]] = getattr(report, "user_properties", ())
    text = next((text for name, text in properties if name == PROPERTY), None)
    if text is None or getattr(report, "when", "") != "call":
        return None
    outcome, _, reason = text.partition(": ")
    return Outcome(outcome), reason


def write_finding(reporter: pytest.TerminalReporter, report: pytest.TestReport) -> None:
    """Write what goes wrong in a test as soon as it is known: a run that is killed keeps this line."""
    found = outcome_of(report)
    if found is not None and found[0] in (Outcome.FOUND, Outcome.ONCE):
        reporter.ensure_newline()
        reporter.write_line(f"{found[0]}: {report.nodeid}: {found[1]}")
        reporter.flush()


def write_summary(reporter: pytest.TerminalReporter, seconds: float) -> None:
    """Write the lines of the findings, then the table.

    Args:
        reporter: of the session.
        seconds: the budget of each test.
    """
    reports = [report for reports in reporter.stats.values() for report in reports]
    tests = {report.nodeid for report in reports if getattr(report, "when", "") == "call"}
    outcomes = {report.nodeid: found for report in reports if (found := outcome_of(report)) is not None}
    reporter.section("kcache: tests that start threads")
    for kind in _ALONE:
        for nodeid, (outcome, reason) in sorted(outcomes.items()):
            if outcome is kind:
                reporter.write_line(f"{outcome}: {nodeid}: {reason}")
    is_verbose = reporter.verbosity > 0
    counts = {kind: [reason for outcome, reason in outcomes.values() if outcome is kind] for kind in Outcome}
    rows: list[tuple[str, int, str]] = [("tests", len(tests), ""), ("with threads", len(outcomes), "")]
    for kind, reasons in counts.items():
        if not reasons and kind in (Outcome.FAILED, Outcome.ONCE, Outcome.NO_PROOF):
            continue
        more = f"in {seconds:g} s each; --budget-per-test tries more" if kind is Outcome.SAMPLED and reasons else ""
        rows.append((f"  {kind}", len(reasons), more))
        if kind in (Outcome.NO_PROOF, Outcome.NOT_EXPLORED):
            own = {nodeid: reason for nodeid, (outcome, reason) in outcomes.items() if outcome is kind}
            rows += [(f"    {count} x", -1, text) for count, text in _groups(own)]
    width = max(len(name) for name, _, _ in rows)
    for name, count, text in rows:
        number = "" if count < 0 else f"{count:5}"
        reporter.write_line(f"{name:{width}}{number}  {text}".rstrip() if count >= 0 else f"{name} {text}")
    if is_verbose:
        for nodeid, (outcome, reason) in sorted(outcomes.items()):
            if outcome not in _ALONE:
                reporter.write_line(f"{outcome}: {nodeid}: {reason}")


def _groups(reasons: Mapping[str, str]) -> list[tuple[int, str]]:
    """Test -> why: how many tests have the same reason, the reason with one example, and what to do."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for nodeid, reason in sorted(reasons.items()):
        groups[_PLACE.sub("...", reason)].append(nodeid)
    found = []
    for nodeids in sorted(groups.values(), key=len, reverse=True):
        reason = reasons[nodeids[0]]
        example = nodeids[0] if len(nodeids) == 1 else f"{nodeids[0]} ..."
        advice = next((f" -> {advice}" for part, advice in _ADVICE if part in reason), "")
        found.append((len(nodeids), f"{reason} ({example}){advice}"))
    return found
