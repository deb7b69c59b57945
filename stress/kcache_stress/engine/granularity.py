"""Granularity: the places where threads may be switched."""

from __future__ import annotations

import enum
from typing import Final


class Granularity(enum.StrEnum):
    """Where threads may be switched."""

    FREE = "free"
    """Before every access to shared state: what free-threaded Python can do."""
    GIL = "gil"
    """Only where an interpreter with a global lock can switch: function entry, loop back-edge, after a call."""
    SYNC = "sync"
    """Only at locks and other synchronisation: enough for programs that are free of data races."""
    OPCODES = "opcodes"
    """Before every opcode of any Python frame that may touch what is shared; nothing is rewritten: for samples only."""
    OPCODES_GIL = "opcodes-gil"
    """Opcodes again, but only where an interpreter with a global lock can switch."""

    @property
    def with_gil(self) -> Granularity:
        """What an interpreter with a global lock can do of it."""
        return {Granularity.FREE: Granularity.GIL, Granularity.OPCODES: Granularity.OPCODES_GIL}.get(self, self)

    @property
    def is_of_opcodes(self) -> bool:
        """Whether modules run as they are, and what they access is not known: no search can be exhaustive."""
        return self in (Granularity.OPCODES, Granularity.OPCODES_GIL)


REWRITTEN: Final = (Granularity.FREE, Granularity.GIL, Granularity.SYNC)
"""Where code is rewritten and says what it accesses: what an exhaustive search needs."""
