"""Several targets in one run: one after another, or some at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import Progress

from kcache_conformance.events import PhaseFinished, SuiteResult
from kcache_conformance.saved_failures import TargetFailures
from kcache_conformance.suite import run_suite
from kcache_conformance.suite_options import SuiteOptions
from kcache_model.errors import TargetError
from kcache_stress.interruption import ending_children, is_interrupted

from .console import TerminalProgress, phase_line, progress_bar, run_and_print, show_result

_POLL_SECONDS: Final = 0.2
"""A signal does not end a wait on every system; so often it is looked for."""


@dataclass(frozen=True)
class TargetRun:
    """What is to be run of one target.

    Attributes:
        name: of the target, for people.
        title: what is run, as a command line with its settings.
        target: the factory.
        options: of the run.
        saved: failures of earlier runs.
        spent_seconds: of the budget, what was spent to look at the target.
    """

    name: str
    title: str
    target: str
    options: SuiteOptions
    saved: TargetFailures
    spent_seconds: float = 0.0


def run_all(console: Console, runs: Sequence[TargetRun], at_once: int) -> Iterator[SuiteResult | TargetError]:
    """The results in the order of the runs, each shown before it is given, or why there is none.

    There are no more once the user stops.

    Args:
        console: where they are shown.
        runs: what is to be run.
        at_once: how many at the same time, each in child processes of its own.
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
                found = future.result()
                if found is None:
                    return
                console.print(run.title, soft_wrap=True)
                if isinstance(found, TargetError):
                    yield found
                    continue
                for phase in found.phases:
                    console.print(phase_line(phase), soft_wrap=True)
                show_result(console, run.target, run.options, found)
                yield found
        except BaseException:
            with ending_children():
                pool.shutdown(cancel_futures=True)
            raise


def _run(bar: Progress, run: TargetRun) -> SuiteResult | TargetError | None:
    """The result of one of several, or why there is none; ``None`` if the user stopped before it was begun."""
    if is_interrupted():
        return None
    try:
        progress = TerminalProgress(bar, _nothing, run.name)
        return run_suite(run.target, run.options, progress, run.saved, spent_seconds=run.spent_seconds)
    except TargetError as error:
        return error


def _nothing(_: PhaseFinished) -> None:
    """Lines of phases are printed when their target's turn has come."""
