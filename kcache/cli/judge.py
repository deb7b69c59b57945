"""``kcache judge``: it checks a history that was recorded elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import click
from click.core import ParameterSource
from rich.console import Console
from rich.text import Text

from kcache_conformance.objects.recordings import JudgedCalls, judge_calls, judge_specified
from kcache_conformance.report.finding_places import versions
from kcache_conformance.report.page import HEADLINES, Page, page_of_finding, page_of_history, write_page
from kcache_conformance.report.page.cutting import MOST_CALLS
from kcache_conformance.report.run_report import RunReport, report_of_one_phase
from kcache_conformance.report.written_runs import VERDICT_SCHEMA
from kcache_conformance.suite_options import DEFAULT_TYPE, SuiteOptions
from kcache_conformance.target_type import TargetType
from kcache_conformance.target_types import SPECIFIED, target_type_named
from kcache_model.codec import encode_call, encode_finding
from kcache_model.errors import FormatError
from kcache_model.finding import Finding, FindingKind
from kcache_model.foreign_recordings import format_of
from kcache_model.indexers.codec import INDEXERS
from kcache_model.indexers.program import History
from kcache_model.indexers.recording import (
    MOST_EXPLAINED,
    Lines,
    RecordingVerdict,
    encode_thread,
    judge_recording,
    recorded_history,
)
from kcache_model.linearizability import SearchBudget
from kcache_model.render import brief_text, outcome_text
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
from .rereading import Rereadable

_MOST_SHOWN = 12
_OWN = frozenset({"json", "html"})
"""Formats in which a verdict on a recording has its own document, with more facts than the report of a run."""

_MOST_STEPS: Final = 10**12
"""The limit of search steps: practically none, because the user limits time and memory."""

_PATIENCE, _LEAST_PATIENCE = 3.0, 2.0
"""The time limit of the command, including the explanation of a finding: this factor of the budget, plus these
seconds."""


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@type_option("What the calls were made on:")
@click.option(
    "--spec",
    metavar="SPEC",
    help="What the calls were made on, by what they must give: "
    f"{', '.join(STANDARD_SPECIFICATIONS)}, or MODULE:SPEC of your own.",
)
@click.option(
    "--initial",
    "start",
    callback=json_value,
    metavar="JSON",
    help="With --spec: what a register, or each key of a map, holds at first, or where a counter begins.",
)
@budget_option("60s", "How long to read and to judge.")
@click.option(
    "--memory",
    callback=megabytes,
    metavar="SIZE",
    default="4GB",
    show_default=True,
    help="How much memory the process may take.",
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
        raise click.UsageError("give --spec or --type, not both")
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
            _judge_calls(
                console,
                file,
                options,
                outputs,
                lambda lines: judge_specified(spec, lines, start=start, strict_errors=strict_errors, budget=budget),
            )
        if target_type.specification is not None:
            _judge_calls(
                console,
                file,
                options,
                outputs,
                lambda lines: judge_calls(target_type, lines, strict_errors=strict_errors, budget=budget),
            )
        if target_type.name != DEFAULT_TYPE:
            raise click.UsageError(f"recordings of --type {target_type.name} cannot be judged: it has no specification")
        try:
            with (
                deadline(_PATIENCE * budget_seconds + _LEAST_PATIENCE),
                Rereadable.opened(file) as lines,
                NoCollections(),
                _counting(console) as count,
            ):
                foreign = format_of(lines())
                if foreign is not None:
                    raise FormatError(
                        f"{file} is in the format {foreign.value}: say with --spec what the calls were made on"
                    )
                result = judge_recording(
                    lines, strict_errors=strict_errors, seconds=budget_seconds, megabytes=memory, on_calls=count
                )
                drawn = result.history
                if "html" in outputs.files and not drawn.calls and result.calls <= MOST_CALLS:
                    drawn = recorded_history(lines)
        except TooLate:
            nothing: dict[str, object] = {"anomaly": None, "calls": 0, "open": 0, "threads": 0, "core": []}
            _too_late(console, file, options, outputs, nothing)
        console.print(f"kcache judge {file}", soft_wrap=True)
        console.print(f"  {_counts(result)}")
        finding = _finding(result, is_whole=is_whole(console)) if result.verdict.status is Status.VIOLATION else None
        if finding is not None:
            console.print()
            show_finding(console, finding, file)
        elif result.verdict.reason:
            console.print(f"  {result.verdict.reason}", soft_wrap=True)
        _finish(
            console,
            _report(file, options, result.verdict.status, result.verdict.reason, finding, result.calls),
            outputs,
            lambda: _document(file, result, target_type),
            lambda: _page(file, result, drawn, strict_errors=strict_errors),
        )


def _too_late(
    console: Console, file: str, options: SuiteOptions, outputs: Outputs, nothing: dict[str, object]
) -> NoReturn:
    """Report that the recording was not read or judged in time; ``nothing`` has the empty fields of the document."""
    why = "the recording did not come to its end in time, or there is no answer yet"
    report = _report(file, options, Status.UNKNOWN, why, None, 0)
    console.print(report.title, soft_wrap=True)
    console.print(f"  {why}", soft_wrap=True)
    head = _verdict_head(file, Status.UNKNOWN, target_type_named(options.kind))
    page = Page(report.title, Status.UNKNOWN, HEADLINES[Status.UNKNOWN], (why,))
    _finish(console, report, outputs, lambda: {**head, "reason": why, **nothing}, lambda: page)


def _judge_calls(
    console: Console,
    file: str,
    options: SuiteOptions,
    outputs: Outputs,
    judged: Callable[[Iterable[str]], JudgedCalls],
) -> NoReturn:
    """Judge a history of calls on an object with a specification, print the verdict, and exit."""
    target_type = target_type_named(options.kind)
    try:
        with (
            deadline(_PATIENCE * options.budget_seconds + _LEAST_PATIENCE),
            Rereadable.opened(file) as lines,
            NoCollections(),
        ):
            result = judged(lines())
    except TooLate:
        _too_late(console, file, options, outputs, {"calls": 0, "finding": None})
    title, status, finding = f"kcache judge {type_text(target_type)}{file}", result.verdict.status, result.finding
    console.print(title, soft_wrap=True)
    console.print(f"  {len(result.calls)} calls")
    if finding is not None:
        console.print()
        show_finding(console, finding, "<recorded>")
    elif result.verdict.reason:
        console.print(f"  {result.verdict.reason}", soft_wrap=True)

    def document() -> dict[str, object]:
        encoded = None if finding is None else encode_finding(finding, target_type.codec)
        return {**_verdict_head(file, status, target_type), "calls": len(result.calls), "finding": encoded}

    def page() -> Page:
        if finding is None:
            return Page(title, status, HEADLINES[status], tuple(filter(None, [result.verdict.reason])))
        return page_of_finding(finding, "<recorded>", title=title, strict_errors=options.strict_errors)

    report = _report(file, options, status, result.verdict.reason, finding, len(result.calls))
    _finish(console, report, outputs, document, page)


def _finish(
    console: Console,
    report: RunReport,
    outputs: Outputs,
    document: Callable[[], dict[str, object]],
    page: Callable[[], Page],
) -> NoReturn:
    """Print the verdict, write the requested files, and exit with the code of the verdict."""
    status = report.result.status
    console.print()
    console.print(Text(status.value, style=STATUS_STYLES[status]))
    if "json" in outputs.files:
        text = json.dumps(document(), indent=2) + "\n"
        outputs.write_file("json", lambda file: file.write_text(text, encoding="utf-8"))
    if "html" in outputs.files:
        outputs.write_file("html", lambda file: write_page(file, page()))
    outputs.write(report, without=_OWN)
    sys.exit(EXIT_CODES[status])


def _report(
    file: str, options: SuiteOptions, status: Status, reason: str, finding: Finding | None, calls: int
) -> RunReport:
    """Return the verdict as the report of a run with one phase."""
    title = f"kcache judge {type_text(target_type_named(options.kind))}{file}"
    unknown = reason if status is Status.UNKNOWN else ""
    report = RunReport("judge", title, file, options)
    findings = () if finding is None else (finding,)
    return report_of_one_phase(report, status, findings, {"programs": calls}, unknown, seconds=seconds_so_far())


@contextmanager
def _counting(console: Console) -> Iterator[Callable[[int], None]]:
    """Show on a terminal the number of calls that have been judged."""
    with console.status("reading") as status:
        yield lambda calls: status.update(f"judged {calls:,} calls")


def _counts(result: RecordingVerdict) -> str:
    read = " until the violation" if result.verdict.status is Status.VIOLATION else ""
    still_open = f", {result.pending:,} of them still open" if result.pending else ""
    return f"{result.calls:,} calls by {result.threads:,} threads{read}{still_open}"


def _lines_text(lines: Lines) -> str:
    if lines.end == lines.begin:
        return f"line {lines.begin}"
    return f"lines {lines.begin} to {lines.end}" if lines.end is not None else f"line {lines.begin}, still open"


def _finding(result: RecordingVerdict, *, is_whole: bool) -> Finding:
    verdict = result.verdict
    in_core = {id(call) for call in verdict.core}
    is_all = is_whole or len(result.history.calls) <= _MOST_SHOWN
    calls = [call for call in result.history.calls if is_all or id(call) in in_core]
    core = tuple(position for position, call in enumerate(calls) if id(call) in in_core)
    where = [
        f"{_lines_text(lines)}: {brief_text(call.operation)} -> {outcome_text(call.outcome)}"
        for lines, call in zip(result.lines, result.history.calls, strict=True)
        if id(call) in in_core
    ]
    return Finding(
        FindingKind.NONLINEARIZABLE,
        "judge",
        verdict.reason,
        calls=tuple(calls),
        core=core,
        detail="\n".join(where),
        anomaly=verdict.anomaly,
    )


def _page(file: str, result: RecordingVerdict, drawn: History, *, strict_errors: bool) -> Page:
    title = f"kcache judge {file}"
    is_told_only = len(drawn.calls) < result.calls and result.calls > MOST_EXPLAINED
    if not is_told_only and (drawn.calls or not result.calls):
        return page_of_history(drawn, result.verdict, title=title, note=_counts(result), strict_errors=strict_errors)
    paragraphs = (f"{_counts(result)}: too many to be drawn.", result.verdict.reason)
    return Page(title, result.verdict.status, HEADLINES[result.verdict.status], tuple(filter(None, paragraphs)))


def _verdict_head(file: str, status: Status, target_type: TargetType) -> dict[str, object]:
    head = {"schema": VERDICT_SCHEMA, "versions": versions(), "file": file, "type": target_type.name}
    return {**head, "status": status.value}


def _document(file: str, result: RecordingVerdict, target_type: TargetType) -> dict[str, object]:
    in_core = {id(call) for call in result.verdict.core}
    return {
        **_verdict_head(file, result.verdict.status, target_type),
        "reason": result.verdict.reason,
        "anomaly": None if result.verdict.anomaly is None else result.verdict.anomaly.value,
        "calls": result.calls,
        "open": result.pending,
        "threads": result.threads,
        "core": [
            {
                "begins": lines.begin,
                "ends": lines.end,
                **encode_call(call, INDEXERS),
                "thread": encode_thread(call.thread),
            }
            for lines, call in zip(result.lines, result.history.calls, strict=True)
            if id(call) in in_core
        ],
    }
