"""Several targets in one run: one after another, or several in parallel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import Progress

from kcache_conformance.phases.suite_options import SuiteOptions
from kcache_conformance.results.events import PhaseFinished, SuiteResult
from kcache_conformance.runs.saved_failures import TargetFailures
from kcache_conformance.runs.suite import run_suite
from kcache_model.errors import TargetError
from kcache_stress.interruption import ending_children, is_interrupted

from .console import TerminalProgress, phase_line, progress_bar, run_and_print, show_result

_POLL_SECONDS: Final = 0.2
"""The interval at which a wait is interrupted: on some systems a signal does not end a wait."""


@dataclass(frozen=True)
class TargetRun:
    """The run of one target.

    Attributes:
        name: the name of the target in the output.
        title: the command line with its settings.
        target: the factory.
        options: options of the run.
        saved: failures of earlier runs.
        spent_seconds: the part of the budget that the inspection of the target has used.
    """

    name: str
    title: str
    target: str
    options: SuiteOptions
    saved: TargetFailures
    spent_seconds: float = 0.0


def run_all(console: Console, runs: Sequence[TargetRun], at_once: int) -> Iterator[SuiteResult | TargetError]:
    """Yield the results, or the errors of targets that cannot be checked, in the order of the runs.

    Each result is printed before it is yielded. If the user interrupts, there are no further results.

    Args:
        console: prints the results.
        runs: the runs.
        at_once: the number of parallel runs; each uses its own child processes.
    """
    if at_once == 1 or len(runs) == 1:
        for run in runs:
            try:
                result = run_and_print(
                    console, run.title, run.target, run.options, saved=run.saved, spent=run.spent_seconds
                )
            except TargetError as error:
                yield error
                continue
            yield result
            if result.is_interrupted:
                return
        return
    with progress_bar(console) as bar, ThreadPoolExecutor(at_once, "kcache check") as pool:
        try:
            for run, future in [(run, pool.submit(_run, bar, run)) for run in runs]:
                while not wait([future], _POLL_SECONDS).done:
                    continue
                outcome = future.result()
                if outcome is None:
                    return
                console.print(run.title, soft_wrap=True)
                if isinstance(outcome, TargetError):
                    yield outcome
                    continue
                for phase in outcome.phases:
                    console.print(phase_line(phase), soft_wrap=True)
                show_result(console, run.target, run.options, outcome)
                yield outcome
        except BaseException:
            with ending_children():
                pool.shutdown(cancel_futures=True)
            raise


def _run(bar: Progress, run: TargetRun) -> SuiteResult | TargetError | None:
    """Return the result of one of several runs, or its error; ``None`` if the user interrupted before it began."""
    if is_interrupted():
        return None
    try:
        progress = TerminalProgress(bar, _nothing, run.name)
        return run_suite(run.target, run.options, progress, run.saved, spent_seconds=run.spent_seconds)
    except TargetError as error:
        return error


def _nothing(_: PhaseFinished) -> None:
    """Ignore a finished phase: its line is printed later, together with the result of its target."""
