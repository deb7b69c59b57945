"""Where threads may be switched."""

from __future__ import annotations

import enum


class Granularity(enum.StrEnum):
    """Where threads may be switched."""

    FREE = "free"
    """Before every access to shared state: what free-threaded Python can do."""
    GIL = "gil"
    """Only where an interpreter with a global lock can switch: function entry, loop back-edge, after a call."""
    SYNC = "sync"
    """Only at locks and other synchronisation: enough for programs that are free of data races."""
