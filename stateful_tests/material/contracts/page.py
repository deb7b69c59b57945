"""The tables of ``docs/contracts.md``: written here, and read again to check that they list the laws there are."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .law import Law, Mutant, Verdict
from .questions import Found

PAGE = Path(__file__).parents[3] / "docs" / "contracts.md"
WRITTEN_FROM_HERE = "<!-- python -m stateful_tests.material.contracts writes what follows -->\n"
_TITLES = {
    "laws_of_keys": "Keys",
    "laws_of_resource_versions": "Resource versions",
    "laws_of_selectors": "Selectors",
    "laws_of_indexing": "Index values",
    "laws_of_the_model": "The model",
}


@dataclass(frozen=True)
class Row:
    """One law as the page shows it."""

    title: str
    name: str
    meaning: str
    verdict: str
    mutant: str
    counterexample: str

    @property
    def call(self) -> str:
        """The call in the counterexample."""
        return self.counterexample.split("`")[1].replace(r"\|", "|")

    def __str__(self) -> str:
        return f"| `{self.name}`<br>{self.meaning} | {self.verdict} | {self.mutant} | {self.counterexample} |"


def row(law: Law, found: Found, refuted: Found) -> Row:
    """What CrossHair found, in the words of the page."""
    assert refuted.call is not None, refuted.message
    return Row(
        title=title(law),
        name=law.name,
        meaning=meaning(law),
        verdict=f"{found.verdict} {_effort(found)}",
        mutant=shown(law.mutant),
        counterexample=f"{_code(refuted.call)} {_effort(refuted)}",
    )


def title(law: Law) -> str:
    """The heading under which the law stands."""
    return _TITLES[law.function.__module__.rpartition(".")[2]]


def meaning(law: Law) -> str:
    """The first paragraph of its docstring, on one line."""
    return " ".join((inspect.getdoc(law.function) or "").partition("\n\n")[0].split())


def shown(mutant: Mutant) -> str:
    """Where the slip is, and what it is."""
    return f"`{mutant.module}`:<br>{_code(mutant.right)}<br>becomes<br>{_code(mutant.wrong)}"


def says(row: Row, verdict: Verdict) -> bool:
    """Whether the row states this verdict; paths and times are not looked at."""
    return row.verdict.partition(" (")[0] == verdict


def tables(rows: list[Row]) -> str:
    """All tables, each under its heading."""
    lines: list[str] = []
    for heading in _TITLES.values():
        lines += [f"## {heading}", "", "| law | true code | mutant | refuted by |", "| --- | --- | --- | --- |"]
        lines += [str(row) for row in rows if row.title == heading]
        lines.append("")
    return "\n".join(lines)


def read(text: str) -> Iterator[Row]:
    """The rows of the page."""
    heading = ""
    for line in text.partition(WRITTEN_FROM_HERE)[2].splitlines():
        heading = line.removeprefix("## ") if line.startswith("## ") else heading
        if line.startswith("| `"):
            law, verdict, mutant, counterexample = line.strip("| ").split(" | ")
            name, _, meaning = law.partition("<br>")
            yield Row(heading, name.strip("`"), meaning, verdict, mutant, counterexample)


def _effort(found: Found) -> str:
    return f"({found.paths} {'path' if found.paths == 1 else 'paths'}, {found.seconds:.1f} s)"


def _code(text: str) -> str:
    return "`" + text.replace("|", r"\|") + "`"
