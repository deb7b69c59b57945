"""The jobs of child processes, and the engines that each runs."""

from __future__ import annotations

from typing import Any

from kcache_conformance.isolation.worker import Outlet

from .judging.input_class import InputClass
from .memory import limit_memory
from .objects.fuzzed_object import FuzzedObject
from .options import FuzzOptions
from .rules import Kind, Rule
from .subject import Subject, load_subject
from .work import Sink, Work


def search_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any]) -> None:
    """Runs in the child: a little of everything."""
    limit_memory()
    subject = load_subject(spec, Kind(kind))
    search(subject, FuzzOptions.from_json(options), outlet)


def deep_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any], known: list[str]) -> None:
    """Runs in the child: looks longer for what is still not ``known``."""
    limit_memory()
    subject = load_subject(spec, Kind(kind))
    search_deeply(subject, FuzzOptions.from_json(options), outlet, frozenset(map(Rule, known)))


def hints_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any], trees: list[Any]) -> None:
    """Runs in the child: judges objects that CrossHair came up with, without CrossHair, and makes them smaller."""
    limit_memory()
    subject, chosen = load_subject(spec, Kind(kind)), FuzzOptions.from_json(options)
    work = Work(subject, chosen, outlet)
    for tree in trees:
        work.hint(FuzzedObject(tree))


def input_class_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any], tree: Any) -> None:
    """Runs in the child: says whether an object is valid, without calling the function for it."""
    subject, chosen = load_subject(spec, Kind(kind)), FuzzOptions.from_json(options)
    work = Work(subject, chosen, outlet)
    input_class = InputClass.VALID if work.search.trusts_only_drawn else work.search.input_class(FuzzedObject(tree))
    outlet.send({"event": "input_class", "input_class": input_class.value})


def validity_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any], trees: list[Any]) -> None:
    """Runs in the child: which of the objects are valid."""
    subject, chosen = load_subject(spec, Kind(kind)), FuzzOptions.from_json(options)
    work = Work(subject, chosen, outlet)
    outlet.send(
        {"event": "valid", "valid": [work.search.input_class(FuzzedObject(tree)) is InputClass.VALID for tree in trees]}
    )


def search(subject: Subject, options: FuzzOptions, sink: Sink) -> None:
    """Run the engines of one process one after another; everything found is sent to ``sink``."""
    work = Work(subject, options, sink)
    steps = [work.random_objects, work.comparisons, work.programs, work.threads, work.interleavings]
    for step in steps:
        if not work.is_enough():
            step()
    sink.send({"event": "kept", "trees": work.objects_for_perturbations(), "schema": work.schema_name})


def search_deeply(subject: Subject, options: FuzzOptions, sink: Sink, known: frozenset[Rule]) -> None:
    """Random objects and comparisons, for longer."""
    work = Work(subject, options, sink, is_deep=True, known=known)
    for step in (work.random_objects, work.comparisons):
        if not work.is_enough():
            step()
