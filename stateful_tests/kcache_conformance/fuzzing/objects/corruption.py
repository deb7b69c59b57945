"""Objects that no API server gives: adversarial variants of valid ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kcache.keys import DeletedFinalStateUnknown

from .codec import NotPlainError, Tree, decode, encode

_WRONG: tuple[Any, ...] = (None, "", 0, -1, True, [], {}, ["a"], {"a": "b"}, 1.5, "\ud800", "a/b=c", "é", "A" * 300)
Path = tuple[str | int, ...]


def corrupted(objects: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Objects of ``objects`` with one or two parts that are missing or wrong, tombstones, and what is no object."""
    return st.one_of(
        _broken(objects),
        _broken(objects),
        objects.map(lambda obj: DeletedFinalStateUnknown("a/b", obj)),
        st.sampled_from([None, "", "a/b", 0, [], {}]),
    )


@st.composite
def _broken(draw: Callable[..., Any], objects: SearchStrategy[Any]) -> Any:
    obj = draw(objects)
    try:
        tree = encode(obj)
    except NotPlainError:
        return obj
    for _ in range(draw(st.integers(1, 2))):
        paths = list(_paths(tree))
        if not paths:
            break
        tree = _put(tree, draw(st.sampled_from(paths)), draw(st.sampled_from(_WRONG)), draw(st.booleans()))
    try:
        return decode(tree)
    except NotPlainError:
        return obj


def _paths(tree: Tree, above: Path = ()) -> Iterator[Path]:
    if isinstance(tree, list):
        items: Any = enumerate(tree)
    elif isinstance(tree, dict):
        if "$" in tree:
            if "fields" in tree:
                yield from _paths(tree["fields"], (*above, "fields"))
            return
        items = tree.items()
    else:
        return
    for key, value in items:
        yield (*above, key)
        yield from _paths(value, (*above, key))


def _put(tree: Tree, path: Path, value: Any, is_removed: bool) -> Tree:
    head, *rest = path
    copy = list(tree) if isinstance(tree, list) else dict(tree)
    if rest:
        copy[head] = _put(tree[head], tuple(rest), value, is_removed)  # type: ignore[index]
    elif is_removed and isinstance(copy, dict):
        del copy[head]
    else:
        copy[head] = value  # type: ignore[index]
    return copy
