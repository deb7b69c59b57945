"""``kcache explore``: the explorer alone."""

from __future__ import annotations

import enum
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import replace

import click
from rich.text import Text

from kcache_conformance.classes.called_under_lock import advice_of_left_out
from kcache_conformance.phases.symptoms import with_severity
from kcache_conformance.report.run_report import RunReport, report_of_one_phase
from kcache_conformance.results.exploration_outcomes import without_calls
from kcache_conformance.verification.batch import Batch, describe
from kcache_conformance.verification.spread import spread
from kcache_model.errors import TargetError
from kcache_model.verdict import Status
from kcache_stress.engine.granularity import REWRITTEN, Granularity
from kcache_stress.engine.search import PATIENT
from kcache_stress.strategies.registry import AUTO, NAMES, OPCODES, sampling_names, strategy_named
from kcache_stress.target.explore import ExploreOptions

from .console import seconds_so_far, show_finding, stdout_console
from .exits import clear_errors, exit_code
from .explorer_report import progress, text_of_tested_code
from .options import (
    CommandRequest,
    budget_option,
    cancel_options,
    data_races_option,
    executor,
    explorer_options,
    loop_option,
    programs_option,
    seed_option,
    takes_request,
    target_argument,
    timeouts_option,
    type_option,
    type_text,
    verbosity_options,
)
from .outputs import outputs_option
from .programs import read_program

_BATCH_PROGRAMS = 40
_MOST_EXECUTIONS = 20_000
_MOST_SAMPLES = 200
_SAMPLING = sampling_names(ExploreOptions())
_MOST_EXAMPLES = 1_000_000
_MOST_SPENT = 0.5
"""The largest fraction of the budget that the inspection of the target can use up."""


def _shape(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, int]:
    match = re.fullmatch(r"([2-4])x([1-4])", value.strip())
    if match is None:
        raise click.BadParameter(f"{value!r} is not a shape; write for example 2x2, at most 4x4")
    return int(match[1]), int(match[2])


class Generator(enum.StrEnum):
    """The generator of the programs."""

    THEMES = "themes"
    """kcache's seeded generator, with programs that are likely to fail."""
    HYPOTHESIS = "hypothesis"
    """Hypothesis, which also shrinks them."""


