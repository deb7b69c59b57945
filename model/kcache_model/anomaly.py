"""The classes of anomalies: what a reader of the cache got to see that no correct cache shows."""

from __future__ import annotations

import enum


class Anomaly(enum.StrEnum):
    """A closed set. Which class a violation belongs to is read off the argument that refutes its history."""

    STALE_READ = "stale read"
    """A read returned a version that had been replaced, by one that some read had already shown."""
    LOST_UPDATE = "lost update"
    """A read did not show what a write had written before, nothing had replaced that, and no read had ever shown it."""
    TORN_REPLACE = "torn replace"
    """Reads showed one part of a ``replace`` as done, and another part as not done."""
    HALF_APPLIED_WRITE = "half-applied write"
    """Reads showed one effect of a write as done, and another effect of the same write as not done."""
    VANISHED_OBJECT = "vanished object"
    """A read lacked an object that was in the store, and that nothing had removed."""
    RESURRECTED_OBJECT = "resurrected object"
    """A read returned an object that had been removed, and that nothing had put back."""
    GHOST_INDEX_VALUE = "ghost index value"
    """A lookup found something under an index value that it had left."""
    PHANTOM = "phantom"
    """A read returned something that had never been written there."""
    WRONG_OUTCOME = "wrong outcome"
    """A call raised, or gave something, that it never gives, whatever the store holds."""
