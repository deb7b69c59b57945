"""Objects that no API server sends: adversarial variants of valid objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kcache.keys import DeletedFinalStateUnknown

from .trees import NotPlainError, decode, encode, paths_in, with_part

_WRONG: tuple[Any, ...] = (None, "", 0, -1, True, [], {}, ["a"], {"a": "b"}, 1.5, "\ud800", "a/b=c", "é", "A" * 300)


def corrupted(objects: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Return a strategy for objects with one or two missing or wrong parts, tombstones, and values of other types."""
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
        paths = list(paths_in(tree))
        if not paths:
            break
        path, wrong = draw(st.sampled_from(paths)), draw(st.sampled_from(_WRONG))
        tree = with_part(tree, path, wrong, is_removed=draw(st.booleans()))
    try:
        return decode(tree)
    except NotPlainError:
        return obj
