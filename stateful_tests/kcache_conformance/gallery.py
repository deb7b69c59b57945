"""The examples that come with kcache: Indexers and index functions, faulty and correct ones."""

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
    folder = _folder("targets", "kcache_gallery")
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


@dataclass(frozen=True)
class FunctionExample:
    """One index function.

    Attributes:
        name: the stem of its file.
        path: its file; the function in it is called ``index_func``.
        is_correct: whether it must pass.
        kind: ``"plain"`` or ``"hard"``, after how it can be found; ``"design"`` if correct.
        rules: what it breaks.
        is_held_out: written by somebody who did not know the strategies, and not looked at before they were final.
        summary: one line.
    """

    name: str
    path: Path
    is_correct: bool
    kind: str
    rules: tuple[str, ...]
    is_held_out: bool
    summary: str


def function_gallery() -> list[FunctionExample]:
    """All example index functions, faulty ones first.

    Raises:
        FileNotFoundError: they were not installed.
    """
    folder = _folder("index_funcs", "kcache_index_func_gallery")
    catalog = tomllib.loads((folder / "catalog.toml").read_text(encoding="utf-8"))
    examples = [
        FunctionExample(
            name=entry["name"],
            path=folder / f"{entry['name']}.py",
            is_correct=entry["verdict"] == "correct",
            kind=entry["kind"],
            rules=tuple(entry["rules"]),
            is_held_out=entry.get("held_out", False),
            summary=entry["summary"],
        )
        for entry in catalog["function"]
    ]
    return sorted(examples, key=lambda example: (example.is_correct, example.kind != "plain", example.name))


def _folder(name: str, package: str) -> Path:
    """``examples/NAME`` of the checkout, or the folder that an installation put it in."""
    checkout = Path(__file__).resolve().parents[2] / "examples" / name
    if checkout.is_dir():
        return checkout
    found = util.find_spec(package)
    locations = list(found.submodule_search_locations or ()) if found is not None else []
    if not locations:
        raise FileNotFoundError("the examples are not installed; install kcache again")
    return Path(locations[0])
