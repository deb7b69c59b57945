"""Corpus of the recordings, and the list of deliberate deviations."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

from kcache_model.indexers.items import Semantics

from .objects import Json
from .scenario import Scenario, translate

FILES = (
    "edge-crud.jsonl",
    "edge-lookup.jsonl",
    "edge-indexfunc.jsonl",
    "edge-indexers.jsonl",
    "edge-keys.jsonl",
    "edge-mutation.jsonl",
    "edge-writes.jsonl",
    "edge-threadsafe.jsonl",
    "edge-listers.jsonl",
    "random-tags.jsonl",
    "random-mutate.jsonl",
    "random-basic.jsonl",
    "random-listers.jsonl",
)
"""The files with recordings of stores; the most useful files come first."""


@dataclass(frozen=True)
class Deviation:
    """A rule by which kcache deliberately differs from client-go.

    Attributes:
        rule: its name.
        reason: the reason why the behaviour of kcache is better.
        steps: scenario id -> semantics -> numbers of the steps whose outcome differs.
    """

    rule: str
    reason: str
    steps: Mapping[str, Mapping[str, tuple[int, ...]]]


def recordings(files: tuple[str, ...] = FILES) -> Iterator[Json]:
    """Yield the recordings, as parsed JSON."""
    for file in files:
        yield from map(json.loads, _lines(file))


@functools.cache
def legacy_outcomes() -> Mapping[str, Mapping[int, Json]]:
    """Scenario id -> step number -> outcome in the classic generation, for the steps where it differs."""
    return {line["id"]: {diff["step"]: diff for diff in line["diffs"]} for line in recordings(("legacy.jsonl",))}


def scenarios(semantics: Semantics, files: tuple[str, ...] = FILES) -> Iterator[Scenario]:
    """Yield all scenarios that an Indexer from a factory can run, translated."""
    for recording in recordings(files):
        if not needs_transformer(recording):
            yield translate(recording, legacy_outcomes().get(recording["id"], {}), semantics)


def scenario_count(files: tuple[str, ...] = FILES) -> int:
    """The number of :func:`scenarios`, from a text search: parsing all files would take a tenth of a second."""
    return sum('"transformer"' not in line for file in files for line in _lines(file))


def needs_transformer(recording: Json) -> bool:
    """Whether the store of a recording has a transformer, which target factories do not support."""
    return any("transformer" in (step.get("args") or {}) for step in recording["steps"])


@functools.cache
def deviations() -> tuple[Deviation, ...]:
    """The deliberate deviations."""
    data = json.loads(_text("deviations.json"))
    return tuple(
        Deviation(
            entry["rule"],
            entry["reason"],
            {
                scenario: {semantics: tuple(numbers) for semantics, numbers in by_semantics.items()}
                for scenario, by_semantics in entry["steps"].items()
            },
        )
        for entry in data
    )


@functools.cache
def _lines(file: str) -> tuple[str, ...]:
    return tuple(_text(file).splitlines())


def _text(file: str) -> str:
    return resources.files("kcache_conformance.indexers.recorded").joinpath("data", file).read_text(encoding="utf-8")
