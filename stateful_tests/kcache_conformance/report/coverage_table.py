"""Coverage table: the calls under stress, their outcomes, and how often they overlapped another call."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.padding import Padding
from rich.table import Table

ByOutcome = Mapping[str, Mapping[str, int]]
"""Operation -> outcome -> number of calls."""


def coverage_table(counts: ByOutcome, overlapped: ByOutcome) -> Padding:
    """Return a row for each operation and outcome, in alphabetical order; errors come last."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("operation")
    table.add_column("outcome")
    for heading in ("calls", "overlapped another", "%"):
        table.add_column(heading, justify="right")
    for operation, outcomes in sorted(counts.items()):
        name = operation
        for outcome in sorted(outcomes, key=lambda outcome: (outcome != "ok", outcome)):
            count, overlapping = outcomes[outcome], overlapped.get(operation, {}).get(outcome, 0)
            table.add_row(
                name, outcome.replace("_", " "), f"{count:,}", f"{overlapping:,}", f"{100 * overlapping / count:.0f}"
            )
            name = ""
    return Padding(table, (0, 0, 0, 2), expand=False)
