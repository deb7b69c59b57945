"""Recombination of objects, one part each: the same object later, or another one that is nearly the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .codec import Tree

_ATTEMPTS = 4


def recombined(trees: list[Tree], most: int, seed: int) -> list[Tree]:
    """Up to ``most`` copies of trees, each with one part of another tree in its place."""
    if len(trees) < 2:
        return []
    chance, made = random.Random(f"crossing {seed}"), []
    for _ in range(most * _ATTEMPTS):
        one, other = chance.sample(trees, 2)
        paths = [path for path in _paths(one) if path]
        if not paths:
            continue
        path = chance.choice(paths)
        found, part = _at(other, path)
        if found and part != _at(one, path)[1]:
            made.append(_put(one, path, part))
            if len(made) == most:
                break
    return made


def _paths(tree: Tree, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield above
    if isinstance(tree, dict) and "$" in tree:
        for key, value in tree.get("fields", {}).items():
            yield from _paths(value, (*above, "fields", key))
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from _paths(value, (*above, key))


def _at(tree: Tree, path: tuple[str, ...]) -> tuple[bool, Tree]:
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return False, None
        tree = tree[key]
    return True, tree


def _put(tree: Tree, path: tuple[str, ...], value: Tree) -> Tree:
    head, *rest = path
    return {**tree, head: _put(tree[head], tuple(rest), value) if rest else value}
