"""Recombination of objects by one part: the results look like later states of an object, or like similar objects."""

from __future__ import annotations

import random

from .trees import Path, Tree, paths_in, with_part

_ATTEMPTS = 4


def recombined(trees: list[Tree], most: int, seed: int) -> list[Tree]:
    """Return up to ``most`` copies of trees, each with one part replaced by that part of another tree."""
    if len(trees) < 2:
        return []
    chance, copies = random.Random(f"crossing {seed}"), []
    for _ in range(most * _ATTEMPTS):
        one, other = chance.sample(trees, 2)
        paths = [path for path in paths_in(one) if not any(isinstance(key, int) for key in path)]
        if not paths:
            continue
        path = chance.choice(paths)
        exists, part = _at(other, path)
        if exists and part != _at(one, path)[1]:
            copies.append(with_part(one, path, part))
            if len(copies) == most:
                break
    return copies


def _at(tree: Tree, path: Path) -> tuple[bool, Tree]:
    for key in path:
        if not isinstance(tree, dict) or key not in tree:
            return False, None
        tree = tree[key]
    return True, tree
