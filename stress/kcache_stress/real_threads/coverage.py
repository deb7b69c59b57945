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
        met = overlapping(calls)
        for call, has_met in zip(calls, met, strict=True):
            if call.outcome is not None:
                error = call.outcome.error
                entry = str(call.operation.name), "ok" if error is None else error
                self.counts[entry] += 1
                if has_met:
                    self.overlapped[entry] += 1
        return any(met)


def overlapping(calls: Sequence[Call]) -> list[bool]:
    """Return for each call whether it overlapped a call of another thread. O(calls x threads).

    Args:
        calls: the calls in the order of their invocations; calls of the same thread do not overlap.
    """
    met = [False] * len(calls)
    latest: dict[int, int] = {}
    for position, call in enumerate(calls):
        for thread, before in latest.items():
            if thread != call.thread and not calls[before].precedes(call):
                met[before] = met[position] = True
        latest[call.thread] = position
    return met
