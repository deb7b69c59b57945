"""Granularity: the places where actors may be switched."""

from __future__ import annotations

import enum
from typing import Final


class Granularity(enum.StrEnum):
    """Set of places where actors may be switched."""

    FREE = "free"
    """Before every access to shared state, as in free-threaded Python."""
    GIL = "gil"
    """Only where an interpreter with a global lock can switch: function entry, loop back-edge, after a call."""
    SYNC = "sync"
    """Only at locks and other synchronisation. This is enough for programs without data races."""
    OPCODES = "opcodes"
    """Before every opcode of any Python frame that may touch shared state. No code is rewritten: for sampling only."""
    OPCODES_GIL = "opcodes-gil"
    """As OPCODES, but only where an interpreter with a global lock can switch."""

    @property
    def with_gil(self) -> Granularity:
        """The subset of this granularity at which an interpreter with a global lock can switch."""
        return {Granularity.FREE: Granularity.GIL, Granularity.OPCODES: Granularity.OPCODES_GIL}.get(self, self)

    @property
    def is_of_opcodes(self) -> bool:
        """Whether modules run without rewriting. Their accesses are then not known, and no search is exhaustive."""
        return self in (Granularity.OPCODES, Granularity.OPCODES_GIL)


REWRITTEN: Final = (Granularity.FREE, Granularity.GIL, Granularity.SYNC)
"""Granularities for which code is rewritten and reports its accesses, as an exhaustive search needs."""
