"""Classes of anomalies: results of reads that no correct cache returns."""

from __future__ import annotations

import enum


class Anomaly(enum.StrEnum):
    """A closed set of classes. The class of a violation follows from the argument that refutes its history."""

    STALE_READ = "stale read"
    """A read returned an old version although an earlier read had already returned the version that replaced it."""
    LOST_UPDATE = "lost update"
    """A read did not return an earlier write's version, which nothing had replaced and no read had ever returned."""
    TORN_REPLACE = "torn replace"
    """Reads showed one part of a ``replace`` as done, and another part as not done."""
    HALF_APPLIED_WRITE = "half-applied write"
    """Reads showed one effect of a write as done, and another effect of the same write as not done."""
    VANISHED_OBJECT = "vanished object"
    """A read did not return an object that was in the store and that nothing had removed."""
    RESURRECTED_OBJECT = "resurrected object"
    """A read returned an object that had been removed and that nothing had put back."""
    GHOST_INDEX_VALUE = "ghost index value"
    """A lookup returned an object under an index value that the object no longer has."""
    PHANTOM = "phantom"
    """A read returned a value that had never been written there."""
    WRONG_OUTCOME = "wrong outcome"
    """A call raised an error or returned a value that is impossible whatever the store holds."""
