"""Compile the modules of which the explorer runs copies, before children are forked: each child would compile them."""

from importlib.machinery import PathFinder

from kcache_stress.engine.granularity import Granularity
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox
from kcache_stress.runtime import world

NAMES = ("threading", "queue", "functools", "contextlib", "random", "_threading_local", "concurrent.futures.thread")
for name in NAMES[:-1]:
    spec = PathFinder.find_spec(name)
    if spec is not None and spec.origin is not None:
        world._code(name, spec.origin)
for granularity in (Granularity.FREE, Granularity.GIL):
    sandbox = Sandbox(Roots(), granularity)
    with sandbox.locks:
        for name in NAMES:
            sandbox.world_module(name)
