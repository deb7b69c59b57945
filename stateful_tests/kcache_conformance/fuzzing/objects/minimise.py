"""Minimiser of objects: it removes parts step by step while the symptom remains (Zeller: delta debugging)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from ..schemas.standard_types import MAKINGS, standard_class
from .fuzzed_object import FuzzedObject
from .trees import NotPlainError, Tree, encode

_SIMPLE_TEXTS = ("", "a", "0")
_SIMPLE_NUMBERS = (0, 1)


def minimise(
    fuzzed_object: FuzzedObject, shows: Callable[[FuzzedObject], bool], *, seconds: float, attempts: int = 2000
) -> FuzzedObject:
    """Return a smaller fuzzed object for which ``shows`` is true; ``fuzzed_object`` itself if it is no plain data.

    Args:
        fuzzed_object: an object with the symptom.
        shows: returns whether a candidate is acceptable and has the symptom.
        seconds: time limit for all candidates together.
        attempts: the maximum number of candidates.
    """
    if not fuzzed_object.is_plain:
        return fuzzed_object
    end = time.monotonic() + seconds
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in smaller_trees(fuzzed_object.tree):
            attempts -= 1
            if attempts < 0 or time.monotonic() > end:
                return fuzzed_object
            if _holds(shows, FuzzedObject(candidate)):
                fuzzed_object, is_smaller = FuzzedObject(candidate), True
                break
    return fuzzed_object


def _holds(shows: Callable[[FuzzedObject], bool], candidate: FuzzedObject) -> bool:
    try:
        return shows(candidate)
    except NotPlainError:
        return False  # the class rejects such fields


def smaller_trees(tree: Tree) -> Iterator[Tree]:
    """Yield the trees that are one step smaller; the largest steps first."""
    if isinstance(tree, str):
        yield from _smaller_texts(tree)
    elif isinstance(tree, bool) or tree is None:
        return
    elif isinstance(tree, int):
        yield from (number for number in (*_SIMPLE_NUMBERS, tree // 2, tree - 1) if abs(number) < abs(tree))
    elif isinstance(tree, list):
        yield from _smaller_lists(tree)
    elif isinstance(tree, dict):
        yield from _smaller_dicts(tree)


def _smaller_texts(text: str) -> Iterator[str]:
    yield from (simple for simple in _SIMPLE_TEXTS if (len(simple), simple) < (len(text), text))
    size = len(text) // 2
    while size:
        for start in range(0, len(text), size):
            yield text[:start] + text[start + size :]
        size //= 2
    for position, character in enumerate(text[:100]):
        if character not in "a0-./:=,_" and not character.isdigit():
            yield text[:position] + "a" + text[position + 1 :]


def _smaller_lists(items: list[Tree]) -> Iterator[list[Tree]]:
    size = len(items)
    while size:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2
    for position, item in enumerate(items):
        for smaller in smaller_trees(item):
            yield [*items[:position], smaller, *items[position + 1 :]]


def _smaller_dicts(tree: dict[str, Tree]) -> Iterator[dict[str, Tree]]:
    match tree.get("$"):
        case None:
            yield from _smaller_maps(tree)
        case "namespace" | "object":
            for name, value in tree["fields"].items():
                if value is not None:
                    yield {**tree, "fields": {**tree["fields"], name: None}}
            if tree["$"] == "namespace":
                for name in tree["fields"]:
                    yield {**tree, "fields": {other: v for other, v in tree["fields"].items() if other != name}}
            for name, value in tree["fields"].items():
                for smaller in smaller_trees(value):
                    yield {**tree, "fields": {**tree["fields"], name: smaller}}
        case "tuple" | "set" | "frozenset" | "dict":
            for smaller in _smaller_lists(tree["items"]):
                if tree["$"] != "dict" or all(len(pair) == 2 for pair in smaller):
                    yield {**tree, "items": smaller}
        case "standard":
            yield from ({**tree, "arguments": simpler} for simpler in _simpler_arguments(tree))


def _simpler_arguments(tree: dict[str, Tree]) -> Iterator[list[Tree]]:
    """Yield arguments in which those of the class's simplest value replace all, then each single one."""
    arguments = tree["arguments"]
    simplest = [encode(one) for one in MAKINGS[standard_class(tree["class"])].simplest]
    if arguments != simplest:
        yield simplest
        for position, simple in enumerate(simplest):
            if arguments[position] != simple:
                yield [*arguments[:position], simple, *arguments[position + 1 :]]


def _smaller_maps(mapping: dict[str, Tree]) -> Iterator[dict[str, Tree]]:
    if len(mapping) > 1:
        yield {}
    for name in mapping:
        yield {other: value for other, value in mapping.items() if other != name}
    for name, value in mapping.items():
        for smaller in smaller_trees(value):
            yield {**mapping, name: smaller}
