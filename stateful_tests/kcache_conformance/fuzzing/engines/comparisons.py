"""The function runs on objects that note what they are compared with; those values are put in, one after another.

So conditions on several fields are met step by step, and texts that the code only makes while it runs are found.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ..objects.codec import NotPlainError, Tree, decode
from ..objects.specimen import Specimen
from ..reading.spies import KEY, Notes, Path, spied, watched

_MOST_PER_OBJECT = 40


def follow_comparisons(
    function: Callable[[Any], Any],
    specimens: Sequence[Specimen],
    judge: Callable[[Specimen], bool],
    *,
    seconds: float,
    on_call: Callable[[Specimen], None] = lambda _: None,
    on_rest: Callable[[], None] = lambda: None,
) -> int:
    """Pass objects with wished-for parts to ``judge``, which says whether to go on from there; how many there were.

    Args:
        function: what the spies are passed to.
        specimens: where to start.
        judge: judges an object; true if it showed something new.
        seconds: for everything.
        on_call: told of each object before the function sees its spies.
        on_rest: told when the function has returned.
    """
    end, number = time.monotonic() + seconds, 0
    todo = deque(specimens)
    seen = {specimen.identity for specimen in specimens}
    while todo and time.monotonic() < end:
        specimen = todo.popleft()
        if not specimen.is_plain:
            continue
        on_call(specimen)
        wishes = _wishes(function, specimen.tree)
        on_rest()
        for path, value in wishes[:_MOST_PER_OBJECT]:
            candidate = Specimen(_put(specimen.tree, path, value))
            if candidate.identity in seen:
                continue
            seen.add(candidate.identity)
            try:
                candidate.fresh()
            except NotPlainError:
                continue
            number += 1
            if judge(candidate):
                todo.appendleft(candidate)
            if time.monotonic() > end:
                break
    return number


def _wishes(function: Callable[[Any], Any], tree: Tree) -> list[tuple[Path, Any]]:
    notes = Notes()
    with contextlib.suppress(Exception, SystemExit):
        returned = function(watched(decode(spied(tree, notes)), notes))
        if hasattr(returned, "__next__"):
            for _ in zip(range(100), returned, strict=False):
                pass
    return list(notes.wishes.values())


def _put(tree: Tree, path: Path, value: Any) -> Tree:
    """A copy of the tree with ``value`` at ``path``; a new key of a dict is added."""
    if not path:
        return value
    head, *rest = path
    if isinstance(tree, list) and isinstance(head, int) and head < len(tree):
        return [*tree[:head], _put(tree[head], tuple(rest), value), *tree[head + 1 :]]
    if isinstance(tree, dict):
        if isinstance(head, str) and head.startswith(KEY):
            old = head.removeprefix(KEY)
            return {value if key == old else key: part for key, part in tree.items()}
        if rest and head not in tree:
            return tree
        return {**tree, head: _put(tree.get(head), tuple(rest), value) if rest else value}
    return tree
