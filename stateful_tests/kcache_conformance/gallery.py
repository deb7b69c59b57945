"""The examples that come with kcache: Indexers, index functions, queues and informers, faulty and correct ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any


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
    examples = [
        Example(
            name=entry["name"],
            path=entry["path"],
            is_correct=entry["verdict"] == "correct",
            kind=entry["kind"],
            summary=entry["summary"],
            source=entry["source"],
        )
        for entry in _catalog("targets", "kcache_gallery", "target")
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
    examples = [
        FunctionExample(
            name=entry["name"],
            path=entry["path"],
            is_correct=entry["verdict"] == "correct",
            kind=entry["kind"],
            rules=tuple(entry["rules"]),
            is_held_out=entry.get("held_out", False),
            summary=entry["summary"],
        )
        for entry in _catalog("index_funcs", "kcache_index_func_gallery", "function")
    ]
    return sorted(examples, key=lambda example: (example.is_correct, example.kind != "plain", example.name))


@dataclass(frozen=True)
class QueueExample:
    """One queue.

    Attributes:
        name: the stem of its file.
        path: its file; the factory in it is called ``new_queue``.
        is_correct: whether it must pass.
        makes: what ``kcache check --kind`` takes.
        kind: ``"sequential"`` or ``"concurrent"``, after the runs that can show the fault; ``"design"`` if correct.
        found_by: the first phase that finds the fault.
        summary: one line.
        source: where the bug was seen; empty if it is merely plausible.
    """

    name: str
    path: Path
    is_correct: bool
    makes: str
    kind: str
    found_by: str
    summary: str
    source: str


def queue_gallery() -> list[QueueExample]:
    """All example queues, faulty ones first.

    Raises:
        FileNotFoundError: they were not installed.
    """
    examples = [
        QueueExample(
            name=entry["name"],
            path=entry["path"],
            is_correct=entry["verdict"] == "correct",
            makes=entry["makes"],
            kind=entry["kind"],
            found_by=entry["found_by"],
            summary=entry["summary"],
            source=entry["source"],
        )
        for entry in _catalog("queues", "kcache_queue_gallery", "queue")
    ]
    order = ["sequential", "concurrent", "design"]
    return sorted(examples, key=lambda example: (order.index(example.kind), example.name))


@dataclass(frozen=True)
class InformerExample:
    """One informer.

    Attributes:
        name: the stem of its file.
        path: its file; the factory in it is called ``make``.
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


def informer_gallery() -> list[InformerExample]:
    """All example informers, in the order of their names.

    Raises:
        FileNotFoundError: they were not installed.
    """
    examples = [
        InformerExample(
            name=entry["name"],
            path=entry["path"],
            is_correct=entry["verdict"] == "correct",
            kind=entry["kind"],
            summary=entry["summary"],
            source=entry["source"],
        )
        for entry in _catalog("informers", "kcache_informer_gallery", "informer")
    ]
    return sorted(examples, key=lambda example: example.name)


def _catalog(name: str, package: str, table: str) -> list[dict[str, Any]]:
    """The entries of a gallery's catalog, each with the path of its file."""
    folder = _folder(name, package)
    entries = tomllib.loads((folder / "catalog.toml").read_text(encoding="utf-8"))[table]
    return [entry | {"path": folder / f"{entry['name']}.py"} for entry in entries]


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
