"""Measures stress with real threads on the gallery: ``python benchmarks/stress/run.py``."""

from __future__ import annotations

import platform
import statistics
import sys
from pathlib import Path

import click
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from benchmarks.sheet import Sheet, shown
from benchmarks.stress.gallery import Hunt, correct, faults, hunts
from kcache_model.verdict import Status

GOAL = 0.75
"""The share of the concurrent faults that must be found within the seconds that each has."""


@click.command(help=__doc__)
@click.option("--seconds", default=10.0, show_default=True, help="For each fault.")
@click.option("--minutes", default=10.0, show_default=True, help="For all correct designs together; 0 leaves them out.")
@click.option("--seeds", default=1, show_default=True, help="Runs of each fault.")
@click.option("--jobs", default=1, show_default=True, help="Targets at the same time.")
@click.option("--most", type=int, help="Only so many faults, and so many correct designs.")
def main(seconds: float, minutes: float, seeds: int, jobs: int, most: int | None) -> None:
    console = Console(width=max(Console().width, 120))
    console.print(f"CPython {platform.python_version()}")
    console.print(shown(found(hunts(faults(most), seconds, seeds, jobs), seconds)))
    subjects = correct(most)
    if minutes:
        each = 60 * minutes * jobs / len(subjects)
        console.print(shown(alarms(hunts(subjects, each, 1, jobs), minutes)))


def found(by_name: dict[str, list[Hunt]], seconds: float) -> Sheet:
    """Each fault, slowest first."""
    rows = []
    for name, each in sorted(by_name.items(), key=lambda entry: -statistics.median(hunt.seconds for hunt in entry[1])):
        kinds = ", ".join(sorted({hunt.kind for hunt in each if hunt.kind}))
        times = [hunt.seconds for hunt in each]
        hit = sum(hunt.status is Status.VIOLATION for hunt in each)
        calls = max(hunt.calls for hunt in each)
        rows.append(
            (name, f"{hit} of {len(each)}", f"{statistics.median(times):.1f}", f"{max(times):.1f}", f"{calls}", kinds)
        )
    every = [hunt for each in by_name.values() for hunt in each]
    times = [hunt.seconds for hunt in every]
    hit = sum(hunt.status is Status.VIOLATION for hunt in every)
    goal = f"goal: {GOAL:.0%}"
    rows.append(("all", f"{hit} of {len(every)}", f"{statistics.median(times):.1f}", f"{max(times):.1f}", "", goal))
    return Sheet(
        f"Concurrent faults, {seconds:g} s each", ("", "found", "median s", "worst s", "calls shown", ""), rows
    )


def alarms(by_name: dict[str, list[Hunt]], minutes: float) -> Sheet:
    """What is said of correct targets."""
    rows = []
    for name, (hunt,) in by_name.items():
        share = f"{hunt.overlapped / max(1, hunt.operations):.0%}"
        rows.append((name, hunt.status.value, f"{hunt.operations:,}", share))
    every = [hunt for (hunt,) in by_name.values()]
    accused = sum(hunt.status is not Status.OK for hunt in every)
    rows.append(("all", f"{accused} not ok", f"{sum(hunt.operations for hunt in every):,}", ""))
    return Sheet(f"Correct designs, {minutes:g} minutes in all", ("", "verdict", "calls", "overlapped another"), rows)


if __name__ == "__main__":
    main()
