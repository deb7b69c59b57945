"""Measures the fuzzer on the example index functions: ``python benchmarks/fuzzing/run.py``."""

from __future__ import annotations

import platform
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.sheet import Sheet, shown
from kcache_conformance.fuzzing.options import FuzzOptions
from kcache_conformance.fuzzing.report import FuzzReport
from kcache_conformance.fuzzing.rules import Kind
from kcache_conformance.fuzzing.session import fuzz
from kcache_conformance.targets.gallery import FunctionExample, function_gallery


@dataclass(frozen=True)
class Trial:
    """One function, fuzzed with several seeds: until the first violation, or to the end if it is correct."""

    example: FunctionExample
    reports: tuple[FuzzReport, ...]

    @property
    def hits(self) -> int:
        """How often a rule was found broken that the catalog names."""
        return sum(bool(self.named(report)) for report in self.reports)

    @property
    def accused(self) -> int:
        """How often something else failed."""
        return sum(len(report.errors) > len(self.named(report)) for report in self.reports)

    def named(self, report: FuzzReport) -> list[str]:
        """The engines that found rules of the catalog."""
        return [finding.engine.value for finding in report.errors if finding.rule.value in self.example.rules]


@click.command(help=__doc__)
@click.option("--seconds", default=20.0, show_default=True, help="The budget of each run.")
@click.option("--seeds", default=1, show_default=True, help="Runs of each function.")
@click.option("--most", type=int, help="Only so many faulty and so many correct ones.")
@click.option("--held-out/--known", "held_out", default=None, help="Only these; by default both.")
def main(seconds: float, seeds: int, most: int | None, held_out: bool | None) -> None:
    console = Console(width=max(Console().width, 140))
    console.print(f"CPython {platform.python_version()}")
    examples = [example for example in function_gallery() if held_out in (None, example.is_held_out)]
    for title, is_correct in (("Faulty index functions", False), ("Correct index functions", True)):
        chosen = [example for example in examples if example.is_correct is is_correct][:most]
        trials = [_tried(example, seconds, seeds) for example in chosen]
        console.print(shown(_sheet(f"{title}, budget {seconds:g} s", trials)))


def _tried(example: FunctionExample, seconds: float, seeds: int) -> Trial:
    reports = tuple(
        fuzz(
            f"{example.path}:index_func",
            Kind.INDEX,
            FuzzOptions(budget_seconds=seconds, seed=seed, is_first_enough=not example.is_correct),
        )
        for seed in range(seeds)
    )
    return Trial(example, reports)


def _sheet(title: str, trials: list[Trial]) -> Sheet:
    rows = []
    for trial in trials:
        times = [report.seconds for report in trial.reports]
        engines = sorted({engine for report in trial.reports for engine in trial.named(report)})
        found = sorted({finding.rule.value for report in trial.reports for finding in report.errors})
        rows.append(
            (
                f"{trial.example.name}{' *' if trial.example.is_held_out else ''}",
                f"{trial.hits} of {len(trial.reports)}",
                f"{trial.accused}",
                f"{statistics.median(times):.1f}",
                f"{max(times):.1f}",
                ", ".join(engines),
                ", ".join(found),
            )
        )
    every = [report.seconds for trial in trials for report in trial.reports] or [0.0]
    runs = sum(len(trial.reports) for trial in trials)
    rows.append(
        (
            "all",
            f"{sum(trial.hits for trial in trials)} of {runs}",
            f"{sum(trial.accused for trial in trials)}",
            f"{statistics.median(every):.1f}",
            f"{max(every):.1f}",
            "",
            "",
        )
    )
    columns = ("", "caught", "accused of more", "median s", "worst s", "by", "rules")
    return Sheet(f"{title} (* held out)", columns, rows)


if __name__ == "__main__":
    main()
