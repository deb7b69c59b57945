"""Output of the explorer's commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kcache_conformance.report.certificate import certificate_rows
from kcache_conformance.report.run_report import not_tested_text, tested_line
from kcache_conformance.results.events import proved_text
from kcache_conformance.results.exploration_outcomes import Certificate, Description, Tally
from kcache_conformance.targets.class_names import PREFIX
from kcache_conformance.targets.target_type import TargetType
from kcache_model.verdict import Status

from .console import progress_bar
from .eta import Pace, lines
from .options import type_text

_LOOK_INTO: Final = "--instrument PACKAGE.MODULE instruments its Python modules"

Show = Callable[[int | None, Tally], None]


@contextmanager
def progress(console: Console, budget_seconds: float) -> Iterator[Show]:
    """Show a bar on a terminal; elsewhere print a line on standard error periodically, unless ``-q`` is set."""
    pace, is_wanted = Pace(budget_seconds=budget_seconds), not console.quiet and not console.is_terminal
    with progress_bar(console, budget_seconds) as bar, lines(lambda: pace.line, is_wanted=is_wanted):
        task = bar.add_task("starting", total=None, counts="")

        def show(total: int | None, tally: Tally) -> None:
            pace.note(total, tally)
            counts = f"{pace.progress}{pace.remaining}"
            bar.update(task, description="exploring", total=total, completed=tally.programs, counts=counts)

        yield show


def print_certificate(console: Console, certificate: Certificate, target_type: TargetType) -> None:
    """Print a certificate: the target, the bound, the counts, and whether it is verified."""
    named = f"{type_text(target_type)}{certificate.target}"
    description = replace(certificate.description, left_out=()) if certificate.methods else certificate.description
    console.print(f"kcache verify {named}{text_of_tested_code(description)}", soft_wrap=True)
    table = Table(box=None, show_header=False, padding=(0, 2))
    rows = certificate_rows(certificate)
    for name, value in rows.items():
        table.add_row(name, value)
    with console.capture() as capture:
        console.print(table)
    console.out("\n".join(line.rstrip() for line in capture.get().splitlines()), highlight=False)
    if certificate.status is Status.OK:
        tally, bound = certificate.tally, certificate.bound
        proof = proved_text(tally.exhausted, bound.threads, bound.operations, certificate.waiting)
        proof += f", if {tally.assumes}" if tally.assumes else ""
        console.print(Text("verified", style="bold green") + Text(f": {proof}"), soft_wrap=True)
    elif certificate.tally.finding is None:
        console.print(Text(f"not verified: {certificate.missing}", style="bold yellow"), soft_wrap=True)


def text_of_tested_code(description: Description) -> str:
    """Return lines about the code under test: instrumented, virtual, and not visible to the explorer."""
    tested = f"\n  {tested_line(description.tested)}" if description.tested else ""
    parts = {
        "instrumented": description.instrumented,
        "unchanged, on virtual threads and locks": description.virtual,
        "not seen": description.opaque,
    }
    text = tested + "".join(f"\n  {name}: {', '.join(names)}" for name, names in parts.items() if names)
    if description.partly_in_c:
        text += f"\n  of these with parts in C: {', '.join(description.partly_in_c)}; {_LOOK_INTO}"
    return text + (f"\n  {not_tested_text(PREFIX, description.left_out)}" if description.left_out else "")
