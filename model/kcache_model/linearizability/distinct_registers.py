"""Linearizability of a register whose written values are all distinct, in O(n log n).

See P. B. Gibbons, E. Korach: Testing Shared Memories (1997). The *zone* of a value reaches from the first response to
the last invocation among its write and its reads. In a valid order, the calls of one value are adjacent. So value A
comes before value B if a call of A returned before a call of B began, that is, if the zone of A begins before the zone
of B ends. An order explains all calls unless a read has no write, a read precedes its write, or there are two values of
which each zone begins before the other zone ends. A longer cycle of values always contains such a pair: of its values,
take the value whose zone begins first; it comes before each value that another value of the cycle comes before.
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
    """Return calls that no order explains, none if an order explains all; ``None`` if the algorithm is not applicable.

    Args:
        calls: the calls of one register. The last argument of a write is the value.
        reads: the name of the operation that reads.
        writes: the name of the operation that writes. Calls of other operations make the algorithm inapplicable.
        start: the initial value of the register.
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
    # A pending write whose value no read returned need not have taken effect: its zone begins at infinity.
    return _conflict(
        [cluster for cluster in clusters.values() if cluster.last is not None and cluster.begin < _INFINITY]
    )


def _conflict(clusters: Sequence[_Cluster]) -> tuple[Call[Any], ...]:
    forward = sorted((cluster for cluster in clusters if cluster.begin < cluster.end), key=lambda each: each.begin)
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
    """The calls that write or read one value, and their zone.

    Attributes:
        write: the call that wrote the value; ``None`` for the initial value.
        begin: the time of the first response.
        end: the time of the last invocation.
        first: the call that returned first; ``None`` for the initial value, whose zone begins at minus infinity.
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
        """Return the calls that decide both zones: together they are impossible if the zones conflict."""
        candidates = (self.write, self.first, self.last, other.write, other.first, other.last)
        return tuple({id(call): call for call in candidates if call is not None}.values())
