"""The jobs of child processes, and the engines that each runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcache_conformance.isolation.worker import Outlet

from .evidence import Engine
from .judging.violation import InputClass
from .memory import limit_memory
from .objects.fuzzed_object import FuzzedObject
from .options import FuzzOptions
from .rules import Kind, Rule
from .subject import Subject, load_subject
from .work import Sink, Work


def search_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any], seconds_left: float) -> None:
    """Run all engines of one process, each for a short time; runs in the child."""
    limit_memory()
    search(*_loaded(spec, kind, options), outlet, seconds_left)


def deep_job(
    outlet: Outlet, spec: str, kind: str, options: dict[str, Any], seconds_left: float, known: list[list[str]]
) -> None:
    """Run random search and comparisons for a longer time, without the ``known`` symptoms; runs in the child."""
    limit_memory()
    work = Work(
        *_loaded(spec, kind, options),
        outlet,
        is_deep=True,
        known=frozenset((Rule(rule), place, InputClass(where)) for rule, place, where in known),
        seconds_left=seconds_left,
    )
    _run(work, work.random_objects, work.comparisons)


def hints_job(
    outlet: Outlet, spec: str, kind: str, options: dict[str, Any], seconds_left: float, trees: list[Any]
) -> None:
    """Judge and minimise the objects of CrossHair, without CrossHair; runs in the child."""
    limit_memory()
    work = Work(*_loaded(spec, kind, options), outlet, seconds_left=seconds_left)
    for tree in trees:
        work.hint(FuzzedObject(tree), Engine.CROSSHAIR)


def input_class_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any], tree: Any) -> None:
    """Send the class of an object (valid or adversarial), without a call of the function; runs in the child."""
    search = Work(*_loaded(spec, kind, options), outlet).search
    input_class = InputClass.VALID if search.trusts_only_drawn else search.input_class(FuzzedObject(tree))
    outlet.send({"event": "input_class", "input_class": input_class.value})


def validity_job(outlet: Outlet, spec: str, kind: str, options: dict[str, Any], trees: list[Any]) -> None:
    """Send whether each of the objects is valid; runs in the child."""
    search = Work(*_loaded(spec, kind, options), outlet).search
    valid = [search.input_class(FuzzedObject(tree)) is InputClass.VALID for tree in trees]
    outlet.send({"event": "valid", "valid": valid})


def search(subject: Subject, options: FuzzOptions, sink: Sink, seconds_left: float) -> None:
    """Run the engines of one process one after another; send all findings to ``sink``."""
    work = Work(subject, options, sink, seconds_left=seconds_left)
    work.tell_objects()
    _run(work, work.random_objects, work.comparisons, work.programs, work.threads, work.interleavings)
    sink.send({"event": "kept", "trees": work.objects_for_perturbations()})


def _run(work: Work, *steps: Callable[[], None]) -> None:
    for step in steps:
        if not work.is_enough():
            step()
    work.summary()


def _loaded(spec: str, kind: str, options: dict[str, Any]) -> tuple[Subject, FuzzOptions]:
    return load_subject(spec, Kind(kind)), FuzzOptions.from_json(options)
