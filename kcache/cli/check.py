"""``kcache check``: the main job."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcache_conformance.phases.suite_options import SuiteOptions, phase_ids
from kcache_conformance.report.run_report import RunReport
from kcache_conformance.results.baseline import read_baseline, write_baseline
from kcache_conformance.results.events import SuiteResult
from kcache_conformance.runs.guessed_type import type_of_target
from kcache_conformance.runs.saved_failures import SavedFailures, read_failures, write_failures
from kcache_conformance.targets.configuration import ConfiguredTarget, Waiver, find_configuration
from kcache_conformance.targets.replay_request import replay_request
from kcache_conformance.targets.target_type import TargetType
from kcache_model.errors import TargetError
from kcache_model.suggestion import did_you_mean
from kcache_model.verdict import Status

from .console import LONG_TOKEN, STATUS_STYLES, seconds_so_far, stdout_console
from .exits import EXIT_CODES, INTERRUPTED, USAGE, clear_errors, exit_code
from .options import (
    CommandRequest,
    budget_option,
    cancel_options,
    contract_option,
    data_races_option,
    instrument_option,
    jobs_option,
    leave_out_option,
    loop_option,
    patience_option,
    programs_option,
    seed_option,
    semantics_option,
    strict_errors_option,
    takes_request,
    target_argument,
    timeouts_option,
    type_option,
    type_text,
    verbosity_options,
)
from .outputs import outputs_option
from .several import TargetRun, run_all

_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class _Run:
    """One target to check: its name, and the options of its run."""

    name: str
    target: str
    target_type: TargetType
    options: SuiteOptions
    waivers: tuple[Waiver, ...] = ()
    spent_seconds: float = 0.0


@click.command()
@target_argument
@type_option("The type of TARGET:")
@budget_option("30s", "Time for the random phases. Phases of fixed length always run completely.")
@programs_option
@seed_option("Seed of all random choices.")
@semantics_option
@strict_errors_option
@contract_option
@click.option(
    "--only",
    metavar="PHASE",
    multiple=True,
    help="Run only this phase; may be repeated. By default all run.",
)
@click.option(
    "--without",
    metavar="PHASE",
    multiple=True,
    help="Skip this phase; may be repeated. If the explorer cannot handle your code, --without explorer lets the run "
    "end with ok.",
)
@click.option("-x", "first", is_flag=True, help="Stop at the first violation.")
@click.option(
    "--saved/--no-saved",
    "is_saved",
    default=True,
    envvar="KCACHE_SAVED",
    help="First replay the failures of earlier runs, which are kept in .kcache. This is the default.",
)
@click.option("--allow-skipped", is_flag=True, help="Exit with 0 even if the explorer could not do its work.")
@click.option("--baseline", type=_FILE, help="Accept the findings in this file; only other findings fail.")
@click.option(
    "--write-baseline", "new_baseline", type=_FILE, help="Write the findings of this run to a file for --baseline."
)
@jobs_option("How many targets are checked at the same time; the phases of one target run one after another.")
@data_races_option
@timeouts_option
@cancel_options
@loop_option
@instrument_option
@leave_out_option
@patience_option
@verbosity_options
@outputs_option
@takes_request
def check(
    request: CommandRequest,
    only: tuple[str, ...],
    without: tuple[str, ...],
    first: bool,
    is_saved: bool,
    allow_skipped: bool,
    baseline: Path | None,
    new_baseline: Path | None,
    jobs: int,
) -> None:
    """Check a class, a cache or a test for races, deadlocks and wrong results.

    TARGET is MODULE:NAME or FILE.py:NAME, with arguments if the class needs them: 'package.module:Pool(2)'. Its calls
    run one at a time, then in every order that threads allow (the explorer), then on real threads (stress). Caches are
    also compared with recorded behaviour of client-go.

    Prints one finding for each distinct symptom, with its smallest example: violations first, then advice.

    TARGET can also be a name from [tool.kcache.targets] in pyproject.toml or kcache.toml. Without TARGET, all of these
    are checked.
    """
    console = stdout_console()
    if not is_saved:
        click.get_current_context().meta[LONG_TOKEN] = True
    with clear_errors():
        outcomes: dict[str, SuiteResult | TargetError] = {}
        runs = []
        targets = _targets(request)
        for target in targets:
            try:
                run = _run(request, target)
                runs.append(replace(run, options=_chosen(run, only, without, first)))
            except TargetError as error:
                outcomes[target.name] = _unable(target.name, error, len(targets))
        accepted = {} if baseline is None else read_baseline(baseline)
        request.outputs.touch()
        failures = read_failures() if is_saved else SavedFailures({})
        runs = [_accepting(run, accepted.get(run.target, ())) for run in runs]
        to_do = [
            TargetRun(
                run.name,
                _title(run),
                run.target,
                run.options,
                failures.of(run.options.kind, run.target),
                seconds_so_far() if len(targets) == 1 else run.spent_seconds,
            )
            for run in runs
        ]
        completed = []
        for result, run in zip(run_all(console, to_do, jobs), runs, strict=False):
            if isinstance(result, TargetError):
                outcomes[run.name] = _unable(run.name, result, len(targets))
                continue
            outcomes[run.name] = result
            completed.append((run, result))
            failures = _with_failures(failures, run, result)
            outputs = request.outputs if len(targets) == 1 else request.outputs.named(run.name)
            outputs.write(RunReport("check", _title(run), run.target, run.options, result))
            _print_waivers(console, run, result)
        if new_baseline is not None and not any(result.is_interrupted for _, result in completed):
            write_baseline(new_baseline, [(run.target, run.target_type, result) for run, result in completed])
        if is_saved:
            write_failures(failures)
        if len(targets) > 1:
            console.print()
            console.print(_table({one.name: outcomes[one.name] for one in targets if one.name in outcomes}))
    sys.exit(max((_exit_code(outcome, allow_skipped) for outcome in outcomes.values()), key=_SEVERITY.index))


_SEVERITY = [EXIT_CODES[Status.OK], EXIT_CODES[Status.UNKNOWN], USAGE, EXIT_CODES[Status.VIOLATION], INTERRUPTED]


def _unable(name: str, error: TargetError, targets: int) -> TargetError:
    """Print that a target cannot be checked, if there are several targets; the others are checked.

    Raises:
        TargetError: it is the only target.
    """
    if targets == 1:
        raise error
    click.echo(f"kcache: error: {name}: {' '.join(str(error).split())}", err=True)
    return error


def _accepting(run: _Run, rules: tuple[str, ...]) -> _Run:
    return replace(run, options=replace(run.options, waived=(*run.options.waived, *rules)))


def _exit_code(result: SuiteResult | TargetError, allow_skipped: bool) -> int:
    if isinstance(result, TargetError):
        return USAGE
    is_ok = allow_skipped and result.verdict.startswith("ok, without")
    return exit_code(Status.OK if is_ok else result.status, is_interrupted=result.is_interrupted)


def _targets(request: CommandRequest) -> list[ConfiguredTarget]:
    """Return the targets to check: targets of the configuration file, or the typed target with the file's defaults."""
    configuration = find_configuration(Path.cwd())
    configured = configuration.targets
    if request.target is not None and request.target in configured:
        return [configured[request.target]]
    if request.target is None and not request.is_reference and configured:
        return [*configured.values()]
    suggestion = did_you_mean(request.target or "", configured)
    if request.target and ":" not in request.target and suggestion:
        raise click.UsageError(f"{configuration.file} has no target {request.target}{suggestion}")
    target, _ = replace(request, kind=request.kind or configuration.kind).resolved()
    return [ConfiguredTarget(target, target, configuration.kind, options=configuration.options)]


