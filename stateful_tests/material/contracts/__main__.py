"""Searches all laws and their mutants, and writes the tables of ``docs/contracts.md``.

``python -m stateful_tests.material.contracts``, from the root of the repository.
"""

from __future__ import annotations

from .catalogue import LAWS
from .page import PAGE, WRITTEN_FROM_HERE, Row, row, tables
from .questions import search


def main() -> None:
    """Takes a minute or two."""
    rows: list[Row] = []
    for law in LAWS.values():
        rows.append(row(law, search(law), search(law, law.mutant)))
        print(rows[-1].name, rows[-1].verdict, "| mutant:", rows[-1].counterexample, flush=True)
    written_by_hand = PAGE.read_text(encoding="utf-8").partition(WRITTEN_FROM_HERE)[0]
    PAGE.write_text(written_by_hand + WRITTEN_FROM_HERE + "\n" + tables(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
