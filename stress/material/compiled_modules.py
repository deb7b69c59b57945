"""Compile the modules of which the explorer runs copies, before children are forked: each child would compile them."""

from kcache_stress.engine.granularity import Granularity
from kcache_stress.modules.roots import Roots
from kcache_stress.modules.sandbox import Sandbox

NAMES = ("threading", "queue", "functools", "contextlib", "random", "_threading_local", "concurrent.futures.thread")
for granularity in (Granularity.FREE, Granularity.GIL, Granularity.OPCODES):
    sandbox = Sandbox(Roots(), granularity)
    with sandbox.locks:
        for name in NAMES:
            sandbox.world_module(name)