def _run(request: CommandRequest, target: ConfiguredTarget) -> _Run:
    """Return the run of a target. Precedence of options: command line, then environment, then configuration file.

    Raises:
        TargetError: the type of the target cannot be created.
    """
    began = time.monotonic()
    leave_out = request.options.leave_out or target.options.get("leave_out", ())
    target_type = type_of_target(target.factory, request.kind or target.kind, request.model or target.model, leave_out)
    typed = {name: getattr(request.options, name) for name in request.typed}
    waived = tuple(waiver.rule for waiver in target.waivers)
    values = {**target.options, **typed}
    options = replace(request.options, **values, kind=target_type.name, waived=waived).within(values)
    if target.without:
        phases = target_type.phases
        left_out = phase_ids(target.without, tuple(phases))
        options = replace(options, phases=tuple(phase for phase in phases if phase not in left_out))
    return _Run(target.name, target.factory, target_type, options, target.waivers, time.monotonic() - began)


def _chosen(run: _Run, only: Sequence[str], without: Sequence[str], first: bool) -> SuiteOptions:
    offered = tuple(run.target_type.phases)
    only, without = phase_ids(only, offered), phase_ids(without, offered)
    unknown = [name for name in (*only, *without) if name not in offered]
    if unknown:
        suggestion = did_you_mean(unknown[0], offered)
        known = f"the phases of --type {run.target_type.name} are: {', '.join(offered)}"
        raise click.UsageError(f"there is no phase {unknown[0]}; {known}{suggestion}")
    chosen = tuple(phase for phase in only or run.options.phases or offered if phase not in without)
    if not chosen:
        raise click.UsageError("--without leaves no phase to run")
    most = 1 if first else run.options.most_findings
    return replace(run.options, phases=chosen, most_findings=most)


