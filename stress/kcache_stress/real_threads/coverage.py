"""Coverage: the calls that really overlapped a call of another thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from kcache_model.history import Call

Counts = Counter[tuple[str, str]]
"""(operation, ``"ok"`` or the kind of error) -> number of calls."""


@dataclass
class Coverage:
    """Counts of calls, by operation and outcome, and of the calls that overlapped another call.

    Attributes:
        counts: the completed calls of the threads.
        overlapped: the completed calls that overlapped a call of another thread.
    """

    counts: Counts = field(default_factory=Counter)
    overlapped: Counts = field(default_factory=Counter)

    def add(self, calls: Sequence[Call]) -> bool:
        """Count calls, given in the order of their invocations; return whether any two of them overlapped."""
        calls = [call for call in calls if call.thread >= 0]
        overlaps = overlapping(calls)
        for call, is_overlapped in zip(calls, overlaps, strict=True):
            if call.outcome is not None:
                error = call.outcome.error
                entry = str(call.operation.name), "ok" if error is None else error
                self.counts[entry] += 1
                if is_overlapped:
                    self.overlapped[entry] += 1
        return any(overlaps)


def overlapping(calls: Sequence[Call]) -> list[bool]:
    """Return for each call whether it overlapped a call of another thread. O(calls x threads).

    Args:
        calls: the calls in the order of their invocations; calls of the same thread do not overlap.
    """
    overlaps = [False] * len(calls)
    latest: dict[int, int] = {}
    for position, call in enumerate(calls):
        for thread, before in latest.items():
            if thread != call.thread and not calls[before].precedes(call):
                overlaps[before] = overlaps[position] = True
        latest[call.thread] = position
    return overlaps
