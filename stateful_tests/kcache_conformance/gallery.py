"""The example Indexers that come with kcache: faulty and correct ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import util
from pathlib import Path


@dataclass(frozen=True)
class Example:
    """One example.

    Attributes:
        name: the stem of its file.
        path: its file; the factory in it is called ``new_indexer``.
        is_correct: whether it must pass.
        kind: ``"sequential"`` or ``"concurrent"``, after the runs that can show the fault; ``"design"`` if correct.
        summary: one line.
        source: where the bug was seen; empty if it is merely plausible.
    """

    name: str
    path: Path
    is_correct: bool
    kind: str
    summary: str
    source: str


def gallery() -> list[Example]:
    """All examples, faulty ones first.

    Raises:
        FileNotFoundError: they were not installed.
    """
    folder = _folder()
    catalog = tomllib.loads((folder / "catalog.toml").read_text(encoding="utf-8"))
    examples = [
        Example(
            name=entry["name"],
            path=folder / f"{entry['name']}.py",
            is_correct=entry["verdict"] == "correct",
            kind=entry["kind"],
            summary=entry["summary"],
            source=entry["source"],
        )
        for entry in catalog["target"]
    ]
    order = ["sequential", "concurrent", "design"]
    return sorted(examples, key=lambda example: (order.index(example.kind), example.name))


def _folder() -> Path:
    """``examples/targets`` of the checkout, or the folder that an installation put it in."""
    checkout = Path(__file__).resolve().parents[2] / "examples" / "targets"
    if checkout.is_dir():
        return checkout
    found = util.find_spec("kcache_gallery")
    locations = list(found.submodule_search_locations or ()) if found is not None else []
    if not locations:
        raise FileNotFoundError("the example targets are not installed; install kcache again")
    return Path(locations[0])
