"""Tables of measurements."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.table import Table


@dataclass(frozen=True)
class Sheet:
    """One table, ready to be printed."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def shown(sheet: Sheet) -> Table:
    """What rich prints: figures to the right, what stands in columns without a name to the left."""
    printed = Table(title=sheet.title, box=box.SIMPLE)
    for column in sheet.columns:
        printed.add_column(column, justify="right" if column else "left")
    for row in sheet.rows:
        printed.add_row(*row)
    return printed
