"""Handlers made of functions and filters."""

from __future__ import annotations

import pytest

from kcache import DeletedFinalStateUnknown
from kcache.informers import (
    FilteringResourceEventHandler,
    ResourceEventHandlerDetailedFuncs,
    ResourceEventHandlerFuncs,
)


def test_functions_that_are_left_out_are_ignored():
    for handler in (ResourceEventHandlerFuncs(), ResourceEventHandlerDetailedFuncs()):
        handler.on_add("a", True)
        handler.on_update("a", "b")
        handler.on_delete("b")


def test_functions_get_what_they_ask_for():
    calls = []
    note = lambda *args: calls.append(args)  # noqa: E731
    plain = ResourceEventHandlerFuncs(add_func=note, update_func=note, delete_func=note)
    detailed = ResourceEventHandlerDetailedFuncs(add_func=note, update_func=note, delete_func=note)
    for handler in (plain, detailed):
        handler.on_add("a", True)
        handler.on_update("a", "b")
        handler.on_delete("b")
    assert calls == [("a",), ("a", "b"), ("b",), ("a", True), ("a", "b"), ("b",)]


class Calls:
    """A handler that keeps its calls."""

    def __init__(self):
        self.calls = []

    def on_add(self, obj, is_in_initial_list):
        self.calls.append(("add", obj, is_in_initial_list))

    def on_update(self, old, new):
        self.calls.append(("update", old, new))

    def on_delete(self, obj):
        self.calls.append(("delete", obj))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (1, 1, ("update", 1, 1)),
        (0, 1, ("add", 1, False)),
        (1, 0, ("delete", 1)),
        (0, 0, None),
    ],
)
def test_an_update_across_the_filter_is_an_addition_or_a_deletion(old, new, expected):
    calls = Calls()
    FilteringResourceEventHandler(lambda obj: obj == 1, calls).on_update(old, new)
    assert calls.calls == ([expected] if expected else [])


def test_additions_and_deletions_are_filtered():
    calls = Calls()
    seen = []
    handler = FilteringResourceEventHandler(lambda obj: seen.append(obj) or obj != 0, calls)
    tombstone = DeletedFinalStateUnknown("a/x", 1)
    for obj in (0, 1, tombstone):
        handler.on_add(obj, True)
        handler.on_delete(obj)
    assert calls.calls == [("add", 1, True), ("delete", 1), ("add", tombstone, True), ("delete", tombstone)]
    assert seen == [0, 0, 1, 1, tombstone, tombstone]
