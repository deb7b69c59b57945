"""The result of fuzzing as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from kcache_model.render import printable
from kcache_model.verdict import Status

from ..targets.replay_request import ReplayRequest, long_command
from .evidence import Engine, EngineReport
from .judging.violation import InputClass
from .report import FuzzFinding, FuzzReport
from .rules import RULES, Severity

ENGINE_TITLES = {
    Engine.HYPOTHESIS: "random objects (Hypothesis)",
    Engine.COMPARISONS: "comparisons in the code",
    Engine.CROSSHAIR: "symbolic objects (CrossHair)",
    Engine.PROGRAMS: "programs on a cache",
    Engine.THREADS: "threads",
    Engine.EXPLORER: "explorer",
    Engine.PERTURBATIONS: "other processes",
}
"""Engine -> its name in the output."""

_WIDTH = max(map(len, ENGINE_TITLES.values()))
_STYLES = {Status.OK: "bold green", Status.VIOLATION: "bold red", Status.UNKNOWN: "bold yellow"}


def engine_line(report: EngineReport) -> Text:
    """Return the line of an engine: ``  threads   12,000 calls by 4 threads``."""
    line = Text(f"  {ENGINE_TITLES[report.engine]:{_WIDTH}}  {report.did}")
    return line.append(f"; {printable(report.missed)}", style="yellow") if report.missed else line


def print_report(
    console: Console,
    report: FuzzReport,
    *,
    is_whole: bool = False,
    command_of: Callable[[ReplayRequest], str] = long_command,
) -> None:
    """Print every finding, then the verdict; with ``is_whole``, warnings are printed as completely as violations."""
    _print_objects(console, report)
    for finding in report.findings:
        if finding.severity is Severity.ERROR:
            console.print()
            print_fuzz_finding(console, finding, command_of)
    warnings = [finding for finding in report.findings if finding.severity is Severity.WARNING]
    if warnings:
        console.print()
        console.print(Text("Warnings (--strict makes them fail):", style="bold yellow"))
    for finding in warnings:
        if is_whole:
            console.print()
            print_fuzz_finding(console, finding, command_of)
        else:
            print_warning(console, finding)
    console.print()
    for reason in report.reasons:
        console.print(Text(f"  {printable(reason)}"), soft_wrap=True)
    said = f"{report.status.value}, interrupted" if report.is_interrupted else report.status.value
    verdict = Text(said, style=_STYLES[report.status])
    console.print(verdict + Text(f" after {report.seconds:.1f} s: {_counted(report)}"))


def print_fuzz_finding(
    console: Console, finding: FuzzFinding, command_of: Callable[[ReplayRequest], str] = long_command
) -> None:
    """Print the broken rule, the object, the consequences, and the replay command."""
    text = RULES[finding.rule]
    console.print(Text(f"{finding.rule.value.upper()} (found by: {ENGINE_TITLES[finding.engine]})", style="bold red"))
    console.print(Text(f"A correct function {text.demand}."))
    console.print()
    _print_indented(console, printable(finding.what))
    if finding.setting and finding.setting not in finding.what:
        _print_indented(console, printable(finding.setting))
    if finding.tier is InputClass.ADVERSARIAL:
        _print_indented(console, "A store should not hold this object.")
    _heading(console, "Smallest example:")
    console.out("\n".join(f"    {line}".rstrip() for line in finding.code.splitlines()), highlight=False)
    _heading(console, "Why it matters:")
    _print_indented(console, text.why)
    if finding.word:
        _heading(console, "Run it again:")
        console.print(Text(f"    {command_of(ReplayRequest((finding.word,)))}"), soft_wrap=True)


def print_warning(console: Console, finding: FuzzFinding) -> None:
    """Print a warning in a few lines: the rule, the symptom and the object."""
    where = " (for an object that a store should not hold)" if finding.tier is InputClass.ADVERSARIAL else ""
    console.print(Text(f"  {finding.rule.value}: {printable(finding.what)}{where}"), soft_wrap=True)
    objects = [line for line in finding.code.splitlines() if line and not line.startswith(("from ", "import "))]
    lines = objects[:-1] if len(objects) <= 4 else [*objects[:3], "..."]
    console.out("\n".join(f"      {line}" for line in lines), highlight=False)


def _print_objects(console: Console, report: FuzzReport) -> None:
    """Print the type of the objects, and the notes about their limits."""
    if report.objects:
        console.print(Text(f"  objects: {printable(report.shown_objects)}"), soft_wrap=True)
    for note in report.notes:
        console.print(Text(f"    {printable(note)}", style="yellow"), soft_wrap=True)


def _counted(report: FuzzReport) -> str:
    errors = len({finding.rule for finding in report.errors})
    warnings = len(report.findings) - len(report.errors)
    if not report.findings:
        return f"no object was found that breaks any of {len(report.rules)} rules; this is not a proof"
    broken = f"{errors} of {len(report.rules)} rules broken" if errors else f"none of {len(report.rules)} rules broken"
    return broken if not warnings else f"{broken}, {warnings} warning{'s' if warnings > 1 else ''}"


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(f"  {text}", style="bold"))


def _print_indented(console: Console, text: str) -> None:
    """Print wrapped, indented text without the trailing blanks that rich adds."""
    with console.capture() as capture:
        console.print(Padding(Text(text), (0, 0, 0, 4), expand=False))
    console.out("\n".join(line.rstrip() for line in capture.get().splitlines()), highlight=False)
