"""Terminal output: progress during a run, and the result at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from kcache_conformance.phases.budget_slices import LEAST_PROGRAMS
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.counts import counts_text, phase_verdict
from kcache_conformance.report.coverage_table import coverage_table
from kcache_conformance.report.finding_text import PHASE_TITLES, print_finding
from kcache_conformance.report.run_report import RunReport, lines_about_methods, tested_line, verdict_line
from kcache_conformance.results.events import (
    Event,
    FindingMade,
    PhaseFinished,
    PhaseProgress,
    PhaseStarted,
    SuiteResult,
)
from kcache_conformance.runs.saved_failures import TargetFailures
from kcache_conformance.runs.stored_replays import short_command
from kcache_conformance.runs.suite import run_suite
from kcache_conformance.targets.replay_request import ReplayRequest
from kcache_model.finding import Finding
from kcache_model.verdict import Status
from kcache_stress.interruption import heeding_interrupts

from .eta import duration_text, elapsed_text, lines
from .exits import BEGAN

_PLAIN_WIDTH = 100

_OVERRUN = 1.2
"""A factor of the budget: if a run takes longer, the output names the phases that always run to their end."""

_WIDTH = max(map(len, PHASE_TITLES.values()))

STATUS_STYLES = {Status.OK: "bold green", Status.VIOLATION: "bold red", Status.UNKNOWN: "bold yellow"}


_PHASE_STYLES = {"ok": "green", "unknown": "yellow", "skipped": "yellow"}

TAKEN = "kcache.stdout"
"""Key in the context of a command: whether a report goes to standard output."""


VERBOSITY = "kcache.verbosity"
"""Key in the context of a command: ``QUIET`` or ``VERBOSE``; absent by default."""

LONG_TOKEN = "kcache.long_token"
"""Key in the context of a command: whether replay commands contain the whole replay token."""

_IS_KEPT = "kcache.is_kept"
"""Key in the context of a command: whether the command has stored a replay in ``.kcache``."""

QUIET, VERBOSE = "quiet", "verbose"


class _Console(Console):
    is_whole = False
    """Whether findings are printed completely."""

    def on_broken_pipe(self) -> None:
        """Raise, so that the command line chooses the exit code; rich would exit with 1."""
        self.quiet = True
        raise BrokenPipeError


def stdout_console() -> Console:
    """Return a console on standard output; if that is no terminal, it has a fixed width and no colours.

    If a report goes to standard output, the console is on standard error. With ``-q`` it prints nothing.
    """
    console = _loud_console()
    verbosity = _context_value(VERBOSITY)
    console.quiet, console.is_whole = verbosity == QUIET, verbosity == VERBOSE
    return console


def _loud_console() -> _Console:
    is_taken = bool(_context_value(TAKEN))
    stream = sys.stderr if is_taken else sys.stdout
    if stream.isatty():
        return _Console(highlight=False, stderr=is_taken)
    return _Console(width=_PLAIN_WIDTH, highlight=False, color_system=None, legacy_windows=False, stderr=is_taken)


def _context_value(name: str) -> Any:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(name)


def show_finding(console: Console, finding: Finding, target: str) -> None:
    """Print a finding: shortened, or completely with ``-v``."""
    whole = is_whole(console)
    print_finding(console, finding, target, is_whole=whole, command_of=replay_line)


def replay_line(request: ReplayRequest) -> str:
    """Return the replay command of a finding: with a short token stored in this folder, or with the whole token.

    ``kcache replay --last`` runs the first replay of a report: the finding to fix first.
    """
    if _context_value(LONG_TOKEN):
        return request.command
    command = short_command(request, is_last=not _context_value(_IS_KEPT))
    click.get_current_context().meta[_IS_KEPT] = True
    return command


def is_whole(console: Console) -> bool:
    """Whether findings are to be printed completely."""
    return isinstance(console, _Console) and console.is_whole


def seconds_so_far() -> float:
    """Return the seconds since the command began."""
    began: float = _context_value(BEGAN)
    return time.monotonic() - began


def show_brief(report: RunReport) -> None:
    """Print the result in one line, if ``-q`` is set."""
    if _context_value(VERBOSITY) == QUIET:
        _loud_console().print(Text(report.brief), soft_wrap=True)


@contextmanager
def progress_bar(console: Console, budget_seconds: float = inf) -> Iterator[Progress]:
    """Show a bar with counts, on a terminal only. Within the context, the first Ctrl-C only requests a stop."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
        TextColumn("" if budget_seconds == inf else f"of {duration_text(budget_seconds)}"),
        console=console,
        transient=True,
        disable=console.quiet or not console.is_terminal,
    )
    with heeding_interrupts(), bar:
        yield bar


