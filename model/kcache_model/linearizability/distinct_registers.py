"""Linearizability of a register whose written values are all distinct, in O(n log n).

P. B. Gibbons, E. Korach: Testing Shared Memories (1997). The *zone* of a value reaches from the first response among
its write and its reads to the last invocation among them. In any order of the calls those of one value stand
together, so A comes before B if a call of A returned before one of B began: if the zone of A begins before that of B
ends. Some order explains all unless a read precedes its write, or two zones each begin before the other ends: a cycle
of more values always holds such a pair, because the value whose zone begins first comes before all that the others
come before.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ..history import Call
from ..outcomes import returned

_INFINITY = float("inf")


def core_of_register(
    calls: Sequence[Call[Any]], *, reads: str, writes: str, start: Hashable
) -> tuple[Call[Any], ...] | None:
    """Calls that no order explains, none if some order explains all; ``None`` if the algorithm does not suit them.

    Args:
        calls: of one register. The last argument of a write is the value.
        reads: the name of the operation that reads.
        writes: that of the one that writes; no other is understood.
        start: what the register holds at first.
    """
    if any(call.operation.name not in (reads, writes) for call in calls):
        return None
    clusters: dict[Hashable, _Cluster] = {start: _Cluster(begin=-_INFINITY)}
    for call in calls:
        if call.operation.name != writes:
            continue
        value = call.operation.arguments[-1]
        if value in clusters or not (call.outcome is None or call.outcome == returned()):
            return None
        clusters[value] = _Cluster(call, begin=_end(call), end=call.invoked, first=call, last=call)
    for call in calls:
        if call.operation.name == writes:
            continue
        if call.outcome is None or not call.outcome.is_told:
            continue
        if call.outcome.error is not None:
            return None
        cluster = clusters.get(call.outcome.value)
        if cluster is None:
            return (call,)
        if cluster.write is not None and call.precedes(cluster.write):
            return cluster.write, call
        cluster.add(call)
    # A write that is pending and was not seen need not have happened; its zone begins never.
    return _conflict(
        [cluster for cluster in clusters.values() if cluster.last is not None and cluster.begin < _INFINITY]
    )


def _conflict(clusters: Sequence[_Cluster]) -> tuple[Call[Any], ...]:
    forward = sorted((cluster for cluster in clusters if cluster.begin < cluster.end), key=lambda found: found.begin)
    for one, other in pairwise(forward):
        if other.begin < one.end:
            return one.calls(other)
    begins = [cluster.begin for cluster in forward]
    for cluster in clusters:
        before = bisect_left(begins, cluster.end) - 1
        if before >= 0 and cluster.end <= cluster.begin < forward[before].end:
            return forward[before].calls(cluster)
    return ()


def _end(call: Call[Any]) -> float:
    return _INFINITY if call.returned is None else call.returned


@dataclass
class _Cluster:
    """The calls about one value.

    Attributes:
        write: the one that wrote it; ``None`` for the first value.
        begin: the first response.
        end: the last invocation.
        first: the call that returned first; ``None`` for the first value, which was there from the beginning.
        last: the call that was invoked last.
    """

    write: Call[Any] | None = None
    begin: float = field(kw_only=True)
    end: float = -_INFINITY
    first: Call[Any] | None = None
    last: Call[Any] | None = None

    def add(self, call: Call[Any]) -> None:
        if _end(call) < self.begin:
            self.begin, self.first = _end(call), call
        if call.invoked > self.end:
            self.end, self.last = call.invoked, call

    def calls(self, other: _Cluster) -> tuple[Call[Any], ...]:
        """The calls that make it and another impossible together."""
        found = (self.write, self.first, self.last, other.write, other.first, other.last)
        return tuple({id(call): call for call in found if call is not None}.values())
