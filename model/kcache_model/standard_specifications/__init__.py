"""Standard specifications of common objects: the results of calls that run one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .containers import Multiset, PriorityQueue, Queue, SetOfValues, Stack
from .counters import Counter, Mutex
from .registers import CasRegister, Map, MultiRegister, Register
from .standard import Specifies

__all__ = ["STANDARD_SPECIFICATIONS", "Specifies"]

STANDARD_SPECIFICATIONS: Final[Mapping[str, Specifies]] = {
    "register": Register(),
    "cas-register": CasRegister(),
    "multi-register": MultiRegister(),
    "map": Map(),
    "set": SetOfValues(),
    "multiset": Multiset(),
    "counter": Counter(),
    "queue": Queue(),
    "priority-queue": PriorityQueue(),
    "stack": Stack(),
    "mutex": Mutex(),
}
"""Name -> specification."""
