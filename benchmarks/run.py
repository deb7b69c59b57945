"""Measures all subjects in one process, interleaved, and prints one table: ``python benchmarks/run.py``."""

from __future__ import annotations

import gc
import platform
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.operations import Cell, Row, rows
from benchmarks.pods import Data
from benchmarks.subjects import NAIVE, Subject, installed

Results = dict[str, dict[str, list[float]]]
"""Row -> subject -> what one operation took, repetition by repetition."""

WIDTH = 140
"""Columns that the table needs; a file or a narrow terminal gets them, too."""

LONG_ENOUGH = 0.002
"""Seconds that the measured part of one repetition should take at least ..."""

TOO_LONG = 0.1
"""... unless all of it, with what puts the subject back, takes longer than this."""


def measured(
    factories: dict[str, Callable[[], Subject]], table: Iterable[Row], data: Data, repetitions: int
) -> Results:
    """Takes turns: each repetition of a row visits all subjects, so a busy moment of the machine hits all alike.

    Short operations are done once more beforehand: no subject shall pay for what its predecessor left in the caches
    of the processor.
    """
    subjects = {name: factory() for name, factory in factories.items()}
    for subject in subjects.values():
        for pod in data.stored:
            subject.add(pod)
    gc.collect()
    gc.freeze()
    results: Results = {}
    try:
        for row in table:
            cells = {
                name: Cell(factories[name], subject, data)
                for name, subject in subjects.items()
                if row.possible_for(subject)
            }
            loops = {name: calibrated(row, cell) for name, cell in cells.items()}
            results[row.name] = {name: [] for name in cells}
            for _ in range(max(1, round(repetitions * row.repetitions))):
                for name, cell in cells.items():
                    if row.short:
                        row.measure(cell, loops[name])
                    results[row.name][name].append(row.measure(cell, loops[name]) / loops[name])
    finally:
        gc.unfreeze()
        for subject in subjects.values():
            subject.close()
    return results


def calibrated(row: Row, cell: Cell) -> int:
    """How many operations fill a repetition; also warms the cell up."""
    loops = row.least_loops
    while loops < row.most_loops:
        started = perf_counter()
        if row.measure(cell, loops) >= LONG_ENOUGH or perf_counter() - started >= TOO_LONG:
            break
        loops = min(2 * loops, row.most_loops)
    return loops


def shown(row: Row, value: float) -> str:
    """A value in a unit that suits its size."""
    if row.unit == "byte":
        return f"{value:.0f} B"
    if row.unit == "per second":
        return f"{1 / value / 1000:.0f} k/s"
    for factor, unit in ((1e9, "ns"), (1e6, "us"), (1e3, "ms")):
        if value * factor < 1000:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def lines(table: list[Row], results: Results, names: list[str]) -> Iterator[list[str]]:
    """The table, cell by cell: the median, and how many times as good as the naive port it is."""
    for row in table:
        medians = {name: statistics.median(values) for name, values in results[row.name].items()}
        line = [row.name]
        for name in names:
            if name not in medians:
                line.append("-")
            elif name == NAIVE:
                line.append(shown(row, medians[name]))
            else:
                times = medians[NAIVE] / medians[name]
                line.append(f"{shown(row, medians[name])} ({f'{times:.1f}' if times >= 0.1 else '<0.1'})")
        yield line


def saved(table: list[Row], results: Results, path: str) -> None:
    """Writes all values as a pyperf suite, for ``python -m pyperf compare_to`` and its like."""
    import pyperf

    def benchmark(row: Row, name: str, values: list[float]) -> Any:
        unit = "byte" if row.unit == "byte" else "second"
        metadata = {"name": f"{row.name}: {name}", "unit": unit}
        numbers = [round(value) for value in values] if unit == "byte" else values
        return pyperf.Benchmark([pyperf.Run(numbers, metadata=metadata, collect_metadata=False)])

    suite = [benchmark(row, name, values) for row in table for name, values in results[row.name].items()]
    pyperf.BenchmarkSuite(suite).dump(path, replace=True)


@click.command(help=__doc__)
@click.option("--quick", is_flag=True, help="Few repetitions: a rough picture.")
@click.option("--json", "path", metavar="FILE", help="Also write all values, in pyperf's format.")
def main(quick: bool, path: str | None) -> None:
    factories, table = installed(), rows()
    in_turn = track(table, "Measuring", console=Console(stderr=True), transient=True)
    results = measured(factories, in_turn, Data(), repetitions=5 if quick else 41)
    title = f"CPython {platform.python_version()}: medians (times as good as the naive port)"
    printed = Table(title=title, box=box.SIMPLE)
    for column in ("", *factories):
        printed.add_column(column, justify="right" if column else "left", no_wrap=True)
    for line in lines(table, results, list(factories)):
        printed.add_row(*line)
    Console(width=max(Console().width, WIDTH)).print(printed)
    if path is not None:
        saved(table, results, path)


if __name__ == "__main__":
    main()