class TerminalProgress:
    """The progress of one run, shown in a bar.

    Args:
        progress: the bar; several runs may share it.
        on_phase: is called for each finished phase.
        name: the name of the target if there are several, else empty.

    Attributes:
        text: the current phase, and its counts so far.
    """

    def __init__(self, progress: Progress, on_phase: Callable[[PhaseFinished], None], name: str = "") -> None:
        self._progress = progress
        self._on_phase = on_phase
        self._name = f"{name}: " if name else ""
        self._task = progress.add_task(f"{self._name}starting", total=1.0, counts="")
        self._title = self.text = "starting"

    def __call__(self, event: Event) -> None:
        """Handle an event of the run: update the bar, or pass on a finished phase."""
        match event:
            case PhaseStarted():
                title = PHASE_TITLES.get(event.phase, event.phase)
                self._progress.update(self._task, description=f"{self._name}{title}", completed=0.0, counts="")
                self._title = self.text = title
            case PhaseProgress():
                of = f" of {event.counts['of']}" if "of" in event.counts else ""
                counts = ", ".join(
                    f"{count}{of if name == 'programs' else ''} {name}"
                    for name, count in event.counts.items()
                    if count and name != "of"
                )
                self._progress.update(self._task, completed=event.fraction, counts=counts)
                self.text = ", ".join(filter(None, (self._title, counts)))
            case FindingMade():
                self._progress.update(self._task, description=f"{self._name}making the example smaller")
            case PhaseFinished():
                self._on_phase(event)


def phase_line(phase: PhaseFinished) -> Text:
    """Return the line of a finished phase: ``  state machine   ok   300 programs, 12000 operations``."""
    verdict = phase_verdict(phase)
    verdict, style = ("FAILED", "red") if verdict == "failed" else (verdict, _PHASE_STYLES[verdict])
    line = Text(f"  {PHASE_TITLES[phase.phase]:{_WIDTH}}  ")
    line.append(f"{verdict:8}", style=style)
    findings = f"{phase.findings} findings" if phase.findings > 1 else ""
    line.append(", ".join(filter(None, (findings, counts_text(phase)))))
    line.rstrip()
    return line


def run_and_print(
    console: Console,
    title: str,
    target: str,
    options: SuiteOptions,
    *,
    is_coverage_shown: bool = False,
    saved: TargetFailures | None = None,
    spent: float = 0.0,
) -> SuiteResult:
    """Run phases of the suite on a target; print the title, the progress and the result."""
    began = time.monotonic() - spent
    with progress_bar(console, options.budget_seconds) as bar:
        console.print(title, soft_wrap=True)
        progress = TerminalProgress(bar, lambda phase: console.print(phase_line(phase), soft_wrap=True))

        def line() -> str:
            return f"{progress.text} after {elapsed_text(time.monotonic() - began, options.budget_seconds)}"

        with lines(line, is_wanted=not console.quiet and not console.is_terminal):
            result = run_suite(target, options, progress, saved, spent_seconds=spent)
    show_result(console, target, options, result, is_coverage_shown=is_coverage_shown)
    return result


def show_result(
    console: Console, target: str, options: SuiteOptions, result: SuiteResult, *, is_coverage_shown: bool = False
) -> None:
    """Print the result of a run, after the lines of its phases."""
    for phase in result.phases:
        if is_coverage_shown and phase.coverage:
            console.print()
            console.print(coverage_table(phase.coverage, phase.overlapped))
    for line in lines_about_methods(options.kind, result):
        console.print(f"  {line}", soft_wrap=True, markup=False, highlight=False)
    for finding in result.findings:
        if finding.is_waived:
            continue
        console.print()
        show_finding(console, finding, target)
    reported = [finding.rule for finding in result.findings if not finding.is_waived]
    if reported:
        known = " ".join(dict.fromkeys(reported))
        console.print()
        console.print(f"  promise, usual cause and cure of each: kcache rules {known}", soft_wrap=True)
    console.print()
    if result.tested:
        console.print(f"  {tested_line(result.tested)}", soft_wrap=True, markup=False, highlight=False)
    for reason in result.reasons:
        console.print(f"  {reason}", soft_wrap=True)
    finite = [phase for phase in result.phases if phase.phase not in LEAST_PROGRAMS]
    if result.seconds > _OVERRUN * options.budget_seconds and finite:
        names = ", ".join(PHASE_TITLES.get(phase.phase, phase.phase) for phase in finite)
        console.print(
            f"  longer than the budget of {options.budget_text}: {names} always run completely", soft_wrap=True
        )
    verdict = Text(verdict_line(result))
    verdict.stylize(STATUS_STYLES[result.status], 0, len(result.verdict))
    console.print(verdict, soft_wrap=True)