def _title(run: _Run) -> str:
    options = run.options
    generation = f"semantics {options.semantics.value}, " if "semantics" in run.target_type.knows else ""
    strict = "contract strict, " if options.is_strict else ""
    settings = f"{generation}{strict}seed {options.seed}, budget {options.budget_text}"
    return f"kcache check {type_text(run.target_type)}{run.target} ({settings})"


def _with_failures(failures: SavedFailures, run: _Run, result: SuiteResult) -> SavedFailures:
    """Return the failures to save after a run: its violations, and older failures that are not known to be fixed."""
    wrong = [finding for finding in result.findings if finding.status is Status.VIOLATION]
    requests = [replay_request(finding, run.target) for finding in wrong]
    replays = [request for request in requests if request is not None]
    changed = failures.with_those_of(run.options.kind, run.target, (*replays, *result.unsettled), result.not_tested)
    return replace(changed, last=replays[0]) if replays else changed


def _print_waivers(console: Console, run: _Run, result: SuiteResult) -> None:
    for line in _waiver_lines(run, result):
        console.print(f"  {line}", soft_wrap=True, markup=False)


def _waiver_lines(run: _Run, result: SuiteResult) -> Iterator[str]:
    reported = {finding.rule for finding in result.findings}
    for waiver in run.waivers:
        if waiver.rule not in run.target_type.rules:
            yield f"unknown rule in a waiver: {waiver.rule}; `kcache rules` lists them"
        elif waiver.rule in reported:
            yield f"waived: {waiver.rule}" + (f" ({waiver.reason})" if waiver.reason else "")
        elif result.status is not Status.UNKNOWN:
            yield f"unused waiver: {waiver.rule}"


def _table(outcomes: Mapping[str, SuiteResult | TargetError]) -> Table:
    table = Table("target", "verdict", "rules broken", "advice")
    for name, result in outcomes.items():
        if isinstance(result, TargetError):
            table.add_row(name, Text("cannot be checked", style=STATUS_STYLES[Status.UNKNOWN]))
            continue
        wrong = [finding.rule for finding in result.findings if finding.status is not Status.OK]
        advice = [finding.rule for finding in result.findings if finding.is_advice and not finding.is_waived]
        verdict = Text(result.verdict, style=STATUS_STYLES[result.status])
        table.add_row(name, verdict, *(", ".join(dict.fromkeys(rules)) for rules in (wrong, advice)))
    return table