@click.command()
@target_argument
@type_option("The type of TARGET:")
@click.option("--program", help="Explore only this program: a token that kcache printed, or a JSON file.")
@click.option(
    "--generator",
    type=click.Choice([generator.value for generator in Generator]),
    default=Generator.THEMES.value,
    show_default=True,
    help="Generator of the programs: kcache, with themes that are likely to fail (themes), or Hypothesis, which "
    "shrinks the first program that fails (hypothesis).",
)
@click.option(
    "--strategy",
    metavar="STRATEGY",
    default=AUTO,
    show_default=True,
    help=f"How the interleavings of a program are searched: {', '.join(NAMES)}, or your own MODULE:STRATEGY. "
    "auto runs a few samples (pos; for tests, surw and guided), then all interleavings (dpor). If a target cannot be "
    "instrumented, opcodes switches at random opcodes of its unchanged Python code.",
)
@click.option(
    "--granularity",
    type=click.Choice([granularity.value for granularity in REWRITTEN]),
    default=Granularity.FREE.value,
    show_default=True,
    help="Where threads are switched: at every access (free), where an interpreter with a GIL can switch (gil), or at "
    "locks only (sync).",
)
@click.option(
    "--shape",
    callback=_shape,
    default="3x2",
    show_default=True,
    metavar="THREADSxOPERATIONS",
    help="The largest programs, up to 4x4.",
)
@budget_option("30s", "Time for everything.")
@programs_option
@click.option(
    "--executions",
    type=click.IntRange(min=1),
    help=f"The most executions of one program.  [default: 20000; 200 for {', '.join(_SAMPLING)}]",
)
@click.option(
    "--preemptions", type=click.IntRange(0, 20), default=2, show_default=True, help="Bound of --strategy bounded."
)
@click.option("--depth", type=click.IntRange(1, 20), default=3, show_default=True, help="Bug depth of --strategy pct.")
@click.option("-x", "first", is_flag=True, help="Stop at the first violation.")
@seed_option("Seed of all random choices.")
@data_races_option
@timeouts_option
@cancel_options
@loop_option
@explorer_options
@verbosity_options
@outputs_option
@takes_request
def explore(
    request: CommandRequest,
    program: str | None,
    generator: str,
    strategy: str,
    granularity: str,
    executions: int | None,
    preemptions: int,
    depth: int,
    first: bool,
    jobs: int,
    dask: str | None,
) -> None:
    """Explore the interleavings of concurrent programs on TARGET, deterministically.

    The modules of TARGET are instrumented and run under a virtual scheduler. Shows the interleaving of each distinct
    violation.
    """
    target, suite_options = request.resolved("explorer")
    suite_options = suite_options.within(request.typed)
    target_type, seed, budget = request.target_type, suite_options.seed, suite_options.budget_seconds
    console = stdout_console()
    by_hypothesis = generator == Generator.HYPOTHESIS.value
    if by_hypothesis:
        _require_one_search(program, jobs, dask)
    if strategy == OPCODES and granularity == Granularity.SYNC.value:
        raise click.UsageError(
            "--strategy opcodes switches at opcodes: write --granularity gil, or leave the option out"
        )
    options = ExploreOptions(
        strategy=strategy,
        granularity=_granularity(strategy, granularity),
        executions=executions or (_MOST_SAMPLES if strategy in _SAMPLING else _MOST_EXECUTIONS),
        seconds=budget,
        preemptions=preemptions,
        depth=depth,
        walk=0 if target_type.exploring is None else target_type.exploring.walk,
        seed=seed,
        strict_errors=suite_options.strict_errors,
        data_races=suite_options.data_races,
        widens=True,
    )
    title = (
        f"kcache explore {type_text(target_type)}{target} "
        f"(strategy {options.strategy}, granularity {options.granularity.value})"
    )
    with clear_errors():
        request.outputs.touch()
        if strategy not in NAMES:
            strategy_named(strategy)
        only = None if target_type.exploring is None else target_type.exploring.only
        own_program = None if only is None else only(suite_options)
        chosen_program = own_program if program is None else read_program(program, target_type)
        chosen = () if chosen_program is None else (chosen_program,)
        description = describe(target, suite_options.instrument, options.granularity, target_type.name)
        if description.refused:
            stress = f"use stress instead: kcache check {type_text(target_type)}{target} --only stress"
            raise TargetError(f"{target} cannot be explored: {description.refused}; {stress}")
        template = Batch(
            target,
            options,
            suite_options,
            programs=chosen,
            seconds=budget,
        )
        remaining = budget - min(seconds_so_far(), _MOST_SPENT * budget)  # the inspection of the target counts as well
        template = replace(template, seconds=remaining)
        console.print(title + text_of_tested_code(description), soft_wrap=True)
        with progress(console, budget) as show, executor(dask) as pool:
            if by_hypothesis:
                from kcache_conformance.verification.explored_examples import explore_examples  # it needs hypothesis

                examples = replace(template, seeds=(_first_seed(seed), suite_options.programs or _MOST_EXAMPLES))
                tally = explore_examples(examples, lambda so_far: show(None, so_far))
            else:
                tally, _ = spread(
                    iter([template]) if chosen else _random(template, seed, suite_options.programs),
                    jobs=jobs,
                    executor=pool,
                    seconds=remaining,
                    most_findings=1 if first else suite_options.most_findings,
                    on_tally=lambda so_far: show(None, so_far),
                )
    if tally.audited:
        console.print(f"  audited: {tally.audited}, {tally.audited.executions:,} executions of the unchanged code")
    explored = f"{tally.programs} programs, {tally.executions} executions, {tally.exhausted} programs exhausted"
    console.print(f"  {explored}")
    if tally.note:
        console.print(f"  no proof: {tally.note}", soft_wrap=True)
    elif PATIENT in tally.assumes:
        console.print("  --timeouts any-time also lets long waits end while other threads can go on")
    advised_against = {**target_type.advised_against, **advice_of_left_out(description.left_out)}
    findings = [with_severity(finding, target_type.rules, suite_options, advised_against) for finding in tally.findings]
    for finding in findings:
        console.print()
        show_finding(console, finding, target)
    if findings:
        statuses = {finding.status for finding in findings}
        worst = (Status.VIOLATION, Status.UNKNOWN, Status.OK)
        status, verdict = next(one for one in worst if one in statuses), "the findings are not confirmed"
    elif tally.is_interrupted:
        status, verdict = Status.UNKNOWN, "it was interrupted"
    elif not tally.programs:
        status, verdict = Status.UNKNOWN, "no program could be run"
    elif tally.note or (chosen and not tally.exhausted):
        advice = "" if tally.note else f"; {tally.most_orders}increase the budget"
        status, verdict = Status.UNKNOWN, f"not all interleavings were covered{advice}"
    elif missing := without_calls(description.left_out):
        status, verdict = Status.UNKNOWN, missing
    else:
        status, verdict = Status.OK, ""
    with clear_errors():
        counts = {"programs": tally.programs, "executions": tally.executions, "exhausted": tally.exhausted}
        headline = "No interleaving that was tried fails." if status is Status.OK else ""
        paragraphs = (f"No proof: {tally.note}.",) if tally.note else ()
        report = RunReport("explore", title, target, suite_options, headline=headline, paragraphs=paragraphs)
        report = report_of_one_phase(
            report,
            status,
            findings,
            counts,
            verdict,
            no_proof=tally.note,
            assumes=tally.assumes,
            seconds=tally.seconds,
            is_interrupted=tally.is_interrupted,
            tested=description.tested,
        )
        request.outputs.write(report)
    if status is Status.UNKNOWN:
        console.print(f"unknown: {verdict}", style="bold yellow")
    elif status is Status.OK:
        console.print(Text("ok", style="bold green") + Text(f": {report.result.shown}"), soft_wrap=True)
    sys.exit(exit_code(status, is_interrupted=tally.is_interrupted))


