"""Each invariant has a view that breaks it and one that does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import kcache
from kcache_model.indexers.invariants import View, observe, snapshot_violations, violations


class Thing:
    def __init__(self, key: str, *values: str) -> None:
        self.key, self.values = key, values


A, B = Thing("a", "n1"), Thing("b", "n1", "n2")
GOOD = View(
    items={"a": A, "b": B},
    listed=(A, B),
    indices={"node": {"n1": ("a", "b"), "n2": ("b",)}},
    objects={"node": {"n1": (A, B), "n2": (B,)}},
)


def values_of(obj: Any, index: str) -> tuple[str, ...]:
    return obj.values if index == "node" else ()


def test_a_good_view_breaks_nothing() -> None:
    assert violations(GOOD, values_of) == []


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (replace(GOOD, items={"a": A, "b": B, "c": None}), "get_by_key returns no object"),
        (replace(GOOD, listed=(A,)), "list returns 1 objects"),
        (replace(GOOD, listed=(A, B, B)), "list returns 3 objects"),
        (
            replace(
                GOOD,
                indices={"node": {**GOOD.indices["node"], "n3": ()}},
                objects={"node": {**GOOD.objects["node"], "n3": ()}},
            ),
            "its empty set was not removed",
        ),
        (
            replace(GOOD, indices={"node": {"n1": ("a", "b", "c"), "n2": ("b",)}}),
            "nothing is stored under that key",
        ),
        (
            replace(
                GOOD,
                indices={"node": {"n1": ("a", "b"), "n2": ("a", "b")}},
                objects={"node": {"n1": (A, B), "n2": (A, B)}},
            ),
            "the object of that key does not have that value",
        ),
        (replace(GOOD, objects={"node": {"n1": (A,), "n2": (B,)}}), "by_index and index_keys disagree"),
        (
            replace(GOOD, indices={"node": {"n1": ("a", "b")}}, objects={"node": {"n1": (A, B)}}),
            "is missing under its value 'n2'",
        ),
        (replace(GOOD, indices={"node": {"n1": ("b", "a"), "n2": ("b",)}}), "not sorted"),
    ],
)
def test_each_broken_rule_is_named(view: View, message: str) -> None:
    found = violations(view, values_of)
    assert any(message in broken.text for broken in found), found


def test_values_that_are_not_known_accuse_nobody() -> None:
    odd = replace(
        GOOD, indices={"node": {"n1": ("a", "b"), "n9": ("b",)}}, objects={"node": {"n1": (A, B), "n9": (B,)}}
    )
    assert violations(odd, lambda _obj, _index: None) == []


def test_the_reference_is_observed_through_its_methods() -> None:
    indexer = kcache.new_indexer(lambda obj: obj.key, {"node": lambda obj: list(obj.values)})
    indexer.add(A)
    indexer.add(B)
    assert violations(observe(indexer, ["node"]), values_of) == []


def test_snapshots_are_held_to_the_same_rules() -> None:
    good = {"items": {"a": A, "b": B}, "indices": {"node": {"n1": {"a", "b"}, "n2": {"b"}}}}
    assert snapshot_violations(good, values_of) == []
    bad = {"items": {"a": A}, "indices": {"node": {"n1": {"a"}, "n2": set()}}}
    (violation,) = snapshot_violations(bad, values_of)
    assert violation.text.startswith("inside: ")
