"""The examples that come with kcache: Indexers, index functions, queues and informers, faulty and correct ones."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

_KINDS = ("sequential", "concurrent", "design")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One example.

    Attributes:
        name: the stem of its file.
        path: its file.
        factory: the name of the factory, or function, in it.
        is_correct: whether it must pass.
        kind: ``"sequential"`` or ``"concurrent"``, by the runs that can show the fault; ``"design"`` if it is correct.
        summary: one line.
        source: where the bug was seen; empty if it is merely plausible.
        is_strict: whether it is faulty only under ``--strict``: client-go behaves in the same way.
    """

    name: str
    path: Path
    factory: str
    is_correct: bool
    kind: str
    summary: str
    source: str = ""
    is_strict: bool = False


@dataclass(frozen=True, kw_only=True)
class QueueExample(Example):
    """One queue.

    Attributes:
        makes: the target type, as for ``kcache check --kind``.
        found_by: the first phase that detects the fault.
    """

    makes: str
    found_by: str


@dataclass(frozen=True, kw_only=True)
class FunctionExample(Example):
    """One index function, called ``index_func``; its kind is ``"plain"`` or ``"hard"``, by how hard it is to detect.

    Attributes:
        rules: the rules that it breaks.
        is_held_out: written by somebody who did not know the strategies, and not looked at before they were final.
    """

    rules: tuple[str, ...]
    is_held_out: bool


def gallery() -> list[Example]:
    """Return all example Indexers, faulty ones first.

    Raises:
        FileNotFoundError: they were not installed.
    """
    return sorted(
        (Example(**common) for common, _ in _catalog("targets", "target", "new_indexer")),
        key=_by_kind,
    )


def queue_gallery(makes: str = "") -> list[QueueExample]:
    """Return all example queues, or those of one target type, faulty ones first.

    Raises:
        FileNotFoundError: they were not installed.
    """
    catalog = _catalog("queues", "queue", "new_queue")
    queues = (QueueExample(**common, **own) for common, own in catalog)
    return sorted((queue for queue in queues if makes in ("", queue.makes)), key=_by_kind)


def informer_gallery() -> list[Example]:
    """Return all example informers, faulty ones first.

    Raises:
        FileNotFoundError: they were not installed.
    """
    catalog = _catalog("informers", "informer", "make")
    return sorted((Example(**common) for common, _ in catalog), key=_by_kind)


def function_gallery() -> list[FunctionExample]:
    """Return all example index functions, faulty ones first.

    Raises:
        FileNotFoundError: they were not installed.
    """
    examples = [
        FunctionExample(**common, rules=tuple(own["rules"]), is_held_out=own.get("held_out", False))
        for common, own in _catalog("index_funcs", "function", "index_func")
    ]
    return sorted(examples, key=lambda example: (example.is_correct, example.kind != "plain", example.name))


def _by_kind(example: Example) -> tuple[int, str]:
    return _KINDS.index(example.kind), example.name


def _catalog(name: str, table: str, factory: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the entries of a gallery's catalog: the keys of all galleries, and the keys of this gallery alone."""
    folder = _folder(name)
    entries = []
    for entry in tomllib.loads((folder / "catalog.toml").read_text(encoding="utf-8"))[table]:
        common = {key: entry.pop(key) for key in ("name", "kind", "summary", "source") if key in entry}
        common["is_strict"] = entry.pop("strict", False)
        common |= {"path": folder / f"{common['name']}.py", "factory": factory}
        common["is_correct"] = entry.pop("verdict") == "correct"
        entries.append((common, entry))
    return entries


def is_example(file: Path) -> bool:
    """Whether a file, given by its absolute path, comes with kcache."""
    try:
        return file.is_relative_to(_folder("targets").parent.resolve())
    except FileNotFoundError:
        return False


def _folder(name: str) -> Path:
    """Return ``examples/NAME`` of the checkout, or the folder where an installation put it."""
    checkout = Path(__file__).resolve().parents[3] / "examples" / name
    if checkout.is_dir():
        return checkout
    package = util.find_spec("kcache_gallery")
    locations = list(package.submodule_search_locations or ()) if package is not None else []
    if not locations:
        raise FileNotFoundError("the examples are not installed; install kcache again")
    return Path(locations[0]) / name