def _granularity(strategy: str, granularity: str) -> Granularity:
    if strategy == OPCODES:
        return Granularity.OPCODES_GIL if granularity == Granularity.GIL.value else Granularity.OPCODES
    return Granularity(granularity)


def _require_one_search(program: str | None, jobs: int, dask: str | None) -> None:
    """Reject options that Hypothesis cannot serve: each example depends on the earlier ones, so there is one search.

    Raises:
        click.UsageError: the program is given, or the work is to be distributed.
    """
    if program is not None:
        raise click.UsageError(
            "--generator hypothesis writes programs, and --program names one: leave out one of the two"
        )
    if jobs > 1 or dask is not None:
        raise click.UsageError(
            "--generator hypothesis works in one process: leave out --jobs and --dask; "
            "to use more processes, run it several times with a different --seed"
        )


def _first_seed(seed: int) -> int:
    """Return the first program seed of a run; the ranges of different run seeds are about a million seeds apart."""
    return seed * 1_000_003


def _random(template: Batch, seed: int, programs: int | None) -> Iterator[Batch]:
    """Yield batches of random programs: without end, or ``programs`` programs in total."""
    first = _first_seed(seed)
    for begun in itertools.count(0, _BATCH_PROGRAMS) if programs is None else range(0, programs, _BATCH_PROGRAMS):
        size = _BATCH_PROGRAMS if programs is None else min(_BATCH_PROGRAMS, programs - begun)
        yield replace(template, seeds=(first + begun, size), is_first=not begun)
