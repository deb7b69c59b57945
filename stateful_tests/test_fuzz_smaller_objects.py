"""Smaller objects, and objects with a part of another one."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcache_conformance.fuzzing.objects.fuzzed_object import FuzzedObject, fuzzed_object_of
from kcache_conformance.fuzzing.objects.minimise import minimise, smaller_trees
from kcache_conformance.fuzzing.objects.recombination import recombined
from kcache_conformance.fuzzing.objects.trees import NotPlainError, decode, encode


@dataclass
class Pod:
    name: Any
    node: Any = "by default"


class Owner(NamedTuple):
    kind: str
    name: Any = "unknown"


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.binary(max_size=2))
_HASHABLE = st.integers() | st.text(max_size=3) | st.tuples(st.integers(), st.text(max_size=2))
_FIELDS = st.sampled_from("abc")
_OBJECTS = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(_HASHABLE, max_size=3),
        st.dictionaries(_FIELDS, inner, max_size=3),
        st.dictionaries(_HASHABLE, inner, max_size=3),
        st.dictionaries(_FIELDS, inner, max_size=3).map(lambda fields: SimpleNamespace(**fields)),
        st.builds(Pod, inner, inner),
        st.builds(Owner, st.text(max_size=3), inner),
    ),
    max_leaves=12,
)


_SIMPLE = frozenset("a0-./:=,_")


def _measure(tree: Any) -> tuple[int, int, int, int]:
    """Nodes and characters; sum of the numbers; characters that are not simple; sum of the code points."""
    if isinstance(tree, str):
        odd = sum(character not in _SIMPLE and not character.isdigit() for character in tree)
        return 1 + len(tree), 0, odd, sum(map(ord, tree))
    if isinstance(tree, bool | float):
        return 1, 0, 0, 0
    if isinstance(tree, int):
        return 1, abs(tree), 0, 0
    if tree is None:
        return 0, 0, 0, 0
    parts = tree.values() if isinstance(tree, dict) else tree
    size, *others = (sum(column) for column in zip((1 + len(tree), 0, 0, 0), *map(_measure, parts), strict=True))
    return size, *others  # type: ignore[return-value]


@given(_OBJECTS)
def test_smaller_trees_are_smaller(obj):
    tree = encode(obj)
    for candidate in itertools.islice(smaller_trees(tree), 200):
        assert _measure(candidate) < _measure(tree)


def _reachable(tree: Any) -> list[Any]:
    found, todo = {json.dumps(tree): tree}, [tree]
    while todo:
        new = [one for one in smaller_trees(todo.pop()) if found.setdefault(json.dumps(one), one) is one]
        todo.extend(new)
    return list(found.values())


_PLANTED = [
    ({"m": {"n": "ab", "l": {"x": "1"}}, "s": None}, lambda obj: "l" in (obj.get("m") or {})),
    ({"a": [3, "b", 5], "b": "c"}, lambda obj: sum(one for one in obj.get("a", []) if isinstance(one, int)) >= 4),
    (["ab", "cb", ""], lambda obj: sum("b" in one for one in obj) >= 2),
    (SimpleNamespace(a=SimpleNamespace(b=["x", 2]), c="z"), lambda obj: len(getattr(obj.a, "b", ()) or ()) > 0),
    ({1: "ab", (2, "x"): "c"}, lambda obj: "c" in obj.values()),
    ({"a": {"ab", "c", "d"}}, lambda obj: len(obj.get("a", ())) >= 2),
    ((1, 7), lambda obj: len(obj) == 2 and obj[1] > obj[0]),
    (Owner("ab", ["c", "c"]), lambda obj: len(obj.name) != 1),
]


@pytest.mark.parametrize(("obj", "shows"), _PLANTED, ids=range(len(_PLANTED)))
def test_the_minimiser_finds_the_smallest(obj, shows):
    def is_shown(fuzzed_object: FuzzedObject) -> bool:
        try:
            return bool(shows(fuzzed_object.fresh()))
        except (NotPlainError, AttributeError, TypeError):
            return False

    start = fuzzed_object_of(obj)
    assert is_shown(start)
    smallest = min(_measure(tree) for tree in _reachable(start.tree) if is_shown(FuzzedObject(tree)))
    assert _measure(minimise(start, is_shown, seconds=60.0, attempts=10**6).tree) == smallest


def test_the_minimiser_keeps_within_its_attempts():
    calls = []
    large = FuzzedObject(["a" * 1000] * 10)
    assert minimise(large, lambda one: bool(calls.append(one)), seconds=60.0, attempts=25) == large
    assert len(calls) == 25
    assert minimise(large, lambda one: True, seconds=0.0) == large
    other = fuzzed_object_of({"f": print})
    assert minimise(other, lambda one: True, seconds=60.0) is other


@given(st.lists(_OBJECTS, max_size=4), st.integers(0, 20))
def test_recombined_objects_take_one_part_from_another(objects, most):
    trees = list(map(encode, objects))
    made = recombined(trees, most, seed=1)
    assert made == recombined(trees, most, seed=1)
    assert len(made) <= most
    for tree in made:
        decode(tree)


def test_recombination_finds_later_versions_of_an_object():
    old = encode(Pod({"uid": "1"}, SimpleNamespace(team="a")))
    new = encode(Pod({"uid": "2"}, SimpleNamespace(team="b")))
    made = [decode(tree) for tree in recombined([old, new], 40, seed=0)]
    assert any(pod.name == {"uid": "1"} and pod.node.team == "b" for pod in made)
    assert recombined([old], 40, 0) == []
