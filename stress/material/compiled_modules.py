"""Compile the modules of which the explorer runs copies, before children are forked: each child would compile them."""

from importlib.machinery import PathFinder

from kcache_stress.runtime import world

for name in ("threading", "queue", "functools", "contextlib", "random", "_threading_local"):
    spec = PathFinder.find_spec(name)
    if spec is not None and spec.origin is not None:
        world._code(name, spec.origin)
