"""``kcache judge``: it checks a history that was recorded elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from click.core import ParameterSource
from rich.console import Console
from rich.text import Text

from kcache_conformance.objects.recordings import judge_specified
from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.report.finding_places import versions
from kcache_conformance.report.page import HEADLINES, Page, write_page
from kcache_conformance.report.run_report import RunReport, report_of_one_phase
from kcache_conformance.runs.written_runs import VERDICT_SCHEMA
from kcache_conformance.targets.judged_recording import JudgedRecording, JudgeOptions
from kcache_conformance.targets.target_type import TargetType
from kcache_conformance.targets.target_types import SPECIFIED, target_type_named
from kcache_model.linearizability import SearchBudget
from kcache_model.standard_specifications import STANDARD_SPECIFICATIONS
from kcache_model.verdict import Status
from kcache_stress.garbage import NoCollections

from .console import STATUS_STYLES, is_whole, seconds_so_far, show_finding, stdout_console
from .deadline import TooLate, deadline
from .exits import EXIT_CODES, clear_errors
from .options import (
    budget_option,
    json_value,
    megabytes,
    strict_errors_option,
    type_option,
    type_text,
    verbosity_options,
)
from .outputs import Outputs, outputs_option
from .replayable_input import ReplayableInput

_OWN = frozenset({"json", "html"})
"""Formats in which a verdict on a recording has its own document, with more facts than the report of a run."""

_MOST_STEPS: Final = 10**12
"""The limit of search steps: practically none, because the user limits time and memory."""

_PATIENCE, _LEAST_PATIENCE = 3.0, 2.0
"""The time limit of the command, including the explanation of a finding: this factor of the budget, plus these
seconds."""


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@type_option("The type of the recorded calls:")
@click.option(
    "--spec",
    metavar="SPEC",
    help=f"The specification of the recorded calls: {', '.join(STANDARD_SPECIFICATIONS)}, or your own MODULE:SPEC.",
)
@click.option(
    "--initial",
    "start",
    callback=json_value,
    metavar="JSON",
    help="With --spec: the initial value of a register, of each key of a map, or of a counter.",
)
@budget_option("60s", "Time for reading and judging.")
@click.option(
    "--memory",
    callback=megabytes,
    metavar="SIZE",
    default="4GB",
    show_default=True,
    help="Maximum memory of the process.",
)
@strict_errors_option
@verbosity_options
@outputs_option
def judge(
    file: str,
    target_type: TargetType,
    spec: str | None,
    start: Any,
    budget_seconds: float,
    memory: float,
    strict_errors: bool,
    outputs: Outputs,
) -> None:
    """Judge FILE, a history that was recorded elsewhere, in any language: is it linearizable?

    It is one of an indexed cache, unless --spec or --type says otherwise. FILE has one JSON document on each line, or
    with --spec what Jepsen, Knossos, Elle and Porcupine read, see docs/recordings.md; - reads standard input.
    Recorded as events, calls on an indexed cache are judged while they are read, however many there are.
    """
    console = stdout_console()
    is_typed = click.get_current_context().get_parameter_source("target_type") is ParameterSource.COMMANDLINE
    if spec is not None and is_typed:
        raise click.UsageError("use --spec or --type, not both")
    if spec is None and start is not None:
        raise click.UsageError("--initial needs --spec")
    options = SuiteOptions(
        kind=target_type.name if spec is None else f"{SPECIFIED}{spec}",
        strict_errors=strict_errors,
        budget_seconds=budget_seconds,
        phases=("judge",),
    )
    with clear_errors():
        outputs.touch()
        budget = SearchBudget(budget_seconds, _MOST_STEPS, memory)
        if spec is not None:
            target_type = target_type_named(options.kind)
        recordings = target_type.recordings
        if recordings is None:
            raise click.UsageError(f"recordings of --type {target_type.name} cannot be judged: it has no specification")
        title = f"kcache judge {type_text(target_type)}{file}"
        try:
            with (
                deadline(_PATIENCE * budget_seconds + _LEAST_PATIENCE),
                ReplayableInput.opened(file) as lines,
                NoCollections(),
                _counting(console) as count,
            ):
                if spec is not None:
                    judged = judge_specified(spec, lines(), start=start, strict_errors=strict_errors, budget=budget)
                else:
                    how = JudgeOptions(
                        budget=budget,
                        strict_errors=strict_errors,
                        is_whole=is_whole(console),
                        draws="html" in outputs.files,
                        on_calls=count,
                    )
                    judged = recordings.judge(lines, how)
        except TooLate:
            why = "the recording did not end in time, or its check did not"
            page = Page(title, Status.UNKNOWN, HEADLINES[Status.UNKNOWN], (why,))
            nothing = {"reason": why, **recordings.nothing}
            judged = JudgedRecording(Status.UNKNOWN, why, 0, "", None, nothing, lambda _, file: write_page(file, page))
        console.print(title, soft_wrap=True)
        if judged.summary:
            console.print(f"  {judged.summary}")
        if judged.finding is not None:
            console.print()
            show_finding(console, judged.finding, "<recorded>")
        elif judged.reason:
            console.print(f"  {judged.reason}", soft_wrap=True)
        head = {"schema": VERDICT_SCHEMA, "versions": versions(), "file": file, "type": target_type.name}
        document = {**head, "status": judged.status.value, **judged.document}
        _finish(console, _report(title, file, options, judged), outputs, document, partial(judged.write_page, title))


def _finish(
    console: Console,
    report: RunReport,
    outputs: Outputs,
    document: Mapping[str, object],
    write_html: Callable[[Path], None],
) -> NoReturn:
    """Print the verdict, write the requested files, and exit with the code of the verdict."""
    status = report.result.status
    console.print()
    console.print(Text(status.value, style=STATUS_STYLES[status]))
    if "json" in outputs.files:
        text = json.dumps(document, indent=2) + "\n"
        outputs.write_file("json", lambda file: file.write_text(text, encoding="utf-8"))
    if "html" in outputs.files:
        outputs.write_file("html", write_html)
    outputs.write(report, without=_OWN)
    sys.exit(EXIT_CODES[status])


def _report(title: str, file: str, options: SuiteOptions, judged: JudgedRecording) -> RunReport:
    """Return the verdict as the report of a run with one phase."""
    unknown = judged.reason if judged.status is Status.UNKNOWN else ""
    report = RunReport("judge", title, file, options)
    findings = () if judged.finding is None else (judged.finding,)
    counts = {"programs": judged.calls}
    return report_of_one_phase(report, judged.status, findings, counts, unknown, seconds=seconds_so_far())


@contextmanager
def _counting(console: Console) -> Iterator[Callable[[int], None]]:
    """Show on a terminal the number of calls that have been judged."""
    with console.status("reading") as status:
        yield lambda calls: status.update(f"judged {calls:,} calls")
