"""Comparison engine: it runs the function on tracers, which record comparisons, and tries the compared values.

Each value is put into the object in place of the compared part. So conditions on several fields are satisfied step by
step, and texts that the code builds only at run time are found.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..objects.fuzzed_object import FuzzedObject
from ..objects.trees import NotPlainError, Tree, decode
from ..static_analysis.reachable import Reachable
from ..tracing.tracers import KEY, Notes, Path, Wish, parsing_traced, traced, watched

_MOST_PER_OBJECT = 40
_MOST_FOLLOWED = 2000


def follow_comparisons(
    function: Callable[[Any], Any],
    fuzzed_objects: Sequence[FuzzedObject],
    judge: Callable[[FuzzedObject], None],
    *,
    seconds: float,
    on_call: Callable[[FuzzedObject], None] = lambda _: None,
    on_rest: Callable[[], None] = lambda: None,
) -> int:
    """Pass objects with compared values in them to ``judge``; return their number.

    An object is followed further if the function's comparisons for it differ from those for every earlier object.

    Args:
        function: takes the tracers.
        fuzzed_objects: the initial objects.
        judge: is called with each new object.
        seconds: time limit.
        on_call: is called with each object before the function takes its tracers.
        on_rest: is called when the function has returned.
    """
    end, number = time.monotonic() + seconds, 0
    identities = {fuzzed_object.identity for fuzzed_object in fuzzed_objects}
    known: set[frozenset[tuple[Path, str]]] = set()
    todo: deque[tuple[Tree, list[Wish]]] = deque()
    tables = Reachable(function).tables

    def consider(fuzzed_object: FuzzedObject) -> None:
        on_call(fuzzed_object)
        wishes = _wishes(function, fuzzed_object.tree, tables)
        on_rest()
        compared = frozenset((path, repr(value)) for path, value in wishes)
        if compared not in known and len(known) < _MOST_FOLLOWED:
            known.add(compared)
            todo.appendleft((fuzzed_object.tree, wishes))

    for fuzzed_object in reversed(fuzzed_objects):
        if fuzzed_object.is_plain:
            consider(fuzzed_object)
    while todo and time.monotonic() < end:
        tree, wishes = todo.popleft()
        for path, value in wishes[:_MOST_PER_OBJECT]:
            candidate = FuzzedObject(_with_value(tree, path, value))
            if candidate.identity in identities or not _can_be_made(candidate):
                continue
            identities.add(candidate.identity)
            number += 1
            judge(candidate)
            consider(candidate)
            if time.monotonic() > end:
                break
    return number


def _can_be_made(fuzzed_object: FuzzedObject) -> bool:
    try:
        fuzzed_object.fresh()
    except NotPlainError:
        return False
    return True


def _wishes(function: Callable[[Any], Any], tree: Tree, tables: Sequence[dict[str, Any]]) -> list[Wish]:
    notes = Notes()
    with contextlib.suppress(BaseException), parsing_traced(tables, notes):
        returned = function(watched(decode(traced(tree, notes)), notes))
        if hasattr(returned, "__next__"):
            for _ in zip(range(100), returned, strict=False):
                pass
    return [*_flips(tree), *notes.wishes.values()]


def _flips(tree: Tree, path: Path = ()) -> Iterator[Wish]:
    """Yield the opposite value of each ``bool``: ``bool`` has no subclasses, so it cannot be traced."""
    if isinstance(tree, bool):
        yield path, not tree
    elif isinstance(tree, dict):
        for name, value in tree.items():
            yield from _flips(value, (*path, name))
    elif isinstance(tree, list):
        for number, value in enumerate(tree):
            yield from _flips(value, (*path, number))


def _with_value(tree: Tree, path: Path, value: Any) -> Tree:
    """Return a copy of the tree with ``value`` at ``path``; a new key of a dict is added."""
    if not path:
        return value
    head, *rest = path
    if isinstance(tree, list) and isinstance(head, int) and head < len(tree):
        return [*tree[:head], _with_value(tree[head], tuple(rest), value), *tree[head + 1 :]]
    if isinstance(tree, dict):
        if isinstance(head, str) and head.startswith(KEY):
            old = head.removeprefix(KEY)
            return {value if key == old else key: part for key, part in tree.items()}
        if rest and head not in tree:
            return tree
        return {**tree, head: _with_value(tree.get(head), tuple(rest), value) if rest else value}
    return tree
